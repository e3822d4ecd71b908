package machine

import (
	"os"
	"strings"
	"testing"
)

// readmeBlock returns the first block of the README in a language, after a text.
func readmeBlock(t *testing.T, language, after string) string {
	t.Helper()
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), after)
	if !found {
		t.Fatalf("the README does not say %q", after)
	}
	_, rest, found = strings.Cut(rest, "\n```"+language+"\n")
	block, _, closed := strings.Cut(rest, "```\n")
	if !found || !closed {
		t.Fatalf("the README has no %s after %q", language, after)
	}
	return block
}

func TestTheSampleOfTheREADMEIsAMachine(t *testing.T) {
	m, err := Parse("my.yaml", []byte(readmeBlock(t, "yaml", "## A machine of your own")))
	if err != nil {
		t.Fatal(err)
	}
	checkInstance(t, m)
	n := m.Instantiate(Identity{Name: "host-1"}).Nodes[0].Hardware
	if len(n.GPUs) != 1 || len(n.NICs) != 6 || n.GPUs[0].Root != n.NICs[0].Root {
		t.Errorf("the sample has %d GPUs and %d NICs", len(n.GPUs), len(n.NICs))
	}
}

// The errors that the README shows are those of the sample with two mistakes.
func TestTheErrorsOfTheREADMEAreReal(t *testing.T) {
	const section = "## A machine of your own"
	sample := readmeBlock(t, "yaml", section)
	broken := strings.NewReplacer(
		"address: 0000:3b:00.0, bridges: [\"0000:39:01.0\"]", "address: 0000:3a:00.0, bridges: [\"0000:39:00.0\"]",
		"numa: 1\n", "numa: 2\n",
	).Replace(sample)
	_, err := Parse("my.yaml", []byte(broken))
	if err == nil {
		t.Fatal("the broken sample is accepted")
	}
	if want := readmeBlock(t, "", "with its line and field:\n"); err.Error()+"\n" != want {
		t.Errorf("the README shows\n%sand the errors are\n%v", want, err)
	}
}
