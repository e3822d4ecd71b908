package prepare_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/dray-dev/dray/kubeletplugin/prepare"
)

// TestCallsAboutOneHardwareExcludeEachOtherByWhateverName: what a claim was given by one
// name is not changed while a claim for the same by another name is prepared.
func TestCallsAboutOneHardwareExcludeEachOtherByWhateverName(t *testing.T) {
	names := map[string]string{"lamp-1": "hall", "lamp-2": "attic"}
	l := &lamp{find: func(device string) (string, error) { return names[device], nil }}
	p := newPreparer(t, t.TempDir(), prepare.Typed(l))
	if _, err := p.Prepare(t.Context(), claim("a", "lamp-1")); err != nil {
		t.Fatal(err)
	}
	names["lamp-1"], names["lamp-2"] = "attic", "hall"
	undoing, goOn := make(chan struct{}), make(chan struct{})
	l.undo = func(string) { close(undoing); <-goOn }
	l.apply = func(name string) error {
		select {
		case <-goOn:
		default:
			if name == "hall" {
				t.Error("the lamp was switched on while it was switched off")
			}
		}
		return nil
	}
	ended := make(chan error, 2)
	go func() { ended <- p.Unprepare(t.Context(), "a") }()
	<-undoing
	go func() {
		_, err := p.Prepare(t.Context(), claim("b", "lamp-2"))
		ended <- err
	}()
	// Other hardware is free, whatever it is called.
	if _, err := p.Prepare(t.Context(), claim("c", "lamp-1")); err != nil {
		t.Error(err)
	}
	close(goOn)
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if diff := fmt.Sprint(l.on); diff != "map[attic:true hall:true]" {
		t.Errorf("lamps that are on: %s", diff)
	}
}

// TestHardwareThatHasBecomeAnotherIsNotPrepared: who waited for one does not get the other.
func TestHardwareThatHasBecomeAnotherIsNotPrepared(t *testing.T) {
	asked := 0
	l := &lamp{find: func(string) (string, error) { asked++; return fmt.Sprintf("lamp %d", asked), nil }}
	p := newPreparer(t, t.TempDir(), prepare.Typed(l))
	if _, err := p.Prepare(t.Context(), claim("a", "lamp-1")); err == nil || len(l.on) > 0 {
		t.Errorf("it was prepared: %v, %v", err, l.on)
	}
	l.find = func(string) (string, error) { return "", fmt.Errorf("dark: %w", prepare.ErrNotThere) }
	if _, err := p.Prepare(t.Context(), claim("a", "lamp-1")); !errors.Is(err, prepare.ErrNotThere) {
		t.Errorf("a lamp that is not there: %v", err)
	}
	if claims, err := p.Claims(t.Context()); err != nil || len(claims) > 0 {
		t.Errorf("left are %v, %v", claims, err)
	}
}
