package plugin

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
)

// extendedRequests translates the requests of the pod's containers for the given
// resources into device requests, and says which container uses which. wanted has
// the device class of each resource.
//
// Containers that run together, sidecars among them, need devices of their own.
// An init container runs alone with the sidecars before it, so it uses the devices
// of those that start with it or after it, in their order; what it needs beyond
// them is one further request that all init containers share, as large as the
// largest need.
//
// A request is named container-<c>-request-<r>: c counts init containers and then
// containers, r the container's resources by name.
func extendedRequests(pod *corev1.Pod, wanted map[corev1.ResourceName]string) ([]resourceapi.DeviceRequest, []corev1.ContainerExtendedResourceRequest) {
	containers := slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers)
	var requests []resourceapi.DeviceRequest
	var mappings []corev1.ContainerExtendedResourceRequest
	for _, resource := range slices.Sorted(maps.Keys(wanted)) {
		w := extendedWriter{containers: containers, inits: len(pod.Spec.InitContainers), resource: resource, class: wanted[resource]}
		w.lasting()
		w.passing()
		requests = append(requests, w.requests...)
		mappings = append(mappings, w.mappings...)
	}
	slices.SortFunc(requests, func(a, b resourceapi.DeviceRequest) int { return cmp.Compare(a.Name, b.Name) })
	return requests, mappings
}

// extendedWriter writes the requests for one resource.
type extendedWriter struct {
	containers []corev1.Container
	inits      int // that many of containers, at the front, are init containers
	resource   corev1.ResourceName
	class      string

	owners   []int // the container of each of requests
	requests []resourceapi.DeviceRequest
	mappings []corev1.ContainerExtendedResourceRequest
}

// lasting writes requests for containers that run as long as the pod.
func (w *extendedWriter) lasting() {
	for i := range w.containers {
		if w.passes(i) {
			continue
		}
		if count := w.count(i); count > 0 {
			w.owners = append(w.owners, i)
			w.requests = append(w.requests, w.request(w.name(i), count))
			w.use(i, w.name(i))
		}
	}
}

// passing writes the one request for init containers that end before the pod's
// containers start, if devices of lasting ones are not enough.
func (w *extendedWriter) passing() {
	var extra int64
	var shared string
	var sharers []int
	kept := w.requests
	for i := range w.containers {
		needed := w.count(i)
		if !w.passes(i) || needed == 0 {
			continue
		}
		for k := range kept {
			if w.owners[k] >= i && needed > 0 {
				w.use(i, kept[k].Name)
				needed -= kept[k].Exactly.Count
			}
		}
		if needed <= 0 {
			continue
		}
		// The place of the mapping to the shared request, whose name is not known
		// before the largest need is.
		w.use(i, "")
		sharers = append(sharers, len(w.mappings)-1)
		if needed > extra {
			extra, shared = needed, w.name(i)
		}
	}
	if extra == 0 {
		return
	}
	for _, m := range sharers {
		w.mappings[m].RequestName = shared
	}
	w.requests = append(w.requests, w.request(shared, extra))
}

// passes says whether container i ends before the pod's containers start.
func (w *extendedWriter) passes(i int) bool {
	policy := w.containers[i].RestartPolicy
	return i < w.inits && (policy == nil || *policy != corev1.ContainerRestartPolicyAlways)
}

// count is how many devices container i requests.
func (w *extendedWriter) count(i int) int64 {
	quantity := w.containers[i].Resources.Requests[w.resource]
	count, ok := quantity.AsInt64()
	if !ok {
		return 0
	}
	return count
}

func (w *extendedWriter) name(i int) string {
	resources := slices.Sorted(maps.Keys(w.containers[i].Resources.Requests))
	return fmt.Sprintf("container-%d-request-%d", i, slices.Index(resources, w.resource))
}

func (w *extendedWriter) request(name string, count int64) resourceapi.DeviceRequest {
	return resourceapi.DeviceRequest{
		Name: name,
		Exactly: &resourceapi.ExactDeviceRequest{
			DeviceClassName: w.class,
			AllocationMode:  resourceapi.DeviceAllocationModeExactCount,
			Count:           count,
		},
	}
}

// use says that container i uses the named request.
func (w *extendedWriter) use(i int, request string) {
	w.mappings = append(w.mappings, corev1.ContainerExtendedResourceRequest{
		ContainerName: w.containers[i].Name,
		ResourceName:  string(w.resource),
		RequestName:   request,
	})
}
