package request

import (
	"errors"
	"strings"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
)

// A claim with all of these defects is corrected one by one: each error that
// shows is the next in the order in which upstream finds them. The last claim is
// without defects.
func TestErrorsComeInUpstreamsOrder(t *testing.T) {
	type fields struct{ request, class string }
	request := func(c *resourceapi.ResourceClaim) *resourceapi.ExactDeviceRequest {
		return c.Spec.Devices.Requests[0].Exactly
	}
	defects := []struct {
		spoil  func(c *resourceapi.ResourceClaim)
		want   string
		fields fields
	}{
		{
			func(c *resourceapi.ResourceClaim) { request(c).Capacity = asks() },
			"claim ns/c, request r: has capacity requests, but the DRAConsumableCapacity feature is disabled", fields{"r", ""},
		}, {
			func(c *resourceapi.ResourceClaim) {
				request(c).DerivedAttributes = []resourceapi.DeviceDerivedAttribute{{Name: "d/a", Expression: "1"}}
			},
			"claim ns/c, request r: cannot handle request with derived attributes, the feature is disabled", fields{"r", ""},
		}, {
			func(c *resourceapi.ResourceClaim) {
				request(c).Selectors = append(selectors("true"), resourceapi.DeviceSelector{})
			},
			"claim ns/c, request r, selector #1: CEL expression empty (unsupported selector type?)", fields{"r", ""},
		}, {
			func(c *resourceapi.ResourceClaim) { no := false; request(c).AdminAccess = &no },
			"claim ns/c, request r: admin access is requested, but the feature is disabled", fields{"r", ""},
		}, {
			func(c *resourceapi.ResourceClaim) { request(c).DeviceClassName = "" },
			"claim ns/c, request r: missing device class name (unsupported request type?)", fields{"r", ""},
		}, {
			func(c *resourceapi.ResourceClaim) { request(c).DeviceClassName = "gone" },
			`claim ns/c, request r: could not retrieve device class gone: there is no "gone"`, fields{"r", "gone"},
		}, {
			func(c *resourceapi.ResourceClaim) { request(c).DeviceClassName = "future" },
			"class future: selector #1: CEL expression empty (unsupported selector type?)", fields{"r", "future"},
		}, {
			func(c *resourceapi.ResourceClaim) { request(c).AllocationMode = "Most" },
			"claim ns/c, request r: unsupported count mode Most", fields{"r", ""},
		}, {
			func(c *resourceapi.ResourceClaim) { request(c).Count = -1 },
			"claim ns/c, request r: count -1 is negative", fields{"r", ""},
		}, {
			func(c *resourceapi.ResourceClaim) { request(c).Count = 33 },
			"claim ns/c, request r: adding 33 devices exceeds the claim limit of 32, with 0 already accounted for", fields{"r", ""},
		}, {
			func(c *resourceapi.ResourceClaim) {
				c.Spec.Devices.Requests = append(c.Spec.Devices.Requests, firstAvailable("s", sub("x")))
			},
			"claim ns/c, request s: has subrequests, but the DRAPrioritizedList feature is disabled", fields{"s", ""},
		}, {
			func(c *resourceapi.ResourceClaim) {
				c.Spec.Devices.Constraints = []resourceapi.DeviceConstraint{match("d/a"), {}}
			},
			"claim ns/c, constraint #1: empty constraint (unsupported constraint type?)", fields{"", ""},
		},
	}
	future := class("future", "true")
	future.Spec.Selectors = append(future.Spec.Selectors, resourceapi.DeviceSelector{})
	s := on()
	s.features, s.classes = Features{}, classes{"any": class("any"), "future": future}
	for first := range len(defects) + 1 {
		c := claim("c", exactly("r"))
		for i := len(defects) - 1; i >= first; i-- { // Of two that spoil one field, the one that shows first is last.
			defects[i].spoil(c)
		}
		_, err := s.bind(t, c)
		if first == len(defects) {
			if err != nil {
				t.Errorf("a claim without defects: %v", err)
			}
			continue
		}
		var input *InputError
		if !errors.As(err, &input) || err.Error() != defects[first].want {
			t.Errorf("defect %d: the error is\n%v, want\n%s", first, err, defects[first].want)
			continue
		}
		if input.Claim != "ns/c" || input.Request != defects[first].fields.request || input.Class != defects[first].fields.class {
			t.Errorf("defect %d: the error is of claim %q, request %q, class %q", first, input.Claim, input.Request, input.Class)
		}
	}
}

