package allocator_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/dray-dev/dray/allocator"
	"github.com/dray-dev/dray/allocator/allocatortest"
)

// publicWaiting are the cases that take more than the allocator has, by what
// they wait for. A case that is answered as it should be must not be here.
var publicWaiting = map[string]map[string]string{
	"the plugin": {
		"54-implicit-extended-resource":    "the claim for an extended resource is made by the scheduler",
		"55-implicit-name-of-losing-class": "the claim for an extended resource is made by the scheduler",
		"57-init-containers-reuse-devices": "the claim for an extended resource is made by the scheduler",
		"58-leftover-zero-allocatable":     "the claim for an extended resource is made by the scheduler",
		"60-reserved-for-is-full":          "the claim is allocated; reserving it for one more pod is the scheduler's",
		"64-binding-failed":                "the claim is allocated; its binding conditions are the scheduler's",
		"69-class-name-does-not-exist":     "the scheduler looks for classes first and can wait for one; to the allocator it is an error",
	},
	"the command line": {
		"11-slice-count-zero":              "validation refuses the slice",
		"50-cel-semver-leading-zero":       "the error is CEL's own text; naming the call takes the expression beside it",
		"51-version-attribute-four-parts":  "validation refuses the slice",
		"67-pod-with-old-source-field":     "validation refuses the pod",
		"68-v1beta1-layout-in-v1":          "validation refuses the template",
		"70-too-many-devices-with-a-taint": "validation refuses the slice",
	},
}

// waitsFor says what a public case waits for, and why.
func waitsFor(name string) (what, why string, waits bool) {
	for what, cases := range publicWaiting {
		if why, waits := cases[name]; waits {
			return what, why, true
		}
	}
	return "", "", false
}

// filterTimeout is how long the scheduler lets a pod's search last, by default.
const filterTimeout = 10 * time.Second

// TestPublicCases asks about every case that was made from a public report.
func TestPublicCases(t *testing.T) {
	names := publicCases(t)
	for _, cases := range publicWaiting {
		for name := range cases {
			if !slices.Contains(names, name) {
				t.Errorf("case %s waits, but there is no such folder", name)
			}
		}
	}
	passed, waiting := 0, 0
	for _, name := range names {
		ok := t.Run(name, func(t *testing.T) { checkPublic(t, name) })
		switch _, _, waits := waitsFor(name); {
		case waits:
			waiting++
		case ok:
			passed++
		}
	}
	t.Logf("cases: %d of %d, %d waiting", passed, len(names)-waiting, waiting)
}

var logRow = regexp.MustCompile(`(?m)^\| ([0-9]{2}-[a-z0-9-]+) \|`)

// publicCases names the folders, each of which is a row of LOG.md.
func publicCases(t *testing.T) []string {
	root := filepath.Join("testdata", "public")
	log, err := os.ReadFile(filepath.Join(root, "LOG.md"))
	if err != nil {
		t.Fatal(err)
	}
	var logged, names []string
	for _, row := range logRow.FindAllSubmatch(log, -1) {
		logged = append(logged, string(row[1]))
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	if len(names) == 0 || !slices.Equal(names, logged) {
		t.Fatalf("LOG.md has rows for %q, but the folders are %q", logged, names)
	}
	return names
}

// checkPublic asks twice: whatever the order of the slices, the answer is the same.
func checkPublic(t *testing.T, name string) {
	dir := filepath.Join("testdata", "public", name)
	expected, err := allocatortest.ReadPublicExpectation(dir)
	if err != nil {
		t.Fatal(err)
	}
	if expected.Case != name {
		t.Errorf("case is named %q, the folder %q", expected.Case, name)
	}
	var wrong []string
	for _, reversed := range []bool{false, true} {
		answer := answerPublic(t, dir, expected, reversed)
		wrong = append(wrong, expected.Differences(answer)...)
		if answer.Outcome == allocatortest.Allocated {
			continue
		}
		if unsaid := expected.Unsaid(answer.Text); len(unsaid) > 0 {
			wrong = append(wrong, "the reason does not mention "+strings.Join(unsaid, ", ")+": "+answer.Text)
		}
	}
	what, why, waits := waitsFor(name)
	switch {
	case !waits:
		for _, difference := range wrong {
			t.Error(difference)
		}
	case len(wrong) == 0:
		t.Errorf("waits for %s (%s), but the allocator answers as expected: take it off the list", what, why)
	default:
		t.Logf("waits for %s: %s", what, why)
	}
}

// answerPublic asks about one node after the other, as a scheduler does that
// looks at one node at a time and is content with the first.
func answerPublic(t *testing.T, dir string, expected *allocatortest.PublicExpectation, reversed bool) allocatortest.PublicAnswer {
	input, err := allocatortest.ReadPublicInput(dir)
	if err != nil {
		return allocatortest.PublicAnswer{Outcome: "unreadable", Text: err.Error()}
	}
	s, err := input.Scenario(expected.Pod, expected.FeatureGates)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Claims) == 0 {
		return allocatortest.PublicAnswer{Outcome: "not asked", Text: "the pod has no claim to allocate"}
	}
	if reversed {
		slices.Reverse(s.Slices)
	}
	timeout := filterTimeout
	if expected.MaxSeconds > 0 {
		timeout = time.Duration(expected.MaxSeconds * float64(time.Second))
	}
	if testing.Short() {
		timeout *= 20 // Under the race detector, which makes CEL a great deal slower.
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	before := s.Clone()
	answer := placePublic(ctx, s)
	if !equalScenarios(before, s) {
		t.Errorf("the inputs were modified:\nbefore %s\nafter  %s", dump(before), dump(s))
	}
	return answer
}

func placePublic(ctx context.Context, s *allocatortest.Scenario) allocatortest.PublicAnswer {
	a, err := newAllocator(allocator.NewInventory(), s)
	if err != nil {
		return allocatortest.PublicAnswer{Outcome: allocatortest.Refused, Text: err.Error()}
	}
	var text strings.Builder
	for _, node := range s.Nodes {
		outcome := allocatortest.Observe(allocator.ErrFailedOnNode, func() ([]resourceapi.AllocationResult, error) {
			return a.Allocate(ctx, node, s.Claims)
		})
		switch outcome.Class {
		case fits:
			return allocatortest.PublicAnswer{Outcome: allocatortest.Allocated, Node: node.Name, Results: outcome.Results, HeldShares: s.HeldShares()}
		case doesNotFit, failedOnNode:
			text.WriteString(node.Name + ": " + outcome.Text + "\n")
		default:
			return allocatortest.PublicAnswer{Outcome: allocatortest.Refused, Text: outcome.Text}
		}
		explanation, err := a.Explain(ctx, node, s.Claims)
		if err != nil {
			return allocatortest.PublicAnswer{Outcome: "unexplained", Text: err.Error()}
		}
		text.WriteString(explanation.Text())
	}
	return allocatortest.PublicAnswer{Outcome: allocatortest.Unschedulable, Text: text.String()}
}
