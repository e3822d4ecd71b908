package inventory

import (
	"strings"
	"sync"
	"unique"

	resourceapi "k8s.io/api/resource/v1"
)

// ValueType is the type of an attribute value; values of different types are
// never equal.
type ValueType uint8

const (
	StringValue ValueType = iota + 1
	IntValue
	BoolValue
	VersionValue
)

// Value is one value of an attribute. Versions compare as text: semver requires
// the shortest form, so equal versions have equal text.
type Value struct {
	Type   ValueType
	Text   string
	Number int64
}

// ValueHandle is an interned Value: two are equal where the values are.
type ValueHandle = unique.Handle[Value]

// Attribute is a device's attribute as constraints see it.
type Attribute struct {
	// Present: the device has the attribute. The other fields say nothing otherwise.
	Present bool
	// Comparable: the attribute has a value that constraints can compare.
	Comparable bool
	// Values has one entry for a scalar, several for a list.
	Values []ValueHandle
}

// ReadAttribute converts an attribute, with its values in the given memory, which
// may be nil. With lists off a list cannot be
// compared; with lists on a scalar is a list of one. attribute may be nil.
func ReadAttribute(memory []ValueHandle, attribute *resourceapi.DeviceAttribute, lists bool) Attribute {
	a := Attribute{Values: memory[:0]}
	if attribute == nil {
		return a
	}
	a.Present = true
	if lists {
		a.Values = appendList(a.Values, attribute)
	}
	if len(a.Values) == 0 {
		if value, ok := scalarValue(attribute); ok {
			a.Values = append(a.Values, unique.Make(value))
		}
	}
	a.Comparable = len(a.Values) > 0
	return a
}

func scalarValue(a *resourceapi.DeviceAttribute) (Value, bool) {
	switch {
	case a.StringValue != nil:
		return Value{Type: StringValue, Text: *a.StringValue}, true
	case a.IntValue != nil:
		return Value{Type: IntValue, Number: *a.IntValue}, true
	case a.BoolValue != nil:
		return boolean(*a.BoolValue), true
	case a.VersionValue != nil:
		return Value{Type: VersionValue, Text: *a.VersionValue}, true
	}
	return Value{}, false
}

func boolean(b bool) Value {
	if b {
		return Value{Type: BoolValue, Number: 1}
	}
	return Value{Type: BoolValue}
}

func appendList(values []ValueHandle, a *resourceapi.DeviceAttribute) []ValueHandle {
	switch {
	case len(a.IntValues) > 0:
		for _, v := range a.IntValues {
			values = append(values, unique.Make(Value{Type: IntValue, Number: v}))
		}
	case len(a.BoolValues) > 0:
		for _, v := range a.BoolValues {
			values = append(values, unique.Make(boolean(v)))
		}
	case len(a.StringValues) > 0:
		for _, v := range a.StringValues {
			values = append(values, unique.Make(Value{Type: StringValue, Text: v}))
		}
	case len(a.VersionValues) > 0:
		for _, v := range a.VersionValues {
			values = append(values, unique.Make(Value{Type: VersionValue, Text: v}))
		}
	}
	return values
}

// columns remembers the attributes that constraints have asked for.
type columns struct {
	mu    sync.Mutex
	byKey map[columnKey][]Attribute
}

type columnKey struct {
	name  resourceapi.FullyQualifiedName
	lists bool
}

// maxColumns bounds what one pool remembers; clusters use a handful of names.
const maxColumns = 64

// Attributes returns an attribute of all devices, by number. The result is
// shared and read-only.
func (p *Pool) Attributes(name resourceapi.FullyQualifiedName, lists bool) []Attribute {
	key := columnKey{name, lists}
	p.columns.mu.Lock()
	defer p.columns.mu.Unlock()
	if column, ok := p.columns.byKey[key]; ok {
		return column
	}
	column := make([]Attribute, p.Devices)
	for i := range column {
		column[i] = ReadAttribute(nil, findAttribute(p.At(i), p.Driver, name), lists)
	}
	if p.columns.byKey == nil || len(p.columns.byKey) >= maxColumns {
		p.columns.byKey = make(map[columnKey][]Attribute)
	}
	p.columns.byKey[key] = column
	return column
}

// findAttribute looks an attribute up by its full name. A driver may leave its
// own domain off the names that it publishes (API: DeviceAttribute).
func findAttribute(device *resourceapi.Device, driver string, name resourceapi.FullyQualifiedName) *resourceapi.DeviceAttribute {
	if attribute, ok := device.Attributes[resourceapi.QualifiedName(name)]; ok {
		return &attribute
	}
	domain, id, qualified := strings.Cut(string(name), "/")
	if !qualified || domain != driver {
		return nil
	}
	if attribute, ok := device.Attributes[resourceapi.QualifiedName(id)]; ok {
		return &attribute
	}
	return nil
}
