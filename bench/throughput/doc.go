// Package throughput measures pods a second against a real API server and etcd, with
// the scheduler plugin of ours and with Kubernetes' own, in the workloads of
// Kubernetes' scheduler_perf:
//
//	BenchmarkThroughput/family=burst/nodes=500/impl=dray-2  1  18518518 ns/op  54 pods/s
//
// One sample is one process, in which scheduler_perf (test/integration/scheduler_perf
// of k8s.io/kubernetes) runs one workload: API server, controller of claims, scheduler
// and the client that makes the pods, with etcd beside it. So a sample says what a
// cluster reaches whose servers share this machine, where writes of the API are most
// of the work and the plugin can win no more than its own share.
//
// The workloads and their templates are read from the module's source as it is in the
// cache, which the go command finds. One workload is left, without its threshold, with a
// label of ours and the configuration of the scheduler; the workload "bare" also has pods
// without claims, and those of a quick run have fewer nodes and more pods.
//
// The files: workloads.go lists what is measured, config.go makes the configuration of
// a sample, sample.go runs the process, which is the same program again (child.go of
// bench/cmd/perfbench), and run.go goes through all of them.
package throughput
