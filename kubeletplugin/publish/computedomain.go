package publish

import (
	resourceapi "k8s.io/api/resource/v1"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// What NVIDIA's driver for compute domains publishes on a node whose GPU driver
// has IMEX channels: one channel and one daemon. The channel stands for however
// many a claim's configuration asks for. The clique of a node's GPUs is not among
// the attributes: it is a label of the Node object.

func (p *Publisher) computeDomain(node *hardware.Node) ([]group, error) {
	if node.GPUDriver == nil || node.GPUDriver.IMEXChannels == 0 {
		return nil, nil
	}
	device := func(kind string) resourceapi.Device {
		return resourceapi.Device{Name: kind + "-0", Attributes: p.mark(attributes{"type": text(kind), "id": number(0)})}
	}
	g := group{devices: []resourceapi.Device{device("channel")}}
	if !p.options.HostManagedIMEX {
		g.devices = append(g.devices, device("daemon"))
	}
	return []group{g}, nil
}
