package server

import (
	"github.com/spf13/cobra"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

func apiserverCommand() *cobra.Command { return app.NewAPIServerCommand() }
