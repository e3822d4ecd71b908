package inventory

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	draapi "k8s.io/dynamic-resource-allocation/api"
)

// Slice is a ResourceSlice with everything worked out that depends on nothing else.
type Slice struct {
	// API is the object; it is never modified. Where the taint tracker hands out
	// a fresh copy of the same content, the older copy stays here.
	API *resourceapi.ResourceSlice

	target target
	// perDevice are the targets of the devices, where each has its own.
	perDevice []target
	// names are the devices' names, interned as allocated state has them. A newer
	// version of the slice with the same names shares them.
	names []draapi.UniqueString
	// repeated is the first device whose name an earlier one has; 0 if there is none.
	repeated int
	// definesCounters: the slice carries counter sets.
	definesCounters bool
	// drawsCounters: some device draws from counters.
	drawsCounters bool
	// usesGroups: some device names a compatibility group.
	usesGroups bool
	// entries is the number of pointers in the latest list that are this slice; it
	// belongs to Inventory.
	entries int
	// setsPerDeviceSelection: the API field is there, true or not.
	setsPerDeviceSelection bool
}

// targetKind says how a slice or device names the nodes that reach it.
type targetKind uint8

const (
	// targetNone: none of the known ways is used; a newer API may know another.
	targetNone targetKind = iota
	targetNodeName
	targetAllNodes
	targetSelector
	// targetPerDevice: each device has a target of its own.
	targetPerDevice
)

// target is the nodes that reach a slice or a device.
type target struct {
	kind     targetKind
	nodeName string
	selector *nodeaffinity.NodeSelector
	// err says why the selector cannot be parsed.
	err error
	// source is the selector as published, for messages.
	source *corev1.NodeSelector
}

func newTarget(nodeName *string, allNodes *bool, selector *corev1.NodeSelector) target {
	switch {
	case nodeName != nil && *nodeName != "":
		return target{kind: targetNodeName, nodeName: *nodeName}
	case allNodes != nil && *allNodes:
		return target{kind: targetAllNodes}
	case selector != nil:
		parsed, err := nodeaffinity.NewNodeSelector(selector)
		return target{kind: targetSelector, selector: parsed, err: err, source: selector}
	}
	return target{}
}

// matches says whether the node is among the target.
func (t *target) matches(node *corev1.Node) (bool, error) {
	switch t.kind {
	case targetNodeName:
		return t.nodeName == node.Name, nil
	case targetAllNodes:
		return true, nil
	case targetSelector:
		if t.err != nil {
			return false, &selectorError{selector: t.source, err: t.err}
		}
		return t.selector.Match(node), nil
	}
	return false, nil
}

// compile works a slice out. before is an older version of it, or nil.
func compile(api *resourceapi.ResourceSlice, before *Slice) *Slice {
	spec := &api.Spec
	s := &Slice{
		API:                    api,
		target:                 newTarget(spec.NodeName, spec.AllNodes, spec.NodeSelector),
		definesCounters:        len(spec.SharedCounters) > 0,
		setsPerDeviceSelection: spec.PerDeviceNodeSelection != nil,
	}
	perDevice := spec.PerDeviceNodeSelection != nil && *spec.PerDeviceNodeSelection
	if s.target.kind == targetNone && perDevice {
		s.target.kind = targetPerDevice
	}
	if perDevice {
		s.perDevice = make([]target, len(spec.Devices))
	}
	s.nameDevices(before)
	for i := range spec.Devices {
		device := &spec.Devices[i]
		s.drawsCounters = s.drawsCounters || len(device.ConsumesCounters) > 0
		for _, consumption := range device.ConsumesCounters {
			if len(consumption.CompatibilityGroups) > 0 {
				s.usesGroups = true
			}
		}
		if perDevice {
			s.perDevice[i] = newTarget(device.NodeName, device.AllNodes, device.NodeSelector)
		}
	}
	return s
}

// nameDevices interns the devices' names. Most updates of a slice change no
// name, and comparing is cheaper than interning.
func (s *Slice) nameDevices(before *Slice) {
	devices := s.API.Spec.Devices
	same := 0
	if before != nil {
		for same < len(devices) && same < len(before.names) && devices[same].Name == before.API.Spec.Devices[same].Name {
			same++
		}
		if same == len(devices) && same == len(before.names) {
			s.names, s.repeated = before.names, before.repeated
			return
		}
	}
	s.names = make([]draapi.UniqueString, len(devices))
	for i := range devices {
		if i < same {
			s.names[i] = before.names[i]
		} else {
			s.names[i] = draapi.MakeUniqueString(devices[i].Name)
		}
	}
	s.repeated, _ = firstRepeated(s.names)
}

// firstRepeated returns the first place whose name an earlier place has.
func firstRepeated(names []draapi.UniqueString) (place int, found bool) {
	const few = 16
	if len(names) <= few {
		for i := range names {
			if slices.Contains(names[:i], names[i]) {
				return i, true
			}
		}
		return 0, false
	}
	seen := make(map[draapi.UniqueString]struct{}, len(names))
	for i, name := range names {
		if seen[name] = struct{}{}; len(seen) == i {
			return i, true
		}
	}
	return 0, false
}

// reaches says whether the node reaches the slice, or some device of it.
func (s *Slice) reaches(node *corev1.Node) (bool, error) {
	if s.target.kind != targetPerDevice {
		matches, err := s.target.matches(node)
		if err != nil {
			return false, s.selectionError(err)
		}
		return matches, nil
	}
	for i := range s.perDevice {
		matches, err := s.perDevice[i].matches(node)
		if err != nil {
			return false, s.deviceSelectionError(&s.API.Spec.Devices[i], err)
		}
		if matches {
			return true, nil
		}
	}
	return false, nil
}

// sameContent says whether a newer copy of the slice would compile to the same.
// The taint tracker patches taints into copies that keep UID and
// resourceVersion, so those two alone do not tell.
func (s *Slice) sameContent(api *resourceapi.ResourceSlice) bool {
	if s.API.UID != api.UID || s.API.ResourceVersion != api.ResourceVersion || s.API.Name != api.Name ||
		s.API.Spec.Driver != api.Spec.Driver || s.API.Spec.Pool != api.Spec.Pool || len(s.API.Spec.Devices) != len(api.Spec.Devices) {
		return false
	}
	for i := range api.Spec.Devices {
		a, b := s.API.Spec.Devices[i].Taints, api.Spec.Devices[i].Taints
		if len(a) != len(b) {
			return false
		}
		for j := range a {
			if a[j].Key != b[j].Key || a[j].Value != b[j].Value || a[j].Effect != b[j].Effect {
				return false
			}
		}
	}
	return true
}
