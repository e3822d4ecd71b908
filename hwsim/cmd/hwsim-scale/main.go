// Command hwsim-scale makes a large fleet, as `hwsim fleet` does, and says in its
// last line what that took:
//
//	hwsim-scale: 5000 nodes, 1115000 devices, 14.2 s, 61 MiB peak
//
// Everything is made and encoded, only the bytes go nowhere. It ends with 1 if it
// took more than the limits.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/dray-dev/dray/hwsim/fleet"
	"github.com/dray-dev/dray/hwsim/machine"
	"github.com/dray-dev/dray/kubeletplugin/publish"
)

func main() {
	if err := run(os.Args[1:], os.Stdout, time.Now); err != nil {
		fmt.Fprintf(os.Stderr, "hwsim-scale: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer, now func() time.Time) error {
	flags := flag.NewFlagSet("hwsim-scale", flag.ContinueOnError)
	name := flags.String("machine", "dgx-h100", "machine of all nodes")
	nodes := flags.Int("nodes", 5000, "how many of it")
	seconds := flags.Float64("max-seconds", 60, "fail if it takes longer")
	mebibytes := flags.Int64("max-mib", 1024, "fail if the process has held more memory")
	if err := flags.Parse(args); err != nil {
		return err
	}
	m, err := machine.Load(*name)
	if err != nil {
		return err
	}
	start := now()
	made, err := fleet.New(fleet.Spec{
		Machines: []fleet.Count{{Machine: m, Count: *nodes}},
		Seed:     1,
		Publish:  publish.Options{Features: publish.DefaultFeatures(), MIG: publish.MIGDynamic, Simulated: true},
	})
	if err != nil {
		return err
	}
	totals, err := made.Write(io.Discard, fleet.JSON, fleet.Objects{Nodes: true, Slices: true}, nil)
	if err != nil {
		return err
	}
	took := now().Sub(start)
	peak, err := peakMiB()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "hwsim-scale: %d nodes, %d devices, %.1f s, %d MiB peak\n", totals.Nodes, totals.Devices, took.Seconds(), peak)
	if took.Seconds() > *seconds || peak > *mebibytes {
		return errors.New("over the limits of -max-seconds and -max-mib")
	}
	return nil
}

// peakMiB is the most memory that the process has held at a time.
func peakMiB() (int64, error) {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return 0, fmt.Errorf("peak memory of the process: %w", err)
	}
	return int64(usage.Maxrss) / 1024, nil // Linux counts in KiB, and in 32 bits on some machines
}
