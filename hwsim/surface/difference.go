package surface

import (
	"fmt"
	"reflect"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// difference finds the first place where two nodes differ, as "nic
// 0000:18:00.0: MTU", and what they have there. An empty list equals none. The
// place is empty for equal nodes.
func difference(a, b *hardware.Node) (place, inA, inB string) {
	return differ("", reflect.ValueOf(a), reflect.ValueOf(b))
}

func differ(place string, a, b reflect.Value) (string, string, string) {
	switch a.Kind() {
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			if a.IsNil() != b.IsNil() {
				return named(place), show(a), show(b)
			}
			return "", "", ""
		}
		return differ(place, a.Elem(), b.Elem())
	case reflect.Struct:
		if function, ok := a.Interface().(hardware.PCIAddress); ok {
			if function != b.Interface() {
				return named(place), show(a), show(b)
			}
			return "", "", ""
		}
		for i := range a.NumField() {
			field := a.Type().Field(i)
			inner := place
			if !field.Anonymous {
				inner = join(place, field.Name)
			}
			if p, x, y := differ(inner, a.Field(i), b.Field(i)); p != "" {
				return p, x, y
			}
		}
	case reflect.Slice:
		for i := range min(a.Len(), b.Len()) {
			if p, x, y := differ(element(place, i, a.Index(i)), a.Index(i), b.Index(i)); p != "" {
				return p, x, y
			}
		}
		if a.Len() != b.Len() {
			return named(place), fmt.Sprintf("a list of %d", a.Len()), fmt.Sprintf("one of %d", b.Len())
		}
	default:
		if !a.Equal(b) {
			return named(place), show(a), show(b)
		}
	}
	return "", "", ""
}

// element names an element of a list: a device by its kind and address.
func element(place string, i int, value reflect.Value) string {
	switch device := value.Interface().(type) {
	case hardware.GPU:
		return "gpu " + device.Address.String()
	case hardware.AMDGPU:
		return "amd gpu " + device.Address.String()
	case hardware.NIC:
		return "nic " + device.Address.String()
	case hardware.FPGA:
		return "fpga " + device.Address.String()
	case hardware.NUMANode:
		return fmt.Sprintf("numa node %d", device.ID)
	}
	return fmt.Sprintf("%s[%d]", place, i)
}

// join appends a field, after a colon if what is before it is a device.
func join(place, field string) string {
	switch {
	case place == "":
		return field
	case place[len(place)-1] == ']' || place[0] >= 'A' && place[0] <= 'Z':
		return place + "." + field
	}
	for _, c := range place {
		if c >= 'A' && c <= 'Z' {
			return place + "." + field // a field of the device is in it already
		}
	}
	return place + ": " + field
}

// named is the place, which is not empty even for the node as a whole.
func named(place string) string {
	if place == "" {
		return "node"
	}
	return place
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
