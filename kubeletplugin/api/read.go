package api

import (
	"errors"
	"fmt"
	"slices"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
)

// Configs are the configurations of one claim for one driver.
type Configs struct {
	// entries by rising precedence.
	entries []entry
}

type entry struct {
	name   string
	source resourceapi.DeviceAllocationConfiguration
	config Config
}

// Read decodes a driver's entries of an allocation's list. Errors are of type
// *Error and name the entry.
func Read(driver string, list []resourceapi.DeviceAllocationConfiguration) (Configs, error) {
	var configs Configs
	for i := range list {
		source := &list[i]
		if source.Opaque == nil || source.Opaque.Driver != driver {
			continue
		}
		from := "claim"
		if source.Source == resourceapi.AllocationConfigSourceClass {
			from = "class"
		}
		name := fmt.Sprintf("devices.config[%d], from the %s", i, from)
		config, err := Decode(source.Opaque.Parameters.Raw)
		if err != nil {
			return Configs{}, within(name, err)
		}
		configs.entries = append(configs.entries, entry{name, *source, config})
	}
	slices.SortStableFunc(configs.entries, func(a, b entry) int { return a.rank() - b.rank() })
	return configs, nil
}

func (e *entry) rank() int {
	if e.source.Source == resourceapi.AllocationConfigSourceClass {
		return 0
	}
	return 1
}

func within(entry string, err error) error {
	e := &Error{Err: err}
	errors.As(err, &e)
	return &Error{Entry: entry, Field: e.Field, Err: e.Err}
}

// For returns the configuration of type C for a device that was allocated for a
// request: "main", or "main/small" for a subrequest. It is the zero C where no
// entry applies. An entry that names that very request and is for devices of
// another type is an error.
func For[C Config](configs Configs, request string) (C, error) {
	var result C
	for i := range configs.entries {
		e := &configs.entries[i]
		applies := resourceclaim.ConfigForResult([]resourceapi.DeviceAllocationConfiguration{e.source},
			resourceapi.DeviceRequestAllocationResult{Request: request})
		if len(applies) == 0 {
			continue
		}
		if config, ok := e.config.(C); ok {
			result = config
			continue
		}
		if slices.Contains(e.source.Requests, request) {
			return result, &Error{Entry: e.name, Field: "kind", Err: fmt.Errorf(
				"it is for devices of type %s, and request %s was given one of type %s", e.config.DeviceType(), request, result.DeviceType())}
		}
	}
	return result, nil
}
