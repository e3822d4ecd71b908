package state_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dray-dev/dray/hwsim/machine"
	"github.com/dray-dev/dray/hwsim/state"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// childRace is the environment of a child that makes every GPU instance that it can:
// the folder.
const childRace = "HWSIM_TEST_RACE"

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(childKill) != "":
		killed(os.Getenv(childKill))
	case os.Getenv(childRace) != "":
		race(os.Getenv(childRace))
	default:
		// Each check is a dozen transactions and two discoveries; flags say otherwise.
		if err := flag.Set("rapid.checks", "25"); err != nil {
			panic(err)
		}
		os.Exit(m.Run())
	}
}

// race tries every placement of the smallest profile and prints those that it got.
func race(dir string) {
	f, err := state.Open(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for start := range 7 {
		switch err := partition(f, hopper, 19, start); {
		case err == nil:
			fmt.Println(start)
		case !errors.Is(err, hardware.ErrGPUInsufficientResources):
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func TestTwoProcessesNeverBothHaveOnePlacement(t *testing.T) {
	m, err := machine.ReadFile("testdata/small.yaml")
	must(t, err)
	f, err := state.Create(filepath.Join(t.TempDir(), "hw"), m, machine.Identity{Name: "n"})
	must(t, err)
	must(t, partition(f, hopper, 19, 0)) // MIG is on
	for round := range 5 {
		must(t, f.Update(func(tx *state.Tx) error { return tx.Reset(hopper) }))
		children := make([]*exec.Cmd, 3)
		outputs := make([]bytes.Buffer, len(children))
		for i := range children {
			children[i] = exec.Command(os.Args[0])
			children[i].Env = append(os.Environ(), childRace+"="+f.Dir())
			children[i].Stdout, children[i].Stderr = &outputs[i], os.Stderr
			must(t, children[i].Start())
		}
		got := map[string]int{}
		for i, child := range children {
			must(t, child.Wait())
			for _, start := range strings.Fields(outputs[i].String()) {
				if other, taken := got[start]; taken {
					t.Errorf("round %d: processes %d and %d both have the placement at %s", round, other, i, start)
				}
				got[start] = i
			}
		}
		if len(got) != 7 {
			t.Errorf("round %d: %d of 7 placements were had", round, len(got))
		}
		if n := len(view(t, f).Node.GPUs[1].MIG.Instances); n != 7 {
			t.Errorf("round %d: the folder has %d instances", round, n)
		}
		discovered(t, f)
		checkEvents(t, f)
	}
}
