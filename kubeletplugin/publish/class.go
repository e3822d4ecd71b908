package publish

import (
	"fmt"
	"slices"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DeviceClasses returns the classes for the devices that the options publish, by
// name. Classes of whole devices have the name of their driver, others one in its
// domain, as NVIDIA's do: gpu.nvidia.com and mig.nvidia.com, gpu.dray.dev and
// mig.dray.dev. Extended resource names are those of the options; one for a class
// that there is not is an error.
func DeviceClasses(options Options) ([]resourceapi.DeviceClass, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	expressions := classExpressions(&options)
	var classes []resourceapi.DeviceClass
	for _, name := range sorted(expressions) {
		class := resourceapi.DeviceClass{
			TypeMeta:   metav1.TypeMeta{APIVersion: resourceapi.SchemeGroupVersion.String(), Kind: "DeviceClass"},
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: resourceapi.DeviceClassSpec{Selectors: []resourceapi.DeviceSelector{
				{CEL: &resourceapi.CELDeviceSelector{Expression: expressions[name]}}}},
		}
		if resource, ok := options.ExtendedResources[name]; ok {
			class.Spec.ExtendedResourceName = &resource
		}
		classes = append(classes, class)
	}
	for _, name := range sorted(options.ExtendedResources) {
		if _, ok := expressions[name]; !ok {
			return nil, fmt.Errorf("options: extendedResources[%s]: there is no such class; there are %s", name, strings.Join(sorted(expressions), ", "))
		}
	}
	return classes, nil
}

func classExpressions(o *Options) map[string]string {
	d := o.Drivers
	classes := map[string]string{}
	whole := map[string][]string{} // types of whole devices by driver
	add := func(kind, driver string, types ...string) {
		classes[kind+"."+domainOf(driver)] = ofType(driver, types)
	}
	whole[d.GPU] = append(whole[d.GPU], "gpu")
	whole[d.AMDGPU] = append(whole[d.AMDGPU], "amdgpu")
	if d.AMDGPU != d.GPU { // AMD's own class has all devices of its driver
		whole[d.AMDGPU] = append(whole[d.AMDGPU], "amdgpu-partition")
	}
	whole[d.FPGA] = append(whole[d.FPGA], "card", "fpga")
	for driver, types := range whole {
		classes[driver] = ofType(driver, types)
	}
	add("mig", d.GPU, "mig")
	if o.VGPU {
		add("vgpu", d.GPU, "vgpu")
	}
	add("gpu-partition", d.AMDGPU, "amdgpu-partition")
	classes[d.NIC] = fmt.Sprintf("device.driver == '%s'", d.NIC)
	add("fpga-region", d.FPGA, "region")
	if len(o.Bitstreams) > 0 {
		add("fpga-bitstream", d.FPGA, "bitstream")
	}
	add("compute-domain-daemon", d.ComputeDomain, "daemon")
	classes["compute-domain-default-channel."+domainOf(d.ComputeDomain)] =
		ofType(d.ComputeDomain, []string{"channel"}) + fmt.Sprintf(" && device.attributes['%s'].id == 0", d.ComputeDomain)
	return classes
}

// ofType selects a driver's devices of some types. Every device of the driver is
// asked for its type, and has one.
func ofType(driver string, types []string) string {
	types = slices.Compact(slices.Sorted(slices.Values(types)))
	condition := fmt.Sprintf("device.attributes['%s'].type", driver)
	if len(types) == 1 {
		condition += fmt.Sprintf(" == '%s'", types[0])
	} else {
		condition += " in ['" + strings.Join(types, "', '") + "']"
	}
	return fmt.Sprintf("device.driver == '%s' && %s", driver, condition)
}

// domainOf is a driver's name without its first part.
func domainOf(driver string) string {
	if _, domain, ok := strings.Cut(driver, "."); ok {
		return domain
	}
	return driver
}
