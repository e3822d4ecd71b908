package suite

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// pretend publishes a pool of a driver that no node has, for all nodes, and a class of
// its devices. Pods that get some are bound and wait for the driver.
func (s *scene) pretend(devices ...resourceapi.Device) (class, driver string) {
	s.Helper()
	driver = s.namespace + ".e2e.dray.dev"
	yes := true
	apiSlices := cluster.client.ResourceV1().ResourceSlices()
	slice, err := apiSlices.Create(s.ctx, &resourceapi.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: driver},
		Spec: resourceapi.ResourceSliceSpec{Driver: driver, AllNodes: &yes, Devices: devices,
			Pool: resourceapi.ResourcePool{Name: "network", ResourceSliceCount: 1}},
	}, metav1.CreateOptions{})
	s.must(err)
	s.Cleanup(func() { _ = apiSlices.Delete(s.ctx, slice.Name, metav1.DeleteOptions{}) })
	return s.makeClass("pretended", resourceapi.DeviceClassSpec{Selectors: cel([]string{`device.driver == "` + driver + `"`})}), driver
}

// placed waits until the scheduler has found a node for a pod.
func (s *scene) placed(name string) *corev1.Pod {
	s.Helper()
	s.eventually("pod "+name+" is to be placed", func() error {
		if s.pod(name).Spec.NodeName == "" {
			return contains("", "a node: "+s.lastEvents(name))
		}
		return nil
	})
	return s.pod(name)
}

func TestADeviceIsSharedUntilItsCapacityIsUsedUp(t *testing.T) {
	promise(t, "claims share a device that allows it, each with the capacity that it asks for, and what does not fit waits", func(s *scene) {
		yes := true
		class, _ := s.pretend(resourceapi.Device{Name: "port", AllowMultipleAllocations: &yes,
			Capacity: map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"bandwidth": {Value: resource.MustParse("10G")}}})
		ask := func(amount string) resourceapi.ResourceClaimSpec {
			spec := claimSpec(request("port", class))
			spec.Devices.Requests[0].Exactly.Capacity = &resourceapi.CapacityRequirements{
				Requests: map[resourceapi.QualifiedName]resource.Quantity{"bandwidth": resource.MustParse(amount)}}
			return spec
		}
		shares := map[string]bool{}
		for _, name := range []string{"a", "b"} {
			s.makeClaim(name, ask("4G"))
			s.makePod(name, usingClaim(name))
			s.placed(name)
			result := s.results(name)[0]
			got := result.ConsumedCapacity["bandwidth"]
			if result.ShareID == nil || got.Cmp(resource.MustParse("4G")) != 0 {
				s.Errorf("claim %s has %+v", name, result)
				continue
			}
			shares[string(*result.ShareID)] = true
		}
		if len(shares) != 2 {
			s.Errorf("the shares are %v", shares)
		}
		s.makeClaim("c", ask("4G"))
		s.makePod("c", usingClaim("c"))
		s.must(contains(s.refused("c"), "claim c, request port"))
		s.makeClaim("d", ask("2G"))
		s.makePod("d", usingClaim("d"))
		s.placed("d")
	})
}
