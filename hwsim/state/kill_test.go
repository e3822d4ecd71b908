package state_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dray-dev/dray/hwsim/fault"
	"github.com/dray-dev/dray/hwsim/machine"
	"github.com/dray-dev/dray/hwsim/state"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// errStopped is what all steps fail with from one on: the writer is dead.
var errStopped = errors.New("stopped")

// stopBefore stops a folder's writes before step k, from 0, and counts steps.
func stopBefore(k int, steps *int) state.Option {
	return state.WithStep(func(string) error {
		if *steps >= k {
			return errStopped
		}
		*steps++
		return nil
	})
}

// change is a transaction with the one that undoes it.
type change struct{ do, undo func(*state.Folder) error }

func update(do func(*state.Tx) error) func(*state.Folder) error {
	return func(f *state.Folder) error { return f.Update(do) }
}

var (
	port   = hardware.PCIAddress{Bus: 0x4b}
	ampere = hardware.PCIAddress{Bus: 0x3b}
	hopper = hardware.PCIAddress{Bus: 0x6b}
	card   = hardware.PCIAddress{Bus: 0x5b}
)

// changes write, remove and replace files of every kind.
func changes() map[string]change {
	setVFs := func(n int) func(*state.Folder) error {
		return update(func(tx *state.Tx) error { return tx.SetVFs(port, n) })
	}
	return map[string]change{
		"virtual functions": {setVFs(1), setVFs(0)},
		"driver": {update(func(tx *state.Tx) error { return tx.Unbind("nvidia", hopper) }),
			update(func(tx *state.Tx) error { return tx.Bind("nvidia", hopper) })},
		"MIG": {func(f *state.Folder) error { return partition(f, hopper, 19, 0) },
			update(func(tx *state.Tx) error { return tx.Reset(hopper) })},
		"bitstream": {update(func(tx *state.Tx) error {
			return tx.Program(card, 0, "69528db6eb31577a8c3668f9faa081f6", "f7df405cbd7acf7222f144b0b93acd18")
		}), update((*state.Tx).Reboot)},
		"link": {update(func(tx *state.Tx) error { return tx.Inject(fault.Fault{Link: &fault.Link{NIC: "ens1np0"}}) }),
			update((*state.Tx).Reboot)},
	}
}

// partition makes a GPU instance with a compute instance in one transaction each.
func partition(f *state.Folder, gpu hardware.PCIAddress, profile, start int) error {
	library := f.GPULibrary()
	if err := library.Init(); err != nil {
		return err
	}
	defer library.Shutdown()
	device, err := library.DeviceByPCIAddress(gpu)
	if err != nil {
		return err
	}
	if on, _, err := device.MIGMode(); err != nil || !on {
		if err := device.SetMIGMode(true); err != nil {
			return err
		}
	}
	return instance(device, profile, start)
}

// remembered is what of a machine a kill may not tear apart. Boots, times and numbers
// go on in any case.
func remembered(t *testing.T, f *state.Folder) *hardware.Node {
	t.Helper()
	return view(t, f).Node.Clone()
}

func TestAKillBeforeAnyStepLeavesAFolderThatOpens(t *testing.T) {
	for name, c := range changes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stride := 1
			if testing.Short() && name == "virtual functions" {
				stride = 11 // it has ten times the steps of the others
			}
			free, clock := small(t)
			must(t, free.Update(func(tx *state.Tx) error { return tx.SetVFs(port, 0) }))
			if name == "MIG" { // it is on before and after
				must(t, partition(free, hopper, 19, 6))
				must(t, free.Update(func(tx *state.Tx) error { return tx.Reset(hopper) }))
			}
			for k := 0; ; k += stride {
				before := remembered(t, free)
				steps := 0
				stopped, err := state.Open(free.Dir(), state.WithClock(clock), stopBefore(k, &steps))
				must(t, err) // the folder is in order: opening it writes nothing
				err = c.do(stopped)
				if err == nil {
					if k < 7 {
						t.Errorf("only %d steps: nothing was tried", k)
					}
					t.Logf("%s: %d steps, stopped before one of each %d", name, steps, stride)
					return
				}
				if !errors.Is(err, errStopped) {
					t.Fatalf("stopped before step %d, and the error is %v", k, err)
				}
				again, err := state.Open(free.Dir(), state.WithClock(clock))
				must(t, err)
				discovered(t, again)
				checkEvents(t, again)
				after := remembered(t, again)
				if cmp.Equal(before, after, cmpopts.EquateEmpty()) {
					must(t, c.do(again)) // nothing had happened: it can be done
				} else if errors.Is(err, state.ErrBehind) {
					t.Errorf("step %d: it has not happened, and the error says that it has", k)
				}
				must(t, c.undo(free))
				if diff := cmp.Diff(before, remembered(t, free), cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("step %d: undone, it is not as before:\n%s", k, diff)
				}
			}
		})
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// checkEvents fails unless all events are there, without gaps.
func checkEvents(t *testing.T, f *state.Folder) {
	t.Helper()
	last := uint64(0)
	for event, err := range f.Events(0) {
		must(t, err)
		if last++; event.Number != last {
			t.Fatalf("event %d comes where %d must", event.Number, last)
		}
	}
	if want := view(t, f).LastEvent; last != want {
		t.Fatalf("%d events are in the log, and there have been %d", last, want)
	}
}

