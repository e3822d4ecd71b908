package state

import (
	"fmt"

	"github.com/dray-dev/dray/hwsim/engine"
	"github.com/dray-dev/dray/hwsim/gpulib"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// GPULibrary returns the machine's GPU library. Each call is a transaction, so that
// all who share the folder share the GPUs. Waiting is by the folder's clock.
func (f *Folder) GPULibrary() *gpulib.Library {
	return gpulib.NewLibrary(&gpuBackend{engine.NewBackend(gpuStore{f}, f.clock), f}, f.clock)
}

// gpuBackend is the engine's, and knows which GPUs NVIDIA's driver has.
type gpuBackend struct {
	*engine.Backend
	folder *Folder
}

// Node is what a driver finds.
func (b *gpuBackend) Node() (*hardware.Node, error) {
	view, err := b.folder.View()
	if err != nil {
		return nil, err
	}
	if view.Node == nil {
		return &hardware.Node{}, nil // a pool: no driver, so no library
	}
	return view.Node, nil
}

// gpuStore keeps the engine's state in the folder.
type gpuStore struct{ folder *Folder }

// View implements engine.Store.
func (s gpuStore) View(read func(*engine.Engine) error) error {
	f := s.folder
	return f.inStep(func(now *snapshot) error {
		if now.doc.GPUs == nil {
			return hardware.ErrGPUNotFound
		}
		e, err := engine.Open(f.model.withPlugged(now.doc), now.doc.GPUs.Clone(), fixed{f.clock.Now()})
		if err != nil {
			return err
		}
		return read(e)
	})
}

// Update implements engine.Store.
func (s gpuStore) Update(change func(*engine.Engine) error) error {
	return s.folder.Update(func(tx *Tx) error { return tx.GPUs(change) })
}

// Changed implements engine.Store: it looks at the folder from time to time, since
// whoever changes it may be another process.
func (s gpuStore) Changed(stop <-chan struct{}) <-chan struct{} {
	changed := make(chan struct{})
	before, err := s.folder.View()
	go func() {
		for err == nil {
			select {
			case <-stop:
				return
			case <-s.folder.clock.After(PollInterval):
			}
			var now *View
			if now, err = s.folder.View(); err == nil && now.Sequence != before.Sequence {
				close(changed)
				return
			}
		}
		close(changed) // who waits asks again, and gets the error
	}()
	return changed
}

// gpuEvents makes events of what a transaction has changed of the GPUs' partitions.
func (tx *Tx) gpuEvents(before *engine.State) {
	if before == nil || tx.doc.GPUs == nil {
		return
	}
	was := map[hardware.PCIAddress]string{}
	for i := range before.GPUs {
		was[before.GPUs[i].Address] = partitions(&before.GPUs[i])
	}
	for i := range tx.doc.GPUs.GPUs {
		g := &tx.doc.GPUs.GPUs[i]
		if old, ok := was[g.Address]; ok && old != partitions(g) {
			tx.event("mig", g.Address.String(), "%s", partitions(g))
		}
	}
}

// partitions describes how a GPU is partitioned.
func partitions(g *engine.GPU) string {
	if g.MIG == nil {
		return ""
	}
	text := map[bool]string{true: "MIG is on", false: "MIG is off"}[g.MIG.Current]
	if g.MIG.Pending != g.MIG.Current {
		text += " and waits for a reset"
	}
	for i, instance := range g.MIG.Instances {
		separator := ", "
		if i == 0 {
			separator = "; "
		}
		text += fmt.Sprintf("%sinstance %d of profile %d at %d", separator, instance.ID, instance.Profile, instance.Start)
		if n := len(instance.Compute); n > 0 {
			text += fmt.Sprintf(" with %d compute instances", n)
		}
		if !instance.GoneAt.IsZero() {
			text += " (going)"
		}
	}
	return text
}
