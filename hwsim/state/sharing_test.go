package state_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/dray-dev/dray/hwsim/engine"
	"github.com/dray-dev/dray/hwsim/fault"
	"github.com/dray-dev/dray/hwsim/machine"
	"github.com/dray-dev/dray/hwsim/scenario"
	"github.com/dray-dev/dray/hwsim/state"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// during calls a function and lets the clock go on until it returns.
func during(clock *fakeClock, step time.Duration, do func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	for {
		select {
		case <-done:
			return
		default:
			clock.pass(step)
			runtime.Gosched()
		}
	}
}

func TestADriverHearsOfAFaultThatAnotherInjects(t *testing.T) {
	driver, clock := small(t)
	other, err := state.Open(driver.Dir(), state.WithClock(clock))
	must(t, err)
	library := driver.GPULibrary()
	must(t, library.Init())
	set, err := library.NewEventSet()
	must(t, err)
	gpu, err := library.DeviceByIndex(1)
	must(t, err)
	must(t, gpu.RegisterEvents(hardware.EventXidCritical, set))
	must(t, other.Update(func(tx *state.Tx) error {
		return tx.Inject(fault.Fault{XID: &fault.XID{GPU: "1", Code: 79}})
	}))
	during(clock, 10*time.Millisecond, func() {
		event, err := set.Wait(time.Minute)
		if err != nil || event.Data != 79 {
			t.Errorf("event %+v, error %v", event, err)
		}
	})
	if _, err := gpu.Name(); !errors.Is(err, hardware.ErrGPULost) {
		t.Errorf("the GPU is lost, and answers %v", err)
	}
}

func TestFollowersSeeWhatFallsDue(t *testing.T) {
	f, clock := small(t)
	must(t, f.Update(func(tx *state.Tx) error {
		return tx.Inject(fault.Fault{Link: &fault.Link{NIC: "ens1np0", Down: fault.Duration(time.Second)}})
	}))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var kinds []string
	during(clock, 10*time.Millisecond, func() {
		for event, err := range f.Follow(ctx, 1) { // the first is the boot
			if err != nil {
				t.Error(err)
				return
			}
			if kinds = append(kinds, event.Kind); len(kinds) == 3 {
				cancel()
			}
		}
	})
	if len(kinds) != 3 || kinds[0] != "fault" || kinds[1] != "link" || kinds[2] != "link" {
		t.Errorf("followed %v", kinds)
	}
}

func TestDestroyedInstancesAreGoneFromTheFilesWithTime(t *testing.T) {
	f, clock := small(t)
	must(t, partition(f, hopper, 19, 3))
	capability := filepath.Join("proc/driver/nvidia/capabilities/gpu1/mig")
	entries, err := os.ReadDir(filepath.Join(f.Root(), capability))
	if err != nil || len(entries) != 1 {
		t.Fatalf("%v, error %v", entries, err)
	}
	var gone time.Time
	must(t, f.Update(func(tx *state.Tx) error {
		return tx.GPUs(func(gpus *engine.Engine) (err error) {
			gone, err = gpus.DestroyGPUInstance(hopper, gpus.State().GPUs[1].MIG.Instances[0].ID)
			return err
		})
	}))
	if due := view(t, f).Due; !due.Equal(gone) {
		t.Errorf("it is gone at %s, and due is %s", gone, due)
	}
	clock.pass(gone.Sub(clock.Now()))
	if _, err := f.Host().Lstat(capability); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its files are still there: %v", err)
	}
	discovered(t, f)
}

func TestAPoolsDevicesAppearOnTheNodeThatTheyAreAttachedTo(t *testing.T) {
	pool, clock := folderOf(t, "fabric-pool")
	m, err := machine.ReadFile("testdata/small.yaml")
	must(t, err)
	node, err := state.Create(filepath.Join(t.TempDir(), "hw"), m, machine.Identity{Name: "node-1"}, state.WithClock(clock))
	must(t, err)
	before := view(t, node).Node
	devices := []string{"a100-pcie-80gb-3", "alveo-v80-1", "l40s-0"}
	for _, device := range devices {
		must(t, pool.Update(func(tx *state.Tx) error { return tx.Attach(device, "node-1") }))
	}
	must(t, state.Connect(pool, node))
	if v := view(t, node); len(v.Node.GPUs) != len(before.GPUs) {
		t.Fatal("a device is there before it is attached")
	}
	clock.pass(state.AttachLatency)
	for range 2 { // a second time changes nothing
		must(t, state.Connect(pool, node))
		v := view(t, node)
		if len(v.Node.GPUs) != len(before.GPUs)+2 || len(v.Node.FPGAs) != len(before.FPGAs)+1 {
			t.Fatalf("%d GPUs and %d FPGAs", len(v.Node.GPUs), len(v.Node.FPGAs))
		}
		discovered(t, node)
	}
	must(t, node.Update((*state.Tx).Reboot))
	discovered(t, node)
	for _, device := range devices {
		must(t, pool.Update(func(tx *state.Tx) error { return tx.Detach(device) }))
	}
	clock.pass(state.DetachLatency)
	must(t, state.Connect(pool, node))
	if v := view(t, node); len(v.Node.GPUs) != len(before.GPUs) || len(v.Node.FPGAs) != len(before.FPGAs) {
		t.Errorf("%d GPUs and %d FPGAs are left", len(v.Node.GPUs), len(v.Node.FPGAs))
	}
	discovered(t, node)
}

