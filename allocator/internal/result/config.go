package result

import (
	"slices"

	resourceapi "k8s.io/api/resource/v1"
)

// config collects the configuration that drivers get: that of the classes in
// the order in which requests first use them, then that of the claim. Later
// entries win over earlier ones, so a claim overrides its classes.
func (w *writer) config() []resourceapi.DeviceAllocationConfiguration {
	configs := w.classConfig()
	for _, config := range w.claim.API.Spec.Devices.Config {
		if w.applies(config.Requests) {
			configs = append(configs, resourceapi.DeviceAllocationConfiguration{
				Source:              resourceapi.AllocationConfigSourceClaim,
				Requests:            config.Requests,
				DeviceConfiguration: config.DeviceConfiguration,
			})
		}
	}
	for i := range configs {
		if w.coversAll(configs[i].Requests) {
			configs[i].Requests = nil // No names means all requests.
		}
	}
	return configs
}

// classConfig has each class once, with the names of all requests that use it.
func (w *writer) classConfig() []resourceapi.DeviceAllocationConfiguration {
	var configs []resourceapi.DeviceAllocationConfiguration
	type span struct{ start, end int }
	var ofClass map[string]span
	for i := range w.claim.Requests {
		alternative := w.alternative(i)
		if len(alternative.Class.Spec.Config) == 0 {
			continue // Most classes have none.
		}
		name := alternative.FullName()
		if s, found := ofClass[alternative.Class.Name]; found {
			for j := s.start; j < s.end; j++ {
				configs[j].Requests = append(configs[j].Requests, name)
			}
			continue
		}
		start := len(configs)
		for _, config := range alternative.Class.Spec.Config {
			configs = append(configs, resourceapi.DeviceAllocationConfiguration{
				Source:              resourceapi.AllocationConfigSourceClass,
				Requests:            []string{name},
				DeviceConfiguration: config.DeviceConfiguration,
			})
		}
		if ofClass == nil {
			ofClass = make(map[string]span)
		}
		ofClass[alternative.Class.Name] = span{start, len(configs)}
	}
	return configs
}

// applies says whether the claim's configuration is for a request, or for an
// alternative that was taken; without names it is for all.
func (w *writer) applies(names []string) bool {
	if len(names) == 0 {
		return true
	}
	for i := range w.claim.Requests {
		if w.named(i, names) {
			return true
		}
	}
	return false
}

// coversAll says whether names has every request. An empty list stays as it is.
func (w *writer) coversAll(names []string) bool {
	if len(names) == 0 {
		return false
	}
	for i := range w.claim.Requests {
		if !w.named(i, names) {
			return false
		}
	}
	return true
}

// named says whether names has a request, by its own name or by that of the
// subrequest taken for it.
func (w *writer) named(requestNumber int, names []string) bool {
	request := &w.claim.Requests[requestNumber]
	return slices.Contains(names, request.API.Name) ||
		request.Prioritized && slices.Contains(names, w.alternative(requestNumber).FullName())
}
