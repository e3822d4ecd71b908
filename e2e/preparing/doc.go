// Package preparing has the tests that join the driver's preparation of devices to
// simulated machines: random lives of a node, in which claims come and go, driver
// processes are killed in the middle of a call, administrators interfere and the
// machine is restarted. The GPUs, the checkpoint and the files for container
// runtimes agree all the time, and nothing is left in the end. It needs no
// Kubernetes beyond its API.
package preparing
