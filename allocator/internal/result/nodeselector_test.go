package result

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"

	"github.com/dray-dev/dray/allocator/internal/request"
)

// selects is a selector with one term: each text is "key in value,value" or "key
// notin value", of a label, or of a field after "field:".
func selects(texts ...string) *corev1.NodeSelector {
	term := corev1.NodeSelectorTerm{}
	for _, text := range texts {
		list := &term.MatchExpressions
		if rest, isField := strings.CutPrefix(text, "field:"); isField {
			list, text = &term.MatchFields, rest
		}
		words := strings.Fields(text)
		operator := map[string]corev1.NodeSelectorOperator{"in": corev1.NodeSelectorOpIn, "notin": corev1.NodeSelectorOpNotIn}[words[1]]
		*list = append(*list, corev1.NodeSelectorRequirement{Key: words[0], Operator: operator, Values: strings.Split(words[2], ",")})
	}
	return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}}
}

// describeSelector is the inverse of selects; "everywhere" is no selector.
func describeSelector(selector *corev1.NodeSelector) string {
	if selector == nil {
		return "everywhere"
	}
	var text []string
	for i, term := range selector.NodeSelectorTerms {
		if i > 0 {
			text = append(text, "or")
		}
		for _, list := range []struct {
			prefix       string
			requirements []corev1.NodeSelectorRequirement
		}{{"field:", term.MatchFields}, {"", term.MatchExpressions}} {
			for _, r := range list.requirements {
				text = append(text, fmt.Sprintf("%s%s %s %s", list.prefix, r.Key, strings.ToLower(string(r.Operator)), strings.Join(r.Values, ",")))
			}
		}
	}
	return strings.Join(text, "; ")
}

// on makes a pool with one device that says where it can be used. The selectors
// here are such that node n matches, which is in zone z.
func on(pool string, edits ...func(*resourceapi.ResourceSlice)) *resourceapi.ResourceSlice {
	s := slice(pool, resourceapi.Device{Name: pool})
	for _, edit := range edits {
		edit(s)
	}
	return s
}

func selecting(selector *corev1.NodeSelector) func(*resourceapi.ResourceSlice) {
	return func(s *resourceapi.ResourceSlice) { s.Spec.AllNodes, s.Spec.NodeSelector = nil, selector }
}

func local(s *resourceapi.ResourceSlice) {
	n := "n"
	s.Spec.AllNodes, s.Spec.NodeName = nil, &n
}

func perDevice(edit func(*resourceapi.Device)) func(*resourceapi.ResourceSlice) {
	return func(s *resourceapi.ResourceSlice) {
		yes := true
		s.Spec.AllNodes, s.Spec.PerDeviceNodeSelection = nil, &yes
		edit(&s.Spec.Devices[0])
	}
}

func binds(s *resourceapi.ResourceSlice) { yes := true; s.Spec.Devices[0].BindsToNode = &yes }

// The claim takes the device of each pool; where can its pods run?
func TestNodeSelector(t *testing.T) {
	const here = "field:metadata.name in n"
	yes, n := true, "n"
	zoned := "zone in z,y"
	rack := func(values string) *resourceapi.ResourceSlice {
		return on("rack "+values, selecting(selects("rack notin "+values)))
	}
	for _, c := range []struct {
		name  string
		pools []*resourceapi.ResourceSlice
		want  string
	}{
		{"all nodes", []*resourceapi.ResourceSlice{on("a")}, "everywhere"},
		{"a node's own device", []*resourceapi.ResourceSlice{on("a", local)}, here},
		{"a device that binds to the node", []*resourceapi.ResourceSlice{on("a", binds)}, here},
		{"one of several is the node's own", []*resourceapi.ResourceSlice{on("a", selecting(selects(zoned))), on("b", local)}, here},
		{"a selector", []*resourceapi.ResourceSlice{on("a", selecting(selects(zoned)))}, zoned},
		{"a selector and all nodes", []*resourceapi.ResourceSlice{on("a"), on("b", selecting(selects(zoned)))}, zoned},
		{"selectors are joined", []*resourceapi.ResourceSlice{on("a", selecting(selects(zoned))), rack("x")}, zoned + "; rack notin x"},
		{"the same twice is there once", []*resourceapi.ResourceSlice{rack("x,y"), rack("y,x")}, "rack notin x,y"},
		{"other values are another requirement", []*resourceapi.ResourceSlice{rack("x"), rack("y")}, "rack notin x; rack notin y"},
		{"fields and labels are apart", []*resourceapi.ResourceSlice{on("a", selecting(selects("metadata.name notin x"))), on("b", selecting(selects("field:metadata.name in n")))}, "field:metadata.name in n; metadata.name notin x"},
		{"the device's own node", []*resourceapi.ResourceSlice{on("a", perDevice(func(d *resourceapi.Device) { d.NodeName = &n }))}, here},
		{"the device's own selector", []*resourceapi.ResourceSlice{on("a", perDevice(func(d *resourceapi.Device) { d.NodeSelector = selects(zoned) }))}, zoned},
		{"the device is for all nodes", []*resourceapi.ResourceSlice{on("a", perDevice(func(d *resourceapi.Device) { d.AllNodes = &yes }))}, "everywhere"},
		{"the slice's node does not count where devices choose", []*resourceapi.ResourceSlice{on("a", perDevice(func(d *resourceapi.Device) { d.AllNodes = &yes }), local)}, "everywhere"},
		{"nor does what a device says where they do not", []*resourceapi.ResourceSlice{on("a", func(s *resourceapi.ResourceSlice) { s.Spec.Devices[0].NodeName = &n })}, "everywhere"},
		{"no requirement at all", []*resourceapi.ResourceSlice{on("a"), on("b")}, "everywhere"},
	} {
		api := claim(exactly("r", "plain", func(r *resourceapi.ExactDeviceRequest) { r.Count = int64(len(c.pools)) }))
		results, err := write(t, everything, classes{}, c.pools, api)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := describeSelector(results[0].NodeSelector); got != c.want {
			t.Errorf("%s: pods can run on %q, want %q", c.name, got, c.want)
		}
	}
}

// Several terms are alternatives; they cannot be joined with another device's.
func TestASelectorWithSeveralTermsIsAnError(t *testing.T) {
	two := selects("field:metadata.name in n")
	two.NodeSelectorTerms = append(two.NodeSelectorTerms, two.NodeSelectorTerms[0])
	_, err := write(t, everything, classes{}, []*resourceapi.ResourceSlice{on("a", perDevice(func(d *resourceapi.Device) { d.NodeSelector = two }))}, claim(exactly("r", "plain")))
	var input *request.InputError
	if !errors.As(err, &input) || input.Device != "driver/a/a" || input.Claim != "ns/c" {
		t.Fatalf("the error is %v (%+v)", err, input)
	}
	if want := "create NodeSelector for claim c: unsupported ResourceSlice.NodeSelector with 2 terms"; err.Error() != want {
		t.Errorf("the error is %q, want %q", err, want)
	}
	// A device of the node before it settles the matter.
	results, err := write(t, everything, classes{}, []*resourceapi.ResourceSlice{on("0", local), on("a", perDevice(func(d *resourceapi.Device) { d.NodeSelector = two }))},
		claim(exactly("r", "plain", func(r *resourceapi.ExactDeviceRequest) { r.Count = 2 })))
	if err != nil || describeSelector(results[0].NodeSelector) != "field:metadata.name in n" {
		t.Errorf("after a device of the node: %v, %v", results, err)
	}
}
