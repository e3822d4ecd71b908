// Package kindcluster makes clusters of kind with Dray on them: real kubelets and a real
// container runtime, where e2e/localcluster has hollow nodes.
//
//	Start     a cluster by deploy/kind/cluster.yaml, with what deploy/ has applied to it:
//	          the scheduler in place of Kubernetes' own, the driver over simulated machines
//	Cluster   what can be done to it: servers and drivers that end, nodes that are lost,
//	          kubelets and container runtimes that are restarted, what a container has got
//
// # What must stay true
//
//  1. What is applied are the files of deploy/, and the copies of them that they tell
//     their reader to make: what runs here is what a user would run.
//  2. A node's simulated hardware is a folder of this host, which the node has mounted, so
//     that faults are injected from here and outlive the node's container.
//  3. Kubernetes' features are at their defaults, as on the local cluster.
//
// # What is where
//
//	cluster.go     start and stop
//	engine.go      the container engine: commands on nodes
//	network.go     a pod network that needs no image
//	install.go     deploy/ on the cluster
//	driver.go      the driver: killed and kept away, back, updated
//	servers.go     scheduler and API server: killed, and back
//	nodes.go       power, kubelet, container runtime
//	containers.go  what the container runtime was asked for
//	accounts.go    credentials of scheduler and driver
//	logs.go        logs
package kindcluster
