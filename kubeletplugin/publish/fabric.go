package publish

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// Devices that are attached on demand, as the driver for composable
// disaggregated infrastructure publishes them: any node that the fabric reaches
// can get one, a claim binds it to a node, and the pod waits until the fabric's
// controller says that it is there. That driver has a pool for each model and
// fabric, and attributes as it is configured; here a fabric's devices of one driver
// are one pool, and have the two attributes and the capacity below.

// Conditions of claims with devices of a fabric.
const (
	// ConditionFabricDeviceReady lets the pod start.
	ConditionFabricDeviceReady = "FabricDeviceReady"
	// ConditionFabricDeviceReschedule and ConditionFabricDeviceFailed make the
	// scheduler look for another device.
	ConditionFabricDeviceReschedule = "FabricDeviceReschedule"
	ConditionFabricDeviceFailed     = "FabricDeviceFailed"
)

// Fabric returns the pools of a fabric, one for each driver whose kind of device
// it has. Their name is the fabric's. It needs Features.BindingConditions: without
// them pods would start before their devices are there. Devices that cannot be
// published are left out, as Node does it.
func (p *Publisher) Fabric(fabric *hardware.FabricPool, state State) ([]Pool, error) {
	if !p.options.Features.BindingConditions {
		return nil, &Error{Pool: fabric.Name, Field: "bindingConditions", Err: fmt.Errorf("a fabric needs features.bindingConditions: %w", ErrNotKept)}
	}
	if len(fabric.NodeLabels) == 0 {
		return nil, &Error{Pool: fabric.Name, Field: "nodeSelector", Err: errors.New("labels of the nodes that the fabric reaches are missing")}
	}
	for _, key := range sorted(fabric.NodeLabels) {
		problems := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(fabric.NodeLabels[key])...)
		if len(problems) > 0 {
			return nil, &Error{Pool: fabric.Name, Field: "nodeSelector[" + key + "]",
				Err: fmt.Errorf("%q=%q is not a label: %s", key, fabric.NodeLabels[key], problems[0])}
		}
	}
	drivers := map[string]string{"gpu": p.options.Drivers.GPU, "fpga": p.options.Drivers.FPGA, "nic": p.options.Drivers.NIC}
	var errs []error
	var pools []*pool
	for i := range fabric.Devices {
		device := &fabric.Devices[i]
		driver := drivers[device.Type]
		if driver == "" {
			errs = append(errs, &Error{Pool: fabric.Name, Device: device.Name, Field: "attributes[type]", Err: fmt.Errorf("%q is not gpu, fpga or nic", device.Type)})
			continue
		}
		published := resourceapi.Device{
			Name:                     device.Name,
			Attributes:               p.mark(attributes{"type": text(device.Type), "productName": text(device.Model)}),
			BindsToNode:              &yes,
			BindingConditions:        []string{ConditionFabricDeviceReady},
			BindingFailureConditions: []string{ConditionFabricDeviceReschedule, ConditionFabricDeviceFailed},
		}
		if device.MemoryBytes > 0 {
			published.Capacity = capacities{"memory": bytes(device.MemoryBytes)}
		}
		pools = addToFabric(pools, driver, fabric.Name, published)
	}
	selector := nodeSelector(fabric.NodeLabels)
	result := make([]Pool, 0, len(pools))
	for _, pool := range pools {
		pool.nodeSelector = selector
		finished, err := p.finish(pool, &state)
		errs = append(errs, each(err)...)
		if finished != nil {
			result = append(result, *finished)
		}
	}
	return result, errors.Join(errs...)
}

// addToFabric keeps a driver's devices in one group.
func addToFabric(pools []*pool, driver, name string, device resourceapi.Device) []*pool {
	for _, pool := range pools {
		if pool.driver == driver {
			pool.groups[0].devices = append(pool.groups[0].devices, device)
			return pools
		}
	}
	return append(pools, &pool{driver: driver, name: name, groups: []group{{devices: []resourceapi.Device{device}}}})
}

// nodeSelector selects nodes with all the labels.
func nodeSelector(labels map[string]string) *corev1.NodeSelector {
	var term corev1.NodeSelectorTerm
	for _, key := range sorted(labels) {
		term.MatchExpressions = append(term.MatchExpressions, corev1.NodeSelectorRequirement{
			Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{labels[key]}})
	}
	return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}}
}
