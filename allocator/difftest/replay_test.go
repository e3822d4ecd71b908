package difftest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dray-dev/dray/allocator/allocatortest"
)

// TestReplay runs every case of testdata/cases: those that a run has found and
// one for each deviation. What each expects was checked by hand.
func TestReplay(t *testing.T) {
	root := filepath.Join("testdata", "cases")
	folders, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		t.Run(folder.Name(), func(t *testing.T) {
			s, expected, err := allocatortest.ReadCase(filepath.Join(root, folder.Name()))
			if err != nil {
				t.Fatal(err)
			}
			if expected.Case != folder.Name() {
				t.Errorf("case is named %q, the folder %q", expected.Case, folder.Name())
			}
			for _, difference := range differing(&checker{newSubject: newOurs}, s, expected) {
				t.Error(difference)
			}
			upstreamAnswers(t, s, expected)
		})
	}
}

// differing compares a subject's answers both with what the case expects and
// with upstream.
func differing(c *checker, s *allocatortest.Scenario, expected *allocatortest.Expectation) []string {
	var differences []string
	with := c.newSubject()
	answer := with.prepare(context.Background(), s, s.AllocatedState())
	for _, e := range expected.PerNode {
		node := s.Node(e.Node)
		if node == nil {
			differences = append(differences, fmt.Sprintf("node %s of the expectation does not exist", e.Node))
			continue
		}
		got, _ := answer(context.Background(), node)
		if d := allocatortest.Diff(e.AsOutcome(), got); d != "" {
			differences = append(differences, fmt.Sprintf("node %s: %s", e.Node, d))
		}
	}
	for _, v := range c.check(context.Background(), s, with) {
		if v.difference != "" {
			differences = append(differences, fmt.Sprintf("node %s, compared with upstream: %s", v.node.Name, v.difference))
		}
	}
	return differences
}

// upstreamAnswers checks what a case says about upstream, so that a deviation
// that upstream has caught up with does not stay for ever.
func upstreamAnswers(t *testing.T, s *allocatortest.Scenario, expected *allocatortest.Expectation) {
	if expected.Upstream == nil {
		return
	}
	var outcomes []allocatortest.Outcome
	var texts []string
	for _, node := range s.Nodes {
		outcome, _ := askUpstream(context.Background(), experimental, s, node)
		outcomes = append(outcomes, outcome)
		texts = append(texts, outcome.Text)
	}
	got := allocatortest.ExpectOutcomes(expected.Case, s, outcomes)
	if got.Outcome != expected.Upstream.Outcome || !slices.Equal(got.Devices, expected.Upstream.Devices) {
		t.Errorf("upstream answers %s with devices %q, the case says %s with %q", got.Outcome, got.Devices, expected.Upstream.Outcome, expected.Upstream.Devices)
	}
	for _, reason := range expected.Upstream.Reason {
		if !strings.Contains(strings.Join(texts, "\n"), reason) {
			t.Errorf("upstream's error does not say %q: %q", reason, texts)
		}
	}
}
