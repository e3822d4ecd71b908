// Package histories has what the tests share that play random histories: their number
// and seeds come from the environment, and one that fails says what happened in it and
// how it is played again.
package histories

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
)

// Number is that of an environment variable, or the standard one where it is not set.
func Number(t testing.TB, variable string, standard int) int {
	t.Helper()
	text, ok := os.LookupEnv(variable)
	if !ok {
		return standard
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// History is one of them. All that is left to chance in it is asked of its random
// numbers, so that the seed is enough to play it again. It is for one goroutine.
type History struct {
	*rand.Rand
	notes []string
}

// New begins the history of a seed. If the test fails, the notes are logged when it
// ends, with the environment (such as "SEED=7 COUNT=1") that plays this one alone.
func New(t testing.TB, seed int, environment string) *History {
	h := &History{Rand: rand.New(rand.NewPCG(uint64(seed), 0))}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("run it again with %s; what happened:\n%s", environment, strings.Join(h.notes, "\n"))
		}
	})
	return h
}

// Note says what happens next.
func (h *History) Note(format string, arguments ...any) {
	h.notes = append(h.notes, fmt.Sprintf(format, arguments...))
}
