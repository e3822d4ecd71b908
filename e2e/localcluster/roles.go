package localcluster

import (
	"context"
	"net/url"
	"strings"
	"time"
)

// Role names a server of the cluster.
type Role string

const (
	Etcd              Role = "etcd"
	APIServer         Role = "kube-apiserver"
	ControllerManager Role = "kube-controller-manager"
	Scheduler         Role = "dray-scheduler"
	// HollowNodes is one process for all nodes, and Driver one for the driver on each
	// of them. They run if the cluster has nodes.
	HollowNodes Role = "hollow-nodes"
	Driver      Role = "dray-kubeletplugin-sim"
)

// Roles lists all roles in the order in which they start. They stop in the opposite
// one, so that a server finds what it needs as long as it runs.
func Roles() []Role {
	return []Role{Etcd, APIServer, ControllerManager, Scheduler, HollowNodes, Driver}
}

// role is how one server is run.
type role struct {
	// prepare writes what the server reads, and returns its flags.
	prepare func(context.Context, *Cluster) ([]string, error)
	// ready is the path that answers 200 once the server can be used, on the port
	// that the cluster has for the role; empty if it has no port, and isReady is asked.
	ready   string
	isReady func(context.Context, *Cluster) error
	// grace is how long the server gets to stop by itself.
	grace time.Duration
	// started is called when the server is ready; it may be nil.
	started func(*Cluster) error
	// onNodes: it is of no use without nodes.
	onNodes bool
}

var roles = map[Role]role{
	Etcd: {prepare: etcdFlags, ready: "/readyz", grace: 10 * time.Second, started: rememberData},
	// With watches open it would wait for a minute. Nothing is lost by killing it:
	// what it has answered is in etcd.
	APIServer:         {prepare: apiserverFlags, ready: "/readyz", grace: 3 * time.Second},
	ControllerManager: {prepare: controllerFlags, ready: "/healthz", grace: 3 * time.Second},
	Scheduler:         {prepare: schedulerFlags, ready: "/readyz", grace: 3 * time.Second},
	HollowNodes:       {prepare: hollowFlags, ready: "/readyz", grace: 5 * time.Second, onNodes: true},
	Driver:            {prepare: driverFlags, isReady: driverReady, grace: 5 * time.Second, onNodes: true},
}

// hasPort says whether the role listens on a port of the cluster.
func (r Role) hasPort() bool { return roles[r].ready != "" }

// AllGates as [Options.FeatureGates] turns on every feature of Kubernetes that works
// here: all but DRANodeAllocatableResources, with which dray-scheduler does not start.
const AllGates = "all"

// gateFlags are the flags for features, the same for each server of Kubernetes.
func gateFlags(gates string) []string {
	switch gates {
	case "":
		return nil
	case AllGates:
		gates = "AllAlpha=true,AllBeta=true,DRANodeAllocatableResources=false"
	}
	return []string{"--feature-gates=" + gates}
}

// servingFlags are the flags with which a server of Kubernetes serves on its port.
func (c *Cluster) servingFlags(of Role) []string {
	return []string{
		"--bind-address=" + loopback,
		"--secure-port=" + c.state.port(of),
		"--tls-cert-file=" + c.dir.pki("server.crt"),
		"--tls-private-key-file=" + c.dir.pki("server.key"),
	}
}

func (c *Cluster) url(of Role, path string) string {
	return (&url.URL{Scheme: "https", Host: loopback + ":" + c.state.port(of), Path: path}).String()
}

func commas(list []string) string { return strings.Join(list, ",") }
