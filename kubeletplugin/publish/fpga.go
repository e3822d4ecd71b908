package publish

import (
	"fmt"
	"slices"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// FPGA cards. The model is Dray's own: no driver publishes them. A card is a
// device. One with regions is a counter set as well, of which each region is a
// device, and each bitstream that fits a region another one; the card consumes
// all regions.
//
// The regions of a card have the interface of its static part. Bitstreams for
// other interfaces are offered too where the API server keeps compatibility
// groups: with one group for each interface all regions in use agree on the
// static part, and the first one decides which it is. Without groups, and for
// cards whose regions differ, only bitstreams for the present interface are.
//
// Where the API server keeps no counters, only whole cards are published.

func (p *Publisher) fpgas(node *hardware.Node) ([]group, error) {
	var groups []group
	for i := range node.FPGAs {
		g := p.fpgaCard(&node.FPGAs[i], node)
		if len(g.sets) == 0 && len(groups) > 0 && len(groups[len(groups)-1].sets) == 0 {
			groups[len(groups)-1].devices = append(groups[len(groups)-1].devices, g.devices...)
		} else {
			groups = append(groups, g)
		}
	}
	return groups, nil
}

func (p *Publisher) fpgaCard(card *hardware.FPGA, node *hardware.Node) group {
	name := "fpga-" + dashed(card.Address)
	common := attributes{
		"model":    description(card.Model),
		"vendorID": text(fmt.Sprintf("0x%04x", card.IDs.Vendor)),
		"deviceID": text(fmt.Sprintf("0x%04x", card.IDs.Device)),
	}
	if card.Shell != "" {
		common["shell"] = description(card.Shell)
	}
	if card.Serial != "" {
		common["serial"] = description(card.Serial)
	}
	p.topology(common, &card.PCIFunction, node)
	p.mark(common)
	whole := resourceapi.Device{Name: name, Attributes: extended(common, 1), Capacity: capacities{
		"memory": bytes(card.MemoryBytes), "regions": amount(len(card.Regions))}}
	whole.Attributes["type"] = text("card")
	if len(card.Regions) == 0 || !p.options.Features.PartitionableDevices {
		return group{devices: []resourceapi.Device{whole}}
	}
	set := resourceapi.CounterSet{Name: name + "-counter-set", Counters: counters{}}
	for _, region := range card.Regions {
		set.Counters[regionName(&region)] = count(1)
	}
	whole.ConsumesCounters = []resourceapi.DeviceCounterConsumption{{CounterSet: set.Name, Counters: set.Counters}}
	g := group{sets: []resourceapi.CounterSet{set}, devices: []resourceapi.Device{whole}}
	bitstreams, exclusive := p.bitstreams(card)
	for i := range card.Regions {
		region := &card.Regions[i]
		consumes := func(iface string) []resourceapi.DeviceCounterConsumption {
			c := resourceapi.DeviceCounterConsumption{CounterSet: set.Name, Counters: counters{regionName(region): count(1)}}
			if exclusive {
				c.CompatibilityGroups = []string{"interface-" + iface}
			}
			return []resourceapi.DeviceCounterConsumption{c}
		}
		device := resourceapi.Device{Name: name + "-" + regionName(region), Attributes: regionAttributes(common, region),
			ConsumesCounters: consumes(region.Interface)}
		g.devices = append(g.devices, device)
		for _, b := range bitstreams {
			if !exclusive && b.Interface != region.Interface {
				continue
			}
			a := regionAttributes(common, region)
			a["type"] = text("bitstream")
			a["bitstream"] = text(b.Name)
			a["interface"] = text(b.Interface)
			a["function"] = text(b.Function)
			g.devices = append(g.devices, resourceapi.Device{Name: device.Name + "-" + b.Name, Attributes: a, ConsumesCounters: consumes(b.Interface)})
		}
	}
	return g
}

func regionName(region *hardware.FPGARegion) string { return fmt.Sprintf("region-%d", region.ID) }

func regionAttributes(common attributes, region *hardware.FPGARegion) attributes {
	a := extended(common, 6)
	a["type"] = text("region")
	a["region"] = number(region.ID)
	if region.Interface != "" {
		a["interface"] = text(region.Interface)
	}
	if region.Function != "" {
		a["function"] = text(region.Function)
	}
	return a
}

// bitstreams are those for the card, and whether their interfaces exclude each
// other.
func (p *Publisher) bitstreams(card *hardware.FPGA) (fit []Bitstream, exclusive bool) {
	present := card.Regions[0].Interface
	alike := present != "" && !slices.ContainsFunc(card.Regions, func(r hardware.FPGARegion) bool { return r.Interface != present })
	for _, b := range p.options.Bitstreams {
		if b.Model == card.Model {
			fit = append(fit, b)
			exclusive = exclusive || alike && b.Interface != present && p.options.Features.CompatibilityGroups
		}
	}
	return fit, exclusive
}
