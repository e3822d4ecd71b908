// Command dray-kubeletplugin-sim is Dray's driver over simulated hardware: the same
// driver as dray-kubeletplugin, over folders that `hwsim run` makes instead of a host.
// It obeys the instructions in them (hwsim/fault), with which a driver itself can be
// broken, and begins anew when the machine boots.
//
//	dray-kubeletplugin-sim --kubeconfig FILE --dir dgx --machine dgx-h100 --kubelet-root dgx-kubelet --cdi-root dgx-cdi
//
// One process can serve many nodes: --dir names a folder, or one with a folder for
// each node in it, and can be repeated. Then --kubelet-root and --cdi-root have {node}
// in them, which stands for the node's name.
package main

import (
	"os"

	"github.com/dray-dev/dray/hwsim/cmd/dray-kubeletplugin-sim/simulated"
	"github.com/dray-dev/dray/kubeletplugin/command"
)

func main() { os.Exit(command.Main("dray-kubeletplugin-sim", &simulated.Machine{})) }
