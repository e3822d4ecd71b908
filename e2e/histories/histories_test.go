package histories

import (
	"strings"
	"testing"
)

// failing is a test that has failed, as far as a History can see.
type failing struct {
	testing.TB
	cleanups []func()
	logged   []string
}

func (f *failing) Cleanup(cleanup func()) { f.cleanups = append(f.cleanups, cleanup) }
func (f *failing) Failed() bool           { return true }
func (f *failing) Logf(_ string, words ...any) {
	f.logged = append(f.logged, words[0].(string), words[1].(string))
}

func TestAHistoryThatFailsSaysWhatHappenedAndHowToPlayItAgain(t *testing.T) {
	f := &failing{TB: t}
	h := New(f, 7, "SEED=7 COUNT=1")
	h.Note("pod %s", "a")
	h.Note("the driver is killed")
	for _, cleanup := range f.cleanups {
		cleanup()
	}
	if got := strings.Join(f.logged, ": "); got != "SEED=7 COUNT=1: pod a\nthe driver is killed" {
		t.Errorf("it says %q", got)
	}
}

func TestASeedDecidesEverything(t *testing.T) {
	a, b, other := New(t, 7, ""), New(t, 7, ""), New(t, 8, "")
	same := true
	for range 10 {
		x := a.IntN(1_000_000)
		if y := b.IntN(1_000_000); x != y {
			t.Fatalf("%d and %d by the same seed", x, y)
		}
		same = same && x == other.IntN(1_000_000)
	}
	if same {
		t.Error("another seed decides the same")
	}
}

func TestANumberComesFromTheEnvironment(t *testing.T) {
	t.Setenv("DRAY_TEST_HISTORIES", "12")
	if got := Number(t, "DRAY_TEST_HISTORIES", 3); got != 12 {
		t.Errorf("it is %d", got)
	}
	if got := Number(t, "DRAY_TEST_HISTORIES_UNSET", 3); got != 3 {
		t.Errorf("without, it is %d", got)
	}
}
