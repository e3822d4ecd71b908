// Package localcluster runs a Kubernetes cluster on this machine, without containers
// and without root: etcd, kube-apiserver, the controller manager, dray-scheduler, and
// hollow nodes (package hollow) with the simulated driver, each a child process of one
// program.
//
//	Start              the cluster in a folder, new or as it was left
//	Cluster.Kubeconfig how to reach it, as its administrator
//	Cluster.Kill       a server dies; StartRole brings it back
//	Cluster.Nodes      the hollow nodes; StopNode and StartNode are about one of them
//	Cluster.Stop       everything ends, the data stays
//	Inspect, End       the same cluster from another process, by its folder
//
// A child is the program [Options.Binary] run with "role NAME FLAGS", which package
// server answers; this package does not link Kubernetes. Servers are separate
// processes because they have to be: two of them in one clash over what Kubernetes
// registers for the process, and one alone cannot be killed.
//
// # The folder
//
//	lock             held by the program and its children (see lock.go)
//	cluster.json     what must not change under the data: versions, ports
//	pki/             one authority, certificates, the key of ServiceAccount tokens
//	kubeconfig/      one for each user; admin.yaml is the administrator's
//	etcd/            the data
//	log/             one file for each server, and NAME.log.last of the last time
//	scheduler.yaml   the scheduler's configuration, as it runs
//	hw/NODE          the node's simulated machine (hwsim/state)
//	nodes/NODE       node.json, credentials of node and driver, and what a kubelet and a
//	                 driver have below /var/lib/kubelet; cdi/ for /var/run/cdi
//
// Everything listens on 127.0.0.1 only, speaks TLS, and asks who is there. RBAC is on.
//
// # What must stay true
//
//  1. At most one cluster runs in a folder, and no child outlives the program for
//     longer than the kernel takes to kill it.
//  2. The folder is usable after any death of the program: what is written is either
//     written in full under another name and renamed, or made anew at each start.
//  3. A server that is not ready says why: the error has the end of its log.
//
// What is where: cluster.go is the life of a cluster; child.go a process; ready.go
// waits; etcd.go, apiserver.go, controllers.go and scheduler.go are the roles;
// nodes.go and driver.go are the roles that there are with nodes, scheduleraccount.go
// and driveraccount.go what the API server knows of those who call it; folder.go,
// lock.go, ports.go, pki.go and kubeconfig.go the files; status.go and nodestatus.go
// are the view from outside, and explain.go asks the scheduler why a pod waits;
// sockets.go and watches_linux.go look first whether nodes could be there.
package localcluster
