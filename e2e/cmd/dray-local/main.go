// Command dray-local runs a Kubernetes cluster with Dray in processes on this
// machine: no containers, no root, no hardware. Package localcluster says how.
//
//	dray-local up            runs it until Ctrl-C; with --machine dgx-h100=2, on nodes
//	dray-local kubeconfig    how to reach it
//	dray-local status        what runs and is ready, nodes and their devices
//	dray-local logs ROLE     what a server said
//	dray-local explain NS/POD why a pod does not fit
//	dray-local restart ROLE  ends a server and starts it; also update-driver, node stop
//	dray-local down          ends it from elsewhere
//
// "dray-local role NAME FLAGS" is what its children run.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/dray-dev/dray/e2e/localcluster/server"
)

func main() {
	if len(os.Args) > 2 && os.Args[1] == "role" {
		os.Exit(server.Run(os.Args[2], os.Args[3:]))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The second Ctrl-C does not wait: the children die with this process.
	context.AfterFunc(ctx, stop)
	if err := newCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "dray-local: %v\n", err)
		stop()
		os.Exit(1)
	}
}
