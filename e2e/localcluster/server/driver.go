package server

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/dray-dev/dray/e2e/localcluster"
	"github.com/dray-dev/dray/hwsim/cmd/dray-kubeletplugin-sim/simulated"
	"github.com/dray-dev/dray/kubeletplugin/command"
)

// runDriver is the simulated driver.
func runDriver(flags []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return command.Run(ctx, string(localcluster.Driver), &simulated.Machine{}, flags, os.Stdout, os.Stderr)
}
