package main

import (
	"path/filepath"
	"testing"

	"github.com/dray-dev/dray/kubeletplugin/command/commandtest"
)

func TestTheDaemonSetStartsTheDriver(t *testing.T) {
	commandtest.DaemonSet(t, filepath.Join("..", "..", "..", "deploy", "kubeletplugin", "daemonset.yaml"), &host{})
}
