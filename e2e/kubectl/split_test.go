package kubectl

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// The words are those that sh passes on.
func TestWordsAreThoseOfTheShell(t *testing.T) {
	for _, line := range []string{
		"kubectl get pods -n taints",
		"kubectl  get   pods ",
		"kubectl get pods -o 'custom-columns=A:.a[*].b,C:.c' --sort-by=.d[0].e",
		`kubectl get pod p -o 'jsonpath={.metadata.annotations.a\.b/main}'`,
		`kubectl get -o 'jsonpath={.items[*].d[?(@.name=="gpu-0")].t}'`,
		"kubectl get '' a'b c'd",
	} {
		words, ok := split(line)
		if !ok {
			t.Errorf("%s is left to the shell", line)
			continue
		}
		out, err := exec.Command("sh", "-c", `printf '%s\n' `+line).Output()
		if err != nil {
			t.Fatal(err)
		}
		if of := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n"); !slices.Equal(words, of) {
			t.Errorf("%s: words are %q, and %q for sh", line, words, of)
		}
	}
}

func TestWhatNeedsAShellIsLeftToIt(t *testing.T) {
	for _, line := range []string{"kubectl get pods | wc -l", "kubectl get $WHAT", "kubectl get pods; true", `kubectl get "pods"`, "kubectl get 'pods", "kubectl get $(cat x)", "kubectl get pods > file", "kubectl get *"} {
		if words, ok := split(line); ok {
			t.Errorf("%s is taken apart as %q", line, words)
		}
	}
}
