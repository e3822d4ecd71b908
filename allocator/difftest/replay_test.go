package difftest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
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
