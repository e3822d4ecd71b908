package checkpoint_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/dray-dev/dray/kubeletplugin/checkpoint"
)

var rewrite = flag.Bool("rewrite", false, "write testdata/v1.json anew; only before the first release")

func share(id types.UID) *types.UID { return &id }

// sample has a value in every field.
func sample() []*checkpoint.Claim {
	return []*checkpoint.Claim{
		{UID: "a-1", Namespace: "default", Name: "train", State: checkpoint.Completed, BootID: "boot-1", Devices: []checkpoint.Device{
			{Kind: "mig", Request: "main/small", Pool: "node-1", Device: "gpu-0-mig-1g5gb-19-0", Lock: "GPU-1", Holds: []string{"GPU-1/0"},
				Plan: json.RawMessage(`{"profile":19}`), Outcome: json.RawMessage(`{"uuid":"MIG-1"}`)},
			{Kind: "gpu", Request: "watch", Pool: "node-1", Device: "gpu-1", AdminAccess: true, Lock: "GPU-2"}}},
		{UID: "b-2", Namespace: "default", Name: "share", State: checkpoint.Started, BootID: "boot-1", Devices: []checkpoint.Device{
			{Kind: "gpu", Request: "main", Pool: "node-1", Device: "gpu-1", ShareID: share("s-1"), Lock: "GPU-2"}}},
	}
}

func options() checkpoint.Options { return checkpoint.Options{Driver: "gpu.dray.dev", Node: "node-1"} }

func newStore(t *testing.T, path string, options checkpoint.Options) *checkpoint.Store {
	t.Helper()
	store, err := checkpoint.NewStore(path, options)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// read is what the next process finds.
func read(t *testing.T, path string) []*checkpoint.Claim {
	t.Helper()
	store := newStore(t, path, options())
	end, err := store.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	claims, err := store.Claims()
	if err != nil {
		t.Fatal(err)
	}
	return claims
}

func put(t *testing.T, store *checkpoint.Store, claims ...*checkpoint.Claim) {
	t.Helper()
	end, err := store.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	for _, claim := range claims {
		if err := store.Put(claim, nil); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheNextProcessFindsWhatWasPut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plugin", "checkpoint.json")
	put(t, newStore(t, path, options()), sample()...)
	if diff := cmp.Diff(sample(), read(t, path)); diff != "" {
		t.Error(diff)
	}
	store := newStore(t, path, options())
	end, err := store.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	for range 2 { // the second time it is gone already
		if err := store.Delete("a-1"); err != nil {
			t.Fatal(err)
		}
	}
	if claim, err := store.Claim("a-1"); claim != nil || err != nil {
		t.Errorf("deleted: %v, %v", claim, err)
	}
	end()
	if diff := cmp.Diff(sample()[1:], read(t, path)); diff != "" {
		t.Error(diff)
	}
}

// A file of the first format can be read by every release that reads v1, and is
// written as it was.
func TestTheFormatOfV1Stays(t *testing.T) {
	const golden = "testdata/v1.json"
	path := filepath.Join(t.TempDir(), "checkpoint.json")
	put(t, newStore(t, path, options()), sample()...)
	written, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if *rewrite {
		if err := os.WriteFile(golden, written, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(written)); diff != "" {
		t.Error(diff)
	}
}

// edited is the golden file with a string in it replaced.
func edited(t *testing.T, before, after string) string {
	t.Helper()
	data, err := os.ReadFile("testdata/v1.json")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), before) {
		t.Fatalf("%q is not in the golden file", before)
	}
	return strings.Replace(string(data), before, after, 1)
}

// A later release writes its own version beside that of this one.
func TestWhatALaterReleaseWroteForThisOneCanBeRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "checkpoint.json")
	later := edited(t, `"versions":{`, `"hint":1,"versions":{"v2":{"checksum":"crc:1","content":[1,2]},`)
	if err := os.WriteFile(path, []byte(later), 0o600); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sample(), read(t, path)); diff != "" {
		t.Error(diff)
	}
}

func TestAFileThatCannotBeUnderstoodIsKept(t *testing.T) {
	whole := edited(t, "", "")
	for _, c := range []struct {
		name, content string
		want          error
		says          string
	}{
		{"empty", "", checkpoint.ErrCorrupt, "unexpected end"},
		{"cut off", whole[:len(whole)/2], checkpoint.ErrCorrupt, "unexpected end"},
		{"one letter", edited(t, `"train"`, `"trail"`), checkpoint.ErrCorrupt, "checksum"},
		{"no checksum", edited(t, `"checksum":"sha256:`, `"checksum":"`), checkpoint.ErrCorrupt, "checksum"},
		{"zeros", "\x00\x00\x00\x00", checkpoint.ErrCorrupt, "invalid character"},
		{"no versions", `{"kind":"dray.dev/checkpoint"}`, checkpoint.ErrCorrupt, "no versions"},
		{"another file", `{"apiVersion":"v1"}`, checkpoint.ErrForeign, "kind"},
		{"the kubelet's", `{"data":"{}","checksum":12}`, checkpoint.ErrForeign, "kind"},
		{"later only", edited(t, `"v1":`, `"v7":`), checkpoint.ErrNewer, "it has v7, and this release reads v1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "checkpoint.json")
			if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			store := newStore(t, path, options())
			_, err := store.Begin(t.Context())
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), path) {
				t.Errorf("begin: %v", err)
			}
			if err := store.Put(sample()[0], nil); !errors.Is(err, checkpoint.ErrNotBegun) {
				t.Errorf("put: %v", err)
			}
			if content, err := os.ReadFile(path); err != nil || string(content) != c.content {
				t.Errorf("the file became %q, %v", content, err)
			}
		})
	}
}

