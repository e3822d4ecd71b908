package server

import (
	"github.com/spf13/cobra"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

func controllerCommand() *cobra.Command { return app.NewControllerManagerCommand() }
