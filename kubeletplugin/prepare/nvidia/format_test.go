package nvidia_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var rewriteFormat = flag.Bool("rewrite-format", false, "write testdata/checkpoint-v1.json anew; only before the first release")

// A checkpoint with plans and outcomes of the first format is taken over: what it
// says is verified, and undone.
func TestPlansOfV1CanBeRead(t *testing.T) {
	const golden = "testdata/checkpoint-v1.json"
	w := untouched(t)
	w.must(w.prepare(busy(t)))
	path := filepath.Join(w.dir, "plugin", "checkpoint.json")
	if *rewriteFormat {
		data, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(golden, data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(golden)
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	before := w.gpus()
	steps := 0
	w.step = func(string) { steps++ }
	w.must(start, w.prepare(busy(t)))
	if steps > 1 || w.gpus() != before { // the compute mode is set again
		t.Errorf("%d changes were made to what was in order: %s", steps, w.gpus())
	}
	w.step = nil
	w.must(w.unprepare(busy(t)))
	sameState(t, "given back", untouched(t).state(), w.state())
}

// A later release may add fields, which this one skips and whose absence it takes
// for what there was before.
func TestPlansOfALaterReleaseCanBeRead(t *testing.T) {
	w := untouched(t)
	w.must(w.prepare(busy(t)))
	store := w.store()
	end, err := store.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stored, err := store.Claim("a")
	if err != nil {
		t.Fatal(err)
	}
	add := func(data json.RawMessage) json.RawMessage {
		return slices.Concat([]byte(`{"later":[1]`), map[bool][]byte{true: []byte(","), false: nil}[len(data) > 2], data[1:])
	}
	for i := range stored.Devices {
		d := &stored.Devices[i]
		d.Plan, d.Outcome = add(d.Plan), add(d.Outcome)
	}
	if err := store.Put(stored, nil); err != nil {
		t.Fatal(err)
	}
	end()
	w.must(w.prepare(busy(t)), w.unprepare(busy(t)))
	sameState(t, "given back", untouched(t).state(), w.state())
}

// Concurrent claims of all kinds of neighbours end as they would one after another.
func TestClaimsAtTheSameTime(t *testing.T) {
	w := newWorld(t, "dgx-h100")
	p := w.process()
	claims := []string{"gpu-4-mig-1g10gb-19-0", "gpu-4-mig-1g10gb-19-1", "gpu-4-mig-3g40gb-9-4", "gpu-5", "gpu-0-mig-7g80gb-0-0",
		"gpu-1", "gpu-1-mig-1g10gb-19-0"}
	errs := make(chan error)
	for _, device := range claims {
		go func() {
			_, err := p.Prepare(t.Context(), claim(device, nil, "main="+device))
			errs <- err
		}()
	}
	refused := 0
	for range claims {
		if err := <-errs; err != nil {
			refused++
		}
	}
	if refused != 1 { // one of the two for gpu-1
		t.Errorf("%d were refused, not 1", refused)
	}
	held := w.claims()
	if len(held) != len(claims)-1 {
		t.Errorf("%d claims are held", len(held))
	}
	for _, c := range held {
		go func() { errs <- p.Unprepare(t.Context(), c.UID) }()
	}
	for range held {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff("", w.state()); diff != "" {
		t.Error(diff)
	}
}
