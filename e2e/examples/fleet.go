package examples

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/dray-dev/dray/hwsim/fleet"
	"github.com/dray-dev/dray/hwsim/machine"
	"github.com/dray-dev/dray/kubeletplugin/publish"
)

// fabricLabel is what the nodes have that the fabric pool reaches. They are not those
// of which an example wants all GPUs.
const fabricLabel = "fabric.dray.dev/id"

// nodes are the machines that the examples need nodes of.
var nodes = []struct {
	machine string
	count   int
	// plugin is what a device plugin would offer on these nodes, a count each.
	plugin map[corev1.ResourceName]int64
	// nics says as what the nodes' network devices are published.
	nics publish.NICModel
	// hostsVGPUs publishes the GPUs a second time, under the name of [vgpuDriver], as a
	// driver would that makes virtual GPUs as well as partitions.
	hostsVGPUs bool
}{
	{machine: "dgx-h100", count: 2},
	{machine: "hgx-h200", count: 1},
	{machine: "l40s", count: 1},
	{machine: "t4", count: 1, plugin: map[corev1.ResourceName]int64{"example.com/inference": 4}},
	{machine: "rtx-pro-6000-vgpu", count: 1, hostsVGPUs: true},
	{machine: "mixed", count: 2},
	{machine: "sriov-nic", count: 1, nics: publish.NICSharedBandwidth},
	{machine: "fpga", count: 1},
	{machine: "gb200-nvl72", count: 1},
}

// pools are the fabric pools, which have no nodes.
var pools = []string{"fabric-pool"}

// Names for what no driver does yet. Expressions of classes and claims ask all devices
// of a driver for the same attributes, so devices with others have another driver.
const (
	vgpuDriver   = "vgpu.dray.dev"
	portDriver   = "ports.dray.dev"
	fabricDriver = "fabric.dray.dev"
)

// Fleet are the nodes that the examples need, with the GPUs that the node driver
// serves. Their other devices are published by [PublishOthers].
func Fleet(seed uint64) (fleet.Spec, error) {
	spec := fleet.Spec{Seed: seed,
		Labels: map[string]string{fabricLabel: `{{if eq .Machine "t4"}}fabric-pool-0{{end}}`}}
	for _, of := range nodes {
		m, err := machine.Load(of.machine)
		if err != nil {
			return fleet.Spec{}, err
		}
		count := fleet.Count{Machine: m, Count: of.count}
		for name, amount := range of.plugin {
			if count.Capacity == nil {
				count.Capacity = corev1.ResourceList{}
			}
			count.Capacity[name] = *resource.NewQuantity(amount, resource.DecimalSI)
		}
		spec.Machines = append(spec.Machines, count)
	}
	return spec, nil
}

// PublishOthers publishes the devices of the fleet that have no node driver yet: NICs,
// FPGAs, compute domains, and those of fabric pools. Pods get them, and are not
// started. Slices that are there already stay as they are.
func PublishOthers(ctx context.Context, client kubernetes.Interface, seed uint64) error {
	owners := map[string][]metav1.OwnerReference{}
	return others(seed, func(node string, slice *resourceapi.ResourceSlice) error {
		if _, ok := owners[node]; !ok && node != "" {
			owner, err := ownedBy(ctx, client, node)
			if err != nil {
				return err
			}
			owners[node] = owner
		}
		slice.OwnerReferences = owners[node]
		return create(ctx, client, slice)
	})
}

// others calls each with the slices of devices without a node driver, and with the node
// that they are of, or "".
func others(seed uint64, each func(node string, slice *resourceapi.ResourceSlice) error) error {
	options := publish.Options{Simulated: true, NUMANodeList: true, Features: publish.DefaultFeatures()}
	options.Features.ListAttributes, options.Features.CompatibilityGroups = true, true
	for _, of := range nodes {
		options := options
		options.NICs = of.nics
		if of.nics == publish.NICSharedBandwidth {
			options.Drivers.NIC = portDriver
		}
		if of.hostsVGPUs {
			options.Drivers.GPU, options.MIG, options.VGPU = vgpuDriver, publish.MIGDynamic, true
		}
		if err := othersOf(of.machine, of.count, seed, options, each); err != nil {
			return err
		}
	}
	// Whoever asks for any GPU must not get one that is yet to be attached.
	options.Drivers.GPU = fabricDriver
	for _, pool := range pools {
		if err := othersOf(pool, 1, seed, options, each); err != nil {
			return err
		}
	}
	return nil
}

func othersOf(name string, count int, seed uint64, options publish.Options, each func(node string, slice *resourceapi.ResourceSlice) error) error {
	m, err := machine.Load(name)
	if err != nil {
		return err
	}
	made, err := fleet.New(fleet.Spec{Seed: seed, Machines: []fleet.Count{{Machine: m, Count: count}}, Publish: options})
	if err != nil {
		return err
	}
	for member, err := range made.Members() {
		if err != nil {
			return err
		}
		node := ""
		if member.Node != nil {
			node = member.Node.Name
		}
		for _, pool := range member.Pools {
			// The GPUs of nodes have a driver.
			if pool.Driver == publish.DrayDrivers().GPU {
				continue
			}
			for i := range pool.Slices {
				if err := each(node, pool.Slices[i].DeepCopy()); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// ownedBy makes slices go when their node goes.
func ownedBy(ctx context.Context, client kubernetes.Interface, node string) ([]metav1.OwnerReference, error) {
	object, err := client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("node %s, whose devices are to be published: %w", node, err)
	}
	return []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node, UID: object.UID}}, nil
}

func create(ctx context.Context, client kubernetes.Interface, slice *resourceapi.ResourceSlice) error {
	_, err := client.ResourceV1().ResourceSlices().Create(ctx, slice, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("ResourceSlice %s: %w", slice.Name, err)
	}
	return nil
}