func TestACheckpointOfAnotherNodeIsForeign(t *testing.T) {
	path := filepath.Join(t.TempDir(), "checkpoint.json")
	put(t, newStore(t, path, options()), sample()...)
	for _, other := range []checkpoint.Options{{Driver: "gpu.dray.dev", Node: "node-2"}, {Driver: "gpu.nvidia.com", Node: "node-1"}} {
		if _, err := newStore(t, path, other).Begin(t.Context()); !errors.Is(err, checkpoint.ErrForeign) {
			t.Errorf("%+v: %v", other, err)
		}
	}
}

func TestContentThatCannotBeIsCorrupt(t *testing.T) {
	for name, change := range map[string]func(c *checkpoint.Claim){
		"no uid":   func(c *checkpoint.Claim) { c.UID = "" },
		"state":    func(c *checkpoint.Claim) { c.State = "finished" },
		"no kind":  func(c *checkpoint.Claim) { c.Devices[0].Kind = "" },
		"no lock":  func(c *checkpoint.Claim) { c.Devices[0].Lock = "" },
		"nameless": func(c *checkpoint.Claim) { c.Devices[0].Device = "" },
	} {
		path := filepath.Join(t.TempDir(), "checkpoint.json")
		claim := sample()[0]
		change(claim)
		put(t, newStore(t, path, options()), claim)
		if _, err := newStore(t, path, options()).Begin(t.Context()); !errors.Is(err, checkpoint.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNothingIsWrittenThatIsNotAdmitted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "checkpoint.json")
	store := newStore(t, path, options())
	put(t, store, sample()[0])
	end, err := store.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	no := errors.New("no")
	var seen []*checkpoint.Claim
	err = store.Put(sample()[1], func(others []*checkpoint.Claim) error {
		seen = others
		return no
	})
	if !errors.Is(err, no) {
		t.Errorf("put: %v", err)
	}
	if err := store.Put(sample()[0], func(others []*checkpoint.Claim) error {
		if len(others) > 0 {
			t.Errorf("the claim itself is among the others: %v", others)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	end()
	if diff := cmp.Diff(sample()[:1], seen); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(sample()[:1], read(t, path)); diff != "" {
		t.Error(diff)
	}
}

// What callers do to a claim that they put or got stays theirs.
func TestClaimsAreCopied(t *testing.T) {
	store := newStore(t, filepath.Join(t.TempDir(), "checkpoint.json"), options())
	end, err := store.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	spoil := func(c *checkpoint.Claim) {
		c.Devices[0].Holds[0], c.Devices[0].Plan[2], c.Devices[0].Outcome[2] = "x", 'x', 'x'
		c.Devices[0].Device = "x"
	}
	claim := sample()[0]
	if err := store.Put(claim, func(others []*checkpoint.Claim) error { return nil }); err != nil {
		t.Fatal(err)
	}
	spoil(claim)
	got, err := store.Claim("a-1")
	if err != nil {
		t.Fatal(err)
	}
	spoil(got)
	if got, err = store.Claim("a-1"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sample()[0], got); diff != "" {
		t.Error(diff)
	}
}

func TestAnotherProcessWaits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "checkpoint.json")
	first, second := newStore(t, path, options()), newStore(t, path, options())
	end, err := first.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	again, err := first.Begin(t.Context()) // another call of the same process does not
	if err != nil {
		t.Fatal(err)
	}
	end()
	ctx, cancel := context.WithCancel(t.Context())
	gaveUp := make(chan error)
	go func() {
		_, err := second.Begin(ctx)
		gaveUp <- err
	}()
	cancel()
	if err := <-gaveUp; !errors.Is(err, context.Canceled) {
		t.Errorf("begin: %v", err)
	}
	got := make(chan []*checkpoint.Claim)
	go func() {
		end, err := second.Begin(t.Context())
		if err != nil {
			t.Error(err)
			close(got)
			return
		}
		defer end()
		claims, _ := second.Claims()
		got <- claims
	}()
	if err := first.Put(sample()[0], nil); err != nil {
		t.Fatal(err)
	}
	again()
	if diff := cmp.Diff(sample()[:1], <-got); diff != "" {
		t.Error(diff)
	}
}
