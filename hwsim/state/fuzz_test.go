package state

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/dray-dev/dray/hwsim/machine"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// FuzzState holds the reader of state.json to: it never panics; what it accepts on the
// machine shows a valid node, and encodes to what reads as the same.
func FuzzState(f *testing.F) {
	m, err := machine.ReadFile("testdata/small.yaml")
	if err != nil {
		f.Fatal(err)
	}
	small, err := newModel(m, machine.Identity{Name: "n"}, 0)
	if err != nil {
		f.Fatal(err)
	}
	pool, err := machine.Load("fabric-pool")
	if err != nil {
		f.Fatal(err)
	}
	fabric, err := newModel(pool, machine.Identity{Name: "p"}, 0)
	if err != nil {
		f.Fatal(err)
	}
	for _, text := range seeds(f, m, small) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := decodeDocument(text)
		if err != nil {
			return
		}
		for _, model := range []*model{small, fabric} {
			if model.validate(d) != nil {
				continue
			}
			shown, err := model.show(d)
			if err != nil {
				continue
			}
			if shown.node != nil {
				if err := shown.node.Validate(); err != nil {
					t.Fatal(err)
				}
			}
			once, err := d.encode()
			if err != nil {
				t.Fatal(err)
			}
			again, err := decodeDocument(once)
			if err != nil {
				t.Fatalf("it does not read what it wrote: %v", err)
			}
			if twice, err := again.encode(); err != nil || !bytes.Equal(once, twice) {
				t.Fatalf("it reads something else than it wrote: %v\n%s\n%s", err, once, twice)
			}
			_ = model.validate(d.clone())
			d.due()
		}
	})
}

// seeds are the states of a machine to which a little has happened.
func seeds(f *testing.F, m *machine.Machine, small *model) [][]byte {
	folder, err := Create(filepath.Join(f.TempDir(), "hw"), m, machine.Identity{Name: "n"})
	if err != nil {
		f.Fatal(err)
	}
	var texts [][]byte
	keep := func() {
		text, err := os.ReadFile(filepath.Join(folder.dir, stateFile))
		if err != nil {
			f.Fatal(err)
		}
		texts = append(texts, text)
	}
	keep()
	gpu, port := small.base.GPUs[0].Address, small.base.NICs[0].Address
	for _, change := range []func(*Tx) error{
		func(tx *Tx) error { return tx.SetVFs(gpu, 2) },
		func(tx *Tx) error {
			return tx.SetVGPU(hardware.PCIAddress{Bus: gpu.Bus, Function: 4}, 471)
		},
		func(tx *Tx) error { return tx.Unbind("mlx5_core", port) },
		func(tx *Tx) error { return tx.SetIMEXChannel(4, true) },
		func(tx *Tx) error { return tx.Reboot() },
	} {
		if err := folder.Update(change); err != nil {
			f.Fatal(err)
		}
		keep()
	}
	return texts
}

// FuzzEventLog holds the reader of the event log to: it never panics, and numbers
// what it yields without gaps.
func FuzzEventLog(f *testing.F) {
	f.Add([]byte(`{"number":1,"time":"2026-01-02T03:04:05Z","boot":1,"kind":"boot","message":"m"}` + "\n" + `{"number":2}` + "\n" + `{"numb`))
	f.Add([]byte("{\"number\":2}\n\n{}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, logName(1)), text, 0o600); err != nil {
			t.Fatal(err)
		}
		log := &eventLog{dir: dir}
		last := uint64(0)
		for event, err := range log.read(0) {
			if err != nil {
				break
			}
			if last++; event.Number != last {
				t.Fatalf("event %d comes where %d must", event.Number, last)
			}
		}
	})
}
