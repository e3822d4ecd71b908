package machines_test

import (
	"os"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"

	"github.com/dray-dev/dray/hwsim/machine"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
	"github.com/dray-dev/dray/kubeletplugin/publish"
)

// The gates that are off by default and that some of the machines' slices need.
const gates = "DRADeviceCompatibilityGroups=true,DRAListTypeAttributes=true"

func TestMain(m *testing.M) {
	if err := utilfeature.DefaultMutableFeatureGate.Set(gates); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// everything is what an API server with these gates keeps.
var everything = publish.Features{
	PartitionableDevices: true, DeviceTaints: true, CompatibilityGroups: true,
	ListAttributes: true, BindingConditions: true, ConsumableCapacity: true, ExtendedResources: true,
}

// arria10 is the product of the cards with regions.
const arria10 = "Intel PAC with Arria 10 GX"

// optionSets are the ways to publish that differ in their slices.
var optionSets = map[string]publish.Options{
	// A fabric pool cannot be published without binding conditions.
	"whole devices": {Features: publish.Features{BindingConditions: true}},
	"all partitions": {
		Features: everything, MIG: publish.MIGDynamic, VGPU: true, AMDPartitions: true, NUMANodeList: true, Simulated: true,
	},
	"peers": {
		Features: publish.DefaultFeatures(), MIG: publish.MIGDynamic, Drivers: publish.PeerDrivers(publish.NICFunctions),
	},
	"static partitions, virtual functions": {
		Features: publish.DefaultFeatures(), MIG: publish.MIGStatic, NICs: publish.NICVirtualFunctions,
	},
	"shared bandwidth": {Features: publish.DefaultFeatures(), NICs: publish.NICSharedBandwidth},
	"bitstreams, extended resources": {
		Features: everything, HostManagedIMEX: true,
		Bitstreams: []publish.Bitstream{
			{Name: "nlb0", Model: arria10, Interface: "69528db6eb31577a8c3668f9faa081f6", Function: "d8424dc4a4a3c413f89e433683f9040b"},
			{Name: "other", Model: arria10, Interface: "ce48969398f05f33946d560708be108a", Function: "f7df405cbd7acf7222f144b0b93acd18"},
		},
		ExtendedResources: map[string]string{"gpu.dray.dev": "example.com/gpu", "fpga-bitstream.dray.dev": "example.com/nlb"},
	},
}

// instance of an embedded machine.
func instance(t testing.TB, name string) *machine.Instance {
	t.Helper()
	m, err := machine.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return m.Instantiate(machine.Identity{Name: "node-a", Seed: 1})
}

// published are all pools of an instance.
func published(t testing.TB, options publish.Options, made *machine.Instance, state publish.State) []publish.Pool {
	t.Helper()
	publisher, err := publish.New(options)
	if err != nil {
		t.Fatal(err)
	}
	if made.Pool != nil {
		pools, err := publisher.Fabric(made.Pool, state)
		if err != nil {
			t.Fatal(err)
		}
		return pools
	}
	var all []publish.Pool
	for i := range made.Nodes {
		pools, err := publisher.Node(made.Nodes[i].Name, made.Nodes[i].Hardware, state)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, pools...)
	}
	return all
}

// nodePools are the pools of one node.
func nodePools(t testing.TB, options publish.Options, node *hardware.Node) []publish.Pool {
	t.Helper()
	return published(t, options, &machine.Instance{Nodes: []machine.Node{{Name: "node-a", Hardware: node}}}, publish.State{})
}

func slicesOf(pools []publish.Pool) []*resourceapi.ResourceSlice {
	var all []*resourceapi.ResourceSlice
	for _, pool := range pools {
		for i := range pool.Slices {
			all = append(all, &pool.Slices[i])
		}
	}
	return all
}
