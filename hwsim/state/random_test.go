package state_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/dray-dev/dray/hwsim/engine"
	"github.com/dray-dev/dray/hwsim/fault"
	"github.com/dray-dev/dray/hwsim/state"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// randomChanges makes a number of changes, of which the machine refuses some.
func randomChanges(r *rapid.T, f *state.Folder, clock *fakeClock) {
	gpus := []hardware.PCIAddress{ampere, hopper}
	functions := []hardware.PCIAddress{ampere, hopper, port, card, {Bus: 0x4b, Function: 1}, {Bus: 0x3b, Function: 4}}
	drivers := []string{"nvidia", "mlx5_core", "vfio-pci", "dfl-pci"}
	for range rapid.IntRange(1, 12).Draw(r, "changes") {
		gpu := rapid.SampledFrom(gpus).Draw(r, "gpu")
		function := rapid.SampledFrom(functions).Draw(r, "function")
		driver := rapid.SampledFrom(drivers).Draw(r, "driver")
		number := rapid.IntRange(0, 5).Draw(r, "number")
		_ = map[int]func() error{
			0: func() error { return f.Update(func(tx *state.Tx) error { return tx.SetVFs(function, number) }) },
			1: func() error { return f.Update(func(tx *state.Tx) error { return tx.Bind(driver, function) }) },
			2: func() error { return f.Update(func(tx *state.Tx) error { return tx.Unbind(driver, function) }) },
			3: func() error { return f.Update(func(tx *state.Tx) error { return tx.SetOverride(function, driver) }) },
			4: func() error { return partition(f, gpu, 19, number) },
			5: func() error { return f.Update(func(tx *state.Tx) error { return tx.SetVGPU(function, 468+number) }) },
			6: func() error { return f.Update(func(tx *state.Tx) error { return tx.Reset(gpu) }) },
			7: func() error { return f.Update(func(tx *state.Tx) error { return tx.Inject(randomFault(number)) }) },
			8: func() error { clock.pass(time.Duration(number) * time.Second); return nil },
			9: func() error { return f.Update(func(tx *state.Tx) error { return tx.SetIMEXChannel(number, true) }) },
			10: func() error {
				return f.Update(func(tx *state.Tx) error {
					return tx.Program(card, 0, "69528db6eb31577a8c3668f9faa081f6", "f7df405cbd7acf7222f144b0b93acd18")
				})
			},
			11: func() error { return f.Update((*state.Tx).Reboot) },
			12: func() error {
				clock.setBack(time.Duration(number) * 700 * time.Millisecond << (4 * number))
				return nil
			},
		}[rapid.IntRange(0, 12).Draw(r, "what")]()
	}
}

func randomFault(n int) fault.Fault {
	return []fault.Fault{
		{XID: &fault.XID{GPU: "0", Code: 46}}, {XID: &fault.XID{GPU: "1", Code: 31}}, {GPULost: &fault.GPULost{GPU: "any"}},
		{Link: &fault.Link{NIC: "ens1np0", Down: fault.Duration(3 * time.Second)}}, {Thermal: &fault.Thermal{GPU: "1", For: fault.Duration(2 * time.Second)}},
		{SlowPrepare: &fault.SlowPrepare{Takes: 1, Times: 1}},
	}[n]
}

// text is the state as it is on disk.
func text(t testing.TB, f *state.Folder) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(f.Dir(), "state.json"))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// Whatever happens to a machine, a driver finds what the state says, opening the
// folder again changes nothing, and a second boot changes no more than the first.
func TestWhateverHappensTheFolderIsInOrder(t *testing.T) {
	f, clock := small(t)
	rapid.Check(t, func(r *rapid.T) {
		must(t, f.Update((*state.Tx).Redeliver))
		randomChanges(r, f, clock)
		discovered(t, f)
		before := text(t, f)
		again, err := state.Open(f.Dir(), state.WithClock(clock))
		must(t, err)
		discovered(t, again)
		if after := text(t, again); before != after {
			r.Fatalf("opening it again changed the state:\n%s", cmp.Diff(before, after))
		}
		must(t, f.Update((*state.Tx).Reboot))
		once := view(t, f)
		must(t, f.Update((*state.Tx).Reboot))
		twice := view(t, f)
		if diff := cmp.Diff(once.Node, twice.Node, cmpopts.EquateEmpty()); diff != "" {
			r.Fatalf("a second boot changed the machine:\n%s", diff)
		}
		if twice.Boot.Number != once.Boot.Number+1 || twice.Boot.ID == once.Boot.ID {
			r.Fatalf("boots %+v and %+v", once.Boot, twice.Boot)
		}
	})
}

// Whatever was taken: once it is given back, all of the machine can be taken.
func TestWhatIsFreedCanBeTakenAgain(t *testing.T) {
	f, clock := small(t)
	rapid.Check(t, func(r *rapid.T) {
		must(t, f.Update((*state.Tx).Redeliver))
		randomChanges(r, f, clock)
		free(t, f)
		takeAll(t, f)
		discovered(t, f)
	})
}

// free gives back all that there is, as far as broken GPUs let it: those first.
func free(t *testing.T, f *state.Folder) {
	t.Helper()
	clear := func(tx *state.Tx) error {
		for _, address := range []hardware.PCIAddress{ampere, hopper, port} {
			if err := tx.SetOverride(address, ""); err != nil {
				return err
			}
		}
		return nil
	}
	must(t, f.Update(clear))
	v := view(t, f)
	for i := range v.GPUs.GPUs {
		g := &v.GPUs.GPUs[i]
		if g.Health.Lost {
			must(t, f.Update((*state.Tx).Reboot)) // nothing else helps
			return
		}
		if g.Health.ResetRequired && g.VGPU != nil && len(g.VGPU.Active) > 0 {
			must(t, f.Update((*state.Tx).Reboot)) // its virtual GPUs can neither go nor stay
			return
		}
	}
	must(t, f.Update(func(tx *state.Tx) error {
		for i := range v.GPUs.GPUs {
			g := &v.GPUs.GPUs[i]
			if g.VGPU != nil {
				for _, active := range append([]engine.VirtualGPU(nil), g.VGPU.Active...) {
					vf := g.Address
					vf.Function += 4 + uint8(active.VF) // no more than four are made here
					if err := tx.SetVGPU(vf, 0); err != nil {
						return err
					}
				}
			}
			if err := tx.Reset(g.Address); err != nil {
				return err
			}
		}
		return nil
	}))
	for _, driver := range []string{"vfio-pci", "nvidia", "mlx5_core", "dfl-pci"} {
		for _, address := range []hardware.PCIAddress{ampere, hopper, port} {
			_ = f.Update(func(tx *state.Tx) error { return tx.Unbind(driver, address) })
		}
	}
	must(t, f.Update(func(tx *state.Tx) error {
		for _, address := range []hardware.PCIAddress{ampere, hopper, port} {
			if err := tx.Probe(address); err != nil {
				return err
			}
		}
		return nil
	}))
}

// takeAll takes all virtual functions and every placement of the smallest profile.
func takeAll(t *testing.T, f *state.Folder) {
	t.Helper()
	must(t, f.Update(func(tx *state.Tx) error {
		if err := tx.SetVFs(port, 0); err != nil {
			return err
		}
		return tx.SetVFs(port, 4)
	}))
	for start := range 7 {
		must(t, partition(f, hopper, 19, start))
	}
}
