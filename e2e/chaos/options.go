package chaos

import (
	"io"
	"time"
)

// Options of a run.
type Options struct {
	Seed uint64
	// Kills ends the disturbances when the scheduler was killed that often, Duration
	// when they have gone on that long, whichever is first.
	Kills    int
	Duration time.Duration
	// Aftermath is how long the disturbances go on after the last kill.
	Aftermath time.Duration
	// Nodes and DevicesPerNode are the size of the cluster; FabricDevices can be
	// used from every node.
	Nodes, DevicesPerNode, FabricDevices int
	// Alive is how many pods there are at a time, placed or not.
	Alive int
	// Patience is how long nothing may happen at the end before what is missing is
	// taken to be missing for good.
	Patience time.Duration

	// FeatureGates of all servers, as localcluster takes them.
	FeatureGates string
	// Verbosity of the scheduler's log, from 0 to 10.
	Verbosity int

	// Dir is the cluster's folder; Binary the program dray-local.
	Dir, Binary string
	// Progress is told what happens, in lines.
	Progress io.Writer
}

// Defaults is a run of about a minute.
func Defaults() Options {
	return Options{
		Seed: 1, Kills: 25, Duration: 45 * time.Second, Aftermath: 8 * time.Second,
		Nodes: 12, DevicesPerNode: 8, FabricDevices: 6, Alive: 120,
		Patience: 45 * time.Second,
		Progress: io.Discard,
	}
}
