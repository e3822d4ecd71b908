package driver

import (
	"errors"
	"testing"
)

func TestTheEndWaitsForCallsThatRunAndLetsNoneBegin(t *testing.T) {
	isClosed := func(c <-chan struct{}) bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
	var none calls
	if !isClosed(none.end()) {
		t.Error("without calls there is something to wait for")
	}
	var c calls
	first, err1 := c.begin()
	second, err2 := c.begin()
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	ended := c.end()
	if _, err := c.begin(); !errors.Is(err, errStopping) {
		t.Errorf("a call begins at the end: %v", err)
	}
	first()
	if isClosed(ended) {
		t.Error("it does not wait for the second call")
	}
	second()
	if !isClosed(ended) || !isClosed(c.end()) {
		t.Error("it waits for nobody")
	}
}