// Claims are checked one after the other, each with its constraints.
func TestTheFirstClaimsErrorComesFirst(t *testing.T) {
	first, second := claim("first", exactly("r")), claim("second", exactly("r", func(r *resourceapi.ExactDeviceRequest) { r.DeviceClassName = "gone" }))
	first.Spec.Devices.Constraints = []resourceapi.DeviceConstraint{{}}
	_, err := on().bind(t, first, second)
	if err == nil || !strings.HasPrefix(err.Error(), "claim ns/first, constraint #0") {
		t.Errorf("the error is %v, want that of the first claim", err)
	}
	_, err = on().bind(t, second, first)
	if err == nil || !strings.HasPrefix(err.Error(), "claim ns/second, request r: could not retrieve") {
		t.Errorf("the error is %v, want that of the second claim, which comes first now", err)
	}
}

func TestErrorsOfSubrequestsNameThem(t *testing.T) {
	broken := func(edit func(*resourceapi.DeviceSubRequest)) *resourceapi.ResourceClaim {
		b := sub("b")
		edit(&b)
		return claim("c", firstAvailable("r", sub("a"), b))
	}
	for _, c := range []struct {
		name  string
		claim *resourceapi.ResourceClaim
		off   func(*Features)
		want  string
	}{
		{"a class that is not there", broken(func(s *resourceapi.DeviceSubRequest) { s.DeviceClassName = "gone" }), nil,
			"claim ns/c, request b: could not retrieve device class gone: there is no \"gone\""},
		{"capacity without the feature", broken(func(s *resourceapi.DeviceSubRequest) { s.Capacity = asks() }), func(f *Features) { f.ConsumableCapacity = false },
			"claim ns/c, subrequest b: has capacity requests, but the DRAConsumableCapacity feature is disabled"},
		{"derived attributes without the feature", broken(func(s *resourceapi.DeviceSubRequest) {
			s.DerivedAttributes = []resourceapi.DeviceDerivedAttribute{{Name: "d/a", Expression: "1"}}
		}), func(f *Features) { f.DerivedAttributes = false },
			"claim ns/c, request b: cannot handle request with derived attributes, the feature is disabled"},
		{"an unknown mode", broken(func(s *resourceapi.DeviceSubRequest) { s.AllocationMode = "" }), nil,
			"claim ns/c, request b: unsupported count mode "},
	} {
		s := on()
		if c.off != nil {
			c.off(&s.features)
		}
		_, err := s.bind(t, c.claim)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: the error is\n%v, want\n%s", c.name, err, c.want)
		}
	}
}

func TestInputThatIsNoClaim(t *testing.T) {
	missing := resourceapi.DeviceRequest{Name: "r"}
	for _, c := range []struct {
		name    string
		classes ClassLister
		claims  []*resourceapi.ResourceClaim
		want    string
	}{
		{"a nil claim", anyClass, []*resourceapi.ResourceClaim{claim("c"), nil}, "claim 2 of 2 is nil"},
		{"a request of a kind that is not known", anyClass, []*resourceapi.ResourceClaim{claim("c", missing)},
			"claim ns/c, request r: missing device class name (unsupported request type?)"},
		{"no lister", nil, []*resourceapi.ResourceClaim{claim("c", exactly("r"))},
			"claim ns/c, request r: could not retrieve device class any: no class lister was given to NewAllocator"},
		{"a lister that returns nothing", classes{"any": nil}, []*resourceapi.ResourceClaim{claim("c", exactly("r"))},
			"claim ns/c, request r: could not retrieve device class any: the class lister returned none"},
	} {
		s := on()
		s.classes = c.classes
		_, err := s.bind(t, c.claims...)
		var input *InputError
		if !errors.As(err, &input) || err.Error() != c.want {
			t.Errorf("%s: the error is %v, want %s", c.name, err, c.want)
		}
	}
	clusterScoped := claim("c", missing)
	clusterScoped.Namespace = ""
	if _, err := on().bind(t, clusterScoped); err == nil || !strings.HasPrefix(err.Error(), "claim c, request r: ") {
		t.Errorf("a claim without a namespace is named in %v", err)
	}
}

// A class that the lister does not have may be there the next time: such claims
// must not be reused.
func TestAMissingClassMarksTheClaims(t *testing.T) {
	for name, want := range map[string]bool{"any": false, "gone": true, "nothing": true, "": false} {
		r := exactly("r", func(r *resourceapi.ExactDeviceRequest) { r.DeviceClassName = name })
		compiled, err := Compile(everything, classes{"any": class("any"), "nothing": nil}, []*resourceapi.ResourceClaim{claim("b", r), claim("c", exactly("r"))})
		if err != nil || compiled.Failed != want {
			t.Errorf("with class %q the claims have failed: %v, %v; want %v", name, compiled.Failed, err, want)
		}
	}
}

