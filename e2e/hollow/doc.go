// Package hollow is a node without containers: the kubelet's own manager of dynamic
// resources (k8s.io/kubernetes/pkg/kubelet/cm/dra) and its plugin watcher
// (pluginmanager), under a small pod loop. It speaks the kubelet's gRPC with drivers,
// keeps the kubelet's state file, and starts no process.
//
//	node, err := hollow.New(hollow.Options{...})
//	err = node.Run(ctx)
//
// A node that is made again with the same folders goes on as a kubelet that was
// restarted. Many nodes can run in one process.
//
// # What a pod goes through
//
//	admission    the kubelet's own: resources, affinity, taints, ports
//	preparation  PrepareResources of the DRA manager, again and again until it works
//	containers   CDI devices of each are resolved by the CDI library, and shown
//	running      until the pod is deleted, or its containers' time is over (duration.go)
//	release      UnprepareResources, before the end of the pod is reported
//
// # What a container got
//
// An annotation of the pod for each container, containers.hollow.dray.dev/NAME, has the
// CDI devices and what the CDI library made of them, as JSON (package shown). A Normal event [DevicesReason] says the same in one line, and
// status.containerStatuses[].allocatedResourcesStatus has each device's health.
//
// # What must stay true
//
//  1. A container is running only when all claims of its pod are prepared and its
//     devices are resolved.
//  2. No end of a pod is reported, and no pod removed from the API server, before its
//     resources are unprepared: then the scheduler may give the devices to others.
//  3. What a pod has been through is known from its status and the state file of the
//     DRA manager alone, so a node can end at any moment.
//  4. Requests to the API server are those that a node's credentials allow.
//
// # What is where
//
//	options.go     Options
//	node.go        Node: its life
//	register.go    the Node object and its status
//	drivers.go     which drivers have registered
//	pods.go        which pods there are, and who works on them
//	pod.go         one pod: what to do next
//	admit.go       admission
//	containers.go  what a container gets
//	duration.go    how long a container runs
//	logs.go        what the log of a container says
//	status.go      the status of a pod, and how it is written
package hollow
