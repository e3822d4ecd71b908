// Package command is what the driver's binaries have in common: flags, logs, metrics,
// health, and the life of a driver on each node.
//
//	os.Exit(command.Main("dray-kubeletplugin", machine))
//
// A binary brings a Machine: the flags that say which hardware there is, and the nodes
// that it makes of them. dray-kubeletplugin has one node, the host; the simulated
// driver has a folder for each.
//
//	flags.go    the flags, each with its environment variable
//	command.go  Main: from flags to drivers that run
//	node.go     Machine and Node; a driver on a node, boot after boot
//	library.go  a GPU library that is not there is asked again later
//	serve.go    metrics over HTTP, health over gRPC
package command
