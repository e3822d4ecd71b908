package server

import (
	"github.com/spf13/cobra"

	"github.com/dray-dev/dray/scheduler/command"
)

func schedulerCommand() *cobra.Command { return command.New() }
