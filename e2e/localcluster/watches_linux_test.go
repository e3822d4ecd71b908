package localcluster

import (
	"errors"
	"strings"
	"testing"
)

func TestTooFewWatchesAreSaid(t *testing.T) {
	if err := CheckWatches(1); err != nil {
		t.Skipf("not even one can be had: %v", err)
	}
	if err := CheckWatches(10_000_000); !errors.Is(err, ErrNoWatches) || !strings.Contains(err.Error(), "inotify") {
		t.Errorf("got %v", err)
	}
	if err := CheckWatches(1); err != nil {
		t.Errorf("those of the check were not given back: %v", err)
	}
}
