// Package driver is a DRA driver on a node: what the kubelet and the API server see
// of packages publish and prepare.
//
//	d, err := driver.New(driver.Options{...})
//	err = d.Run(ctx)   // until the context ends, or driver.ErrRebooted
//
// Upstream's helper (k8s.io/dynamic-resource-allocation/kubeletplugin) speaks gRPC with
// the kubelet and writes ResourceSlices. A Driver gives it both, for one kind of driver
// name on one node. It knows no vendor: Kinds prepare devices, Watchers see what
// happens to them, Foreign finds what others made. A new kind of device is a package
// of prepare, one of watch, and an entry in package command.
//
//	library's events ─┐
//	time ─────────────┼─► look: discover, Watchers ─► publish ─► helper ─► ResourceSlices
//	claims come, go ──┘                          └─► view ─► health stream, status.devices
//
// # What stays true
//
//  1. Hardware that changes is published within a second: its events wake the loop,
//     and what has none is looked at each PollInterval.
//  2. What the API server would drop is not published. It is asked by a dry run before
//     the first publication, and again when it has dropped something after all. While
//     it does not answer nothing is published, and the kubelet is served all the same.
//     Without counters whole GPUs are published, without taints a device that must not
//     be given out is withdrawn.
//  3. A device that cannot be prepared is not published.
//  4. A driver that ends, or is killed, leaves its slices. The next one finds the same
//     hardware and writes nothing. The kubelet takes slices away of a driver that stays
//     away for 30 s.
//  5. The pool has at least one slice, with no devices if there are none: the driver is
//     there. Generations are the helper's matter.
//  6. A problem of a device is a taint, a message to the kubelet, and a condition of the
//     claims that have the device. A taint keeps its time over restarts. When the problem
//     is over they all go.
//  7. Of two processes, during an update of the DaemonSet, both serve the kubelet and one
//     publishes: the older, until it ends.
//  8. Trouble is said once when it begins, and when it is over.
//
// # What is where
//
//	options.go     Options
//	driver.go      Driver: its life; healthy.go a look from outside; sockets.go
//	follow.go      the loop, and the view of the hardware
//	publishing.go  hardware → what the helper gets; foreign.go what others made
//	probe.go       what the API server keeps
//	plugin.go      what the helper calls: prepare, unprepare, errors, health
//	calls.go       waiting for them at the end
//	statuses.go    status.devices of claims
//	metrics.go     metrics
package driver