func TestAnInstructionThatCountsIsObeyedAsOftenAsItSays(t *testing.T) {
	f, _ := small(t)
	must(t, f.Update(func(tx *state.Tx) error {
		return tx.Inject(fault.Fault{SlowPrepare: &fault.SlowPrepare{Driver: "gpu", Takes: fault.Duration(time.Second), Times: 2}})
	}))
	given := view(t, f).Instructions
	if len(given) != 1 || !given[0].For("gpu") || given[0].For("nic") {
		t.Fatalf("%+v", given)
	}
	for n := range 3 {
		held, err := f.Obeyed(given[0].Number)
		must(t, err)
		if held != (n < 2) {
			t.Errorf("obeyed for the %d. time, and it held: %v", n+1, held)
		}
	}
}

func TestFoldersThatAreNoneAreSaidToBe(t *testing.T) {
	if _, err := state.Open(t.TempDir()); !errors.Is(err, state.ErrNotFolder) {
		t.Errorf("an empty directory: %v", err)
	}
	f, _ := small(t)
	if _, err := state.Create(f.Dir(), f.Machine(), machine.Identity{Name: "n"}); !errors.Is(err, state.ErrExists) {
		t.Errorf("a second machine in one folder: %v", err)
	}
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "precious"), nil, 0o600))
	if _, err := state.Create(dir, f.Machine(), machine.Identity{Name: "n"}); err == nil {
		t.Error("a folder was made among other files")
	}
	must(t, os.WriteFile(filepath.Join(f.Dir(), "state.json"), []byte(`{"version": 2}`), 0o600))
	if _, err := f.View(); err == nil {
		t.Error("a state of another version is read")
	}
}

// A file that somebody else has changed is as it should be after the next Open.
func TestOpenMendsFiles(t *testing.T) {
	f, clock := small(t)
	name := filepath.Join(f.Root(), "sys/bus/pci/devices/0000:4b:00.0/vendor")
	real, err := filepath.EvalSymlinks(name)
	must(t, err)
	must(t, os.WriteFile(real, []byte("0x0000\n"), 0o600))
	must(t, os.Remove(filepath.Join(f.Root(), "sys/class/net/ens1np0")))
	must(t, os.WriteFile(filepath.Join(f.Root(), "dev/nvidia7"), []byte("c 195:7\n"), 0o600))
	again, err := state.Open(f.Dir(), state.WithClock(clock))
	must(t, err)
	discovered(t, again)
}

func TestEveryEmbeddedScenarioCanBePlayed(t *testing.T) {
	for _, name := range scenario.Names() {
		t.Run(name, func(t *testing.T) {
			f, clock := small(t)
			if name == "fabric" {
				f, clock = folderOf(t, "fabric-pool")
			}
			s, err := scenario.Load(name)
			must(t, err)
			begin := clock.Now()
			during(clock, time.Second, func() {
				if err := f.Play(context.Background(), s); err != nil {
					t.Error(err)
				}
			})
			last := time.Duration(s.Steps[len(s.Steps)-1].At)
			if took := clock.Now().Sub(begin); took < last {
				t.Errorf("it took %s, and its last step is at %s", took, last)
			}
			steps := 0
			for event, err := range f.Events(1) {
				must(t, err)
				if event.Kind == "fault" {
					steps++
					if event.Fault.ECC == nil && len(event.Signs) == 0 {
						t.Errorf("%s has no sign", event.Message)
					}
				}
			}
			if steps == 0 {
				t.Error("nothing went wrong")
			}
			if name != "fabric" {
				discovered(t, f)
			}
		})
	}
}