// The limit is checked against the fewest devices that can satisfy the claim:
// the smallest alternative counts.
func TestTheClaimLimit(t *testing.T) {
	large, small := sub("large"), sub("small")
	large.Count, small.Count = 40, 2
	for _, c := range []struct {
		requests []resourceapi.DeviceRequest
		want     string
	}{
		{[]resourceapi.DeviceRequest{exactly("r", count(32)), exactly("s", count(0))}, ""},
		{[]resourceapi.DeviceRequest{exactly("r", count(30)), firstAvailable("s", large, small)}, ""},
		{[]resourceapi.DeviceRequest{exactly("r", count(31)), firstAvailable("s", large, small)}, "claim ns/c, request s: adding 2 devices exceeds the claim limit of 32, with 31 already accounted for"},
		{[]resourceapi.DeviceRequest{exactly("r", count(1<<62)), exactly("s", count(1<<62))}, "claim ns/c, request r: adding 4611686018427387904 devices exceeds the claim limit of 32, with 0 already accounted for"},
	} {
		_, err := on().bind(t, claim("c", c.requests...))
		if got := text(err); got != c.want {
			t.Errorf("the error is %q, want %q", got, c.want)
		}
	}
	// Each claim has a limit of its own.
	if _, err := on().bind(t, claim("c", exactly("r", count(32))), claim("d", exactly("r", count(32)))); err != nil {
		t.Errorf("two claims of 32 devices: %v", err)
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Which requests and alternatives a constraint is for.
func TestConstraintCoverage(t *testing.T) {
	plain := &Alternative{Name: "gpu"}
	big, small := &Alternative{Name: "big", Parent: "card"}, &Alternative{Name: "small", Parent: "card"}
	for _, c := range []struct {
		requests           []string
		plain, big, little bool
	}{
		{nil, true, true, true},
		{[]string{"gpu"}, true, false, false},
		{[]string{"card"}, false, true, true},
		{[]string{"card/big"}, false, true, false},
		{[]string{"card/small", "gpu"}, true, false, true},
		{[]string{"big"}, false, false, false}, // a subrequest's name alone means nothing
		{[]string{"gpu/big"}, false, false, false},
		{[]string{""}, false, false, false},
	} {
		constraint := &Constraint{requests: c.requests}
		for alternative, want := range map[*Alternative]bool{plain: c.plain, big: c.big, small: c.little} {
			if got := constraint.covers(alternative); got != want {
				t.Errorf("a constraint for %q covers %s: %v, want %v", c.requests, alternative.FullName(), got, want)
			}
		}
	}
}

// What Compile takes from where: the class's selectors before the request's,
// each with its place for messages.
func TestCompiledRequests(t *testing.T) {
	s := on()
	toleration := []resourceapi.DeviceToleration{{Key: "k"}}
	one := sub("one")
	one.Selectors, one.Tolerations, one.Capacity = selectors("b"), toleration, asks("memory", "1")
	one.DeviceClassName = "strict"
	claims, err := Compile(s.features, classes{"strict": class("strict", "x", "y"), "any": class("any")}, []*resourceapi.ResourceClaim{
		claim("c", exactly("r", admin, that("a"), allDevices), firstAvailable("f", one, sub("two"))),
	})
	if err != nil {
		t.Fatal(err)
	}
	requests := claims.Claims[0].Requests
	r := &requests[0].Alternatives[0]
	if requests[0].Prioritized || len(requests[0].Alternatives) != 1 || !r.Admin || !r.All || r.FullName() != "r" || len(r.Selectors) != 1 {
		t.Errorf("request r is %+v", requests[0])
	}
	f := &requests[1].Alternatives[0]
	want := []Selector{{Expression: "x", OfClass: true, Index: 0}, {Expression: "y", OfClass: true, Index: 1}, {Expression: "b", Index: 0}}
	if !requests[1].Prioritized || len(requests[1].Alternatives) != 2 || f.FullName() != "f/one" || f.Class.Name != "strict" || f.Admin || f.Count != 1 {
		t.Errorf("request f is %+v", requests[1])
	}
	if len(f.Selectors) != len(want) || f.Selectors[0] != want[0] || f.Selectors[1] != want[1] || f.Selectors[2] != want[2] {
		t.Errorf("the selectors are %v, want %v", f.Selectors, want)
	}
	if len(f.Tolerations) != 1 || f.Capacity == nil {
		t.Errorf("the subrequest has tolerations %v and capacity %v", f.Tolerations, f.Capacity)
	}
}
