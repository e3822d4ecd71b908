// Package chaos kills the scheduler between any two of its calls, and looks at what
// the API server has seen of it.
//
//	Run       one run, from a seed
//	Report    what was counted, and what was wrong
//
// The servers are real: etcd, kube-apiserver, the controller manager and
// dray-scheduler of package localcluster. Nodes are objects without kubelets, so pods
// end when the run says so. Between the scheduler and the API server stands a proxy
// (proxy.go) that counts calls. At a drawn one it kills the scheduler, before the
// call is passed on or after it was carried out; others it refuses, delays, or carries
// out and loses the answer of. Meanwhile (actor.go) pods come and go, claims are
// deleted and created anew, slices change, devices are tainted, nodes are cordoned.
//
// # What must hold
//
//  1. No device is given out twice: at each resourceVersion of each ResourceClaim, a
//     device is allocated to one claim at most, partitions do not draw more than
//     there is of a counter, nor shares more than a capacity, and an allocation
//     changes only by going away (witness.go, which watches all of them).
//  2. A pod that is bound has its devices: its claims are allocated on its node and
//     reserved for it (keeper.go, which looks at each bound pod before it ends).
//  3. Every pod that could be placed is. When the disturbances end, pods end one
//     after the other as they are placed, so each pending one comes to have room.
//  4. Nothing leaks. With all pods gone no claim is allocated or reserved, and the
//     scheduler, without having been started again, gives out every device once more.
//
// # What the seed fixes
//
// The draws: which disturbance comes next, which call is the last one. Not the order
// in which processes get to run, so a failure may need several runs of its seed.
package chaos
