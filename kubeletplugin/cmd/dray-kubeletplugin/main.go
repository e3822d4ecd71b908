// Command dray-kubeletplugin is Dray's driver on a node: it publishes the node's GPUs
// and their partitions, and prepares those that claims are given. A DaemonSet runs it.
//
// NVIDIA's GPUs need NVML, so a program that was built with cgo (package nvml).
// Without it, or before NVIDIA's driver is there, the pool is empty.
package main

import (
	"errors"
	"os"

	"github.com/spf13/pflag"

	"github.com/dray-dev/dray/kubeletplugin/command"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
	"github.com/dray-dev/dray/kubeletplugin/nvml"
)

func main() { os.Exit(command.Main("dray-kubeletplugin", &host{})) }

// host is a command.Machine: the machine that the program runs on.
type host struct{ node, root, driverRoot, library string }

func (*host) Simulated() bool { return false }

func (h *host) Flags(set *pflag.FlagSet) {
	set.StringVar(&h.node, "node-name", "", "`NAME` of the Node object")
	set.StringVar(&h.root, "host-root", "/", "`DIR` where the host's root is mounted")
	set.StringVar(&h.driverRoot, "nvidia-driver-root", "/", "`DIR` on the host where NVIDIA's driver is: /run/nvidia/driver if a container has installed it")
	set.StringVar(&h.library, "nvml-library", "", "`FILE` of NVIDIA's management library, if it is not where the system finds it")
}

func (h *host) Nodes() ([]command.Node, error) {
	if h.node == "" {
		return nil, errors.New("--node-name is missing: the name of the Node object")
	}
	files, err := hardware.HostDir(h.root)
	if err != nil {
		return nil, err
	}
	return []command.Node{{Name: h.node, Host: files, GPUs: nvml.New(h.library), DriverRoot: h.driverRoot}}, nil
}
