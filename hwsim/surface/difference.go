package surface

import (
	"fmt"
	"reflect"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// place is where in a node something is: a device or NUMA node, if it is in one,
// and the field.
type place struct{ device, field string }

func (p place) String() string {
	switch {
	case p.device == "":
		return p.field
	case p.field == "":
		return p.device
	}
	return p.device + ": " + p.field
}

// in is the place of a field of what is at p.
func (p place) in(field string) place {
	if p.field != "" {
		field = p.field + "." + field
	}
	return place{p.device, field}
}

// element is the place of an element of the list at p.
func (p place) element(i int, value reflect.Value) place {
	switch device := value.Interface().(type) {
	case hardware.GPU:
		return place{device: "gpu " + device.Address.String()}
	case hardware.AMDGPU:
		return place{device: "amd gpu " + device.Address.String()}
	case hardware.NIC:
		return place{device: "nic " + device.Address.String()}
	case hardware.FPGA:
		return place{device: "fpga " + device.Address.String()}
	case hardware.NUMANode:
		return place{device: fmt.Sprintf("numa node %d", device.ID)}
	}
	return place{p.device, fmt.Sprintf("%s[%d]", p.field, i)}
}

// difference finds the first place where two nodes differ, and what they have
// there. An empty list equals none. The place is nil for equal nodes.
func difference(a, b *hardware.Node) (at *place, inA, inB string) {
	return differ(place{}, reflect.ValueOf(a), reflect.ValueOf(b))
}

func differ(at place, a, b reflect.Value) (*place, string, string) {
	switch a.Kind() {
	case reflect.Pointer:
		if !a.IsNil() && !b.IsNil() {
			return differ(at, a.Elem(), b.Elem())
		}
		if a.IsNil() != b.IsNil() {
			return &at, show(a), show(b)
		}
	case reflect.Struct:
		if _, ok := a.Interface().(hardware.PCIAddress); ok {
			if !a.Equal(b) {
				return &at, show(a), show(b)
			}
			return nil, "", ""
		}
		for i := range a.NumField() {
			inner := at
			if field := a.Type().Field(i); !field.Anonymous {
				inner = at.in(field.Name)
			}
			if found, x, y := differ(inner, a.Field(i), b.Field(i)); found != nil {
				return found, x, y
			}
		}
	case reflect.Slice:
		for i := range min(a.Len(), b.Len()) {
			if found, x, y := differ(at.element(i, a.Index(i)), a.Index(i), b.Index(i)); found != nil {
				return found, x, y
			}
		}
		if a.Len() != b.Len() {
			return &at, fmt.Sprintf("a list of %d", a.Len()), fmt.Sprintf("one of %d", b.Len())
		}
	default:
		if !a.Equal(b) {
			return &at, show(a), show(b)
		}
	}
	return nil, "", ""
}

// show prints a value, a pointer by what it points to.
func show(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return "nothing"
		}
		v = v.Elem()
	}
	if v.Kind() == reflect.String {
		return fmt.Sprintf("%q", v)
	}
	return fmt.Sprintf("%+v", v)
}