func TestAKillWhileAFolderIsMadeLeavesOneOrNone(t *testing.T) {
	m, err := machine.ReadFile("testdata/small.yaml")
	must(t, err)
	parent := t.TempDir()
	total, steps, stride := 0, 0, 97
	if testing.Short() {
		stride = 970
	}
	if _, err := state.Create(filepath.Join(parent, "whole"), m, machine.Identity{Name: "n"}, stopBefore(1<<30, &total)); err != nil {
		t.Fatal(err)
	}
	for k := 0; k < total; k++ {
		if k > 12 && k < total-12 && k%stride != 0 {
			continue // files of the surface, which are all written alike
		}
		dir := filepath.Join(parent, strconv.Itoa(k))
		steps = 0
		if _, err := state.Create(dir, m, machine.Identity{Name: "n"}, stopBefore(k, &steps)); !errors.Is(err, errStopped) {
			t.Fatalf("stopped before step %d of %d, and the error is %v", k, total, err)
		}
		f, err := state.Open(dir)
		if errors.Is(err, state.ErrNotFolder) {
			f, err = state.Create(dir, m, machine.Identity{Name: "n"})
		}
		must(t, err)
		discovered(t, f)
		checkEvents(t, f)
		must(t, os.RemoveAll(dir))
	}
}

// childKill is the environment of a child that kills itself: "folder:step".
const childKill = "HWSIM_TEST_KILL"

// killed is what TestMain does in such a child.
func killed(order string) {
	dir, step, _ := strings.Cut(order, "|")
	left, err := strconv.Atoi(step)
	if err == nil {
		var f *state.Folder
		f, err = state.Open(dir, state.WithStep(func(string) error {
			if left--; left < 0 {
				return syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
			return nil
		}))
		if err == nil {
			err = f.Update(func(tx *state.Tx) error { return tx.Unbind("nvidia", hopper) })
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// A process that is really killed holds no lock and leaves no more than the steps
// that it has made.
func TestAProcessThatIsKilledLeavesAFolderThatOpens(t *testing.T) {
	m, err := machine.ReadFile("testdata/small.yaml")
	must(t, err)
	f, err := state.Create(filepath.Join(t.TempDir(), "hw"), m, machine.Identity{Name: "n"})
	must(t, err)
	happened := 0
	for k := 0; ; k++ {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), childKill+"="+f.Dir()+"|"+strconv.Itoa(k))
		output, err := child.CombinedOutput()
		if err == nil {
			if k < 7 || happened == 0 || happened == k {
				t.Errorf("it was killed %d times, and the change had happened %d times", k, happened)
			}
			return
		}
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("the child ended with %v:\n%s", err, output)
		}
		again, err := state.Open(f.Dir())
		must(t, err)
		discovered(t, again)
		checkEvents(t, again)
		if len(view(t, again).Node.GPUs) == 1 {
			happened++
			must(t, again.Update(func(tx *state.Tx) error { return tx.Bind("nvidia", hopper) }))
		}
	}
}

// TestAWriteThatWasMadeIsNotOneThatIsRefused: a disk that is full before the change is
// made is an error of the file, and one that is full afterwards says so.
func TestAWriteThatWasMadeIsNotOneThatIsRefused(t *testing.T) {
	f, clock := small(t)
	refused, behind := 0, 0
	for k := 0; ; k++ {
		steps, mtu := 0, 1300+k
		full, err := state.Open(f.Dir(), state.WithClock(clock), state.WithStep(func(string) error {
			if steps >= k {
				return syscall.ENOSPC
			}
			steps++
			return nil
		}))
		must(t, err)
		err = full.Host().WriteFile("sys/class/net/ens1np0/mtu", []byte(strconv.Itoa(mtu)))
		again, openErr := state.Open(f.Dir(), state.WithClock(clock))
		must(t, openErr)
		made := view(t, again).Node.NICs[0].MTU == mtu
		var path *fs.PathError
		switch {
		case err == nil && made:
			if refused == 0 || behind == 0 {
				t.Errorf("refused %d times, behind %d times: nothing was tried", refused, behind)
			}
			return
		case errors.Is(err, state.ErrBehind) && made:
			behind++
		case errors.As(err, &path) && !errors.Is(err, state.ErrBehind) && !made:
			refused++
		default:
			t.Fatalf("stopped before step %d, the MTU is set: %v, and the error is %v", k, made, err)
		}
	}
}
