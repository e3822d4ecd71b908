package suite

import (
	"fmt"
	"strings"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// driverOn is a client with the credentials that the driver has on a node.
func (s *scene) driverOn(node string) kubernetes.Interface {
	s.Helper()
	config, err := needHandsOf(s).driverConfig(node)
	s.must(err)
	client, err := kubernetes.NewForConfig(config)
	s.must(err)
	return client
}

// report writes the status of a device of a claim, as a driver does.
func (s *scene) report(client kubernetes.Interface, claim, driver string, result resourceapi.DeviceRequestAllocationResult) error {
	patch := fmt.Sprintf(`{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"name":%q,"namespace":%q},
		"status":{"devices":[{"driver":%q,"pool":%q,"device":%q,"data":{"e2e":"yes"}}]}}`, claim, s.namespace, driver, result.Pool, result.Device)
	force := true
	_, err := client.ResourceV1().ResourceClaims(s.namespace).Patch(s.ctx, claim, types.ApplyPatchType, []byte(patch),
		metav1.PatchOptions{FieldManager: "e2e", Force: &force}, "status")
	return err
}

// refusedFor says whether the API server has refused a write, and what it speaks of.
func refusedFor(err error, what string) bool {
	return (apierrors.IsForbidden(err) || apierrors.IsInvalid(err)) && strings.Contains(err.Error(), what)
}

func TestADriverReportsItsOwnDevicesAlone(t *testing.T) {
	needHands(t)
	promise(t, "the driver of a node can write the status of its devices there, and not of another driver's, nor of another node's", func(s *scene) {
		nodes := sortedKeys(s.nodes())
		if len(nodes) < 2 {
			s.Skip("it takes two nodes")
		}
		here, elsewhere := nodes[0], nodes[1]
		class, other := s.pretend(resourceapi.Device{Name: "remote"})
		s.makeClaim("here", claimSpec(request("gpu", facts.gpuClass), request("remote", class)))
		s.makePod("here", usingClaim("here"), onNode(here))
		s.placed("here")
		s.makeClaim("elsewhere", claimSpec(request("gpu", facts.gpuClass)))
		s.makePod("elsewhere", usingClaim("elsewhere"), onNode(elsewhere))
		s.running("elsewhere")
		client := s.driverOn(here)
		if err := s.report(client, "here", facts.driver, s.results("here")[0]); err != nil {
			s.Errorf("its own device: %v", err)
		}
		// The API server says it as a field of the claim that is forbidden.
		if err := s.report(client, "here", other, s.results("here")[1]); !refusedFor(err, other) {
			s.Errorf("another driver's device: %v", err)
		}
		if err := s.report(client, "elsewhere", facts.driver, s.results("elsewhere")[0]); !refusedFor(err, "arbitrary-node:patch") {
			s.Errorf("a device of another node: %v", err)
		}
		_, err := client.ResourceV1().ResourceClaims(s.namespace).Patch(s.ctx, "here", types.MergePatchType, []byte(`{"status":{"allocation":null}}`), metav1.PatchOptions{}, "status")
		if !refusedFor(err, "allocation") {
			s.Errorf("an allocation: %v", err)
		}
	})
}

func TestADriverWritesSlicesOfItsOwnNodeAlone(t *testing.T) {
	needHands(t)
	promise(t, "the driver of a node cannot make, change or delete slices of another node, nor write into its pool: the admission policy refuses", func(s *scene) {
		nodes := sortedKeys(s.nodes())
		if len(nodes) < 2 {
			s.Skip("it takes two nodes")
		}
		here, elsewhere := nodes[0], nodes[1]
		apiSlices := s.driverOn(here).ResourceV1().ResourceSlices()
		create := func(node, pool string) error {
			_, err := apiSlices.Create(s.ctx, &resourceapi.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "made-" + s.namespace},
				Spec: resourceapi.ResourceSliceSpec{Driver: facts.driver, NodeName: &node, Pool: resourceapi.ResourcePool{Name: pool, ResourceSliceCount: 1}},
			}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			return err
		}
		// A policy that was made a moment ago may not be in force yet.
		s.eventually("it is to be refused", func() error {
			err := create(elsewhere, here)
			if !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) {
				return fmt.Errorf("a slice of another node: %v", err)
			}
			return contains(err.Error(), here)
		})
		for _, pool := range []string{here, here + ".probe"} {
			if err := create(here, pool); err != nil {
				s.Errorf("a slice of its own node in pool %s: %v", pool, err)
			}
		}
		for _, pool := range []string{elsewhere, elsewhere + ".probe", "made", here + ".other", here + ".probe.probe"} {
			if err := create(here, pool); !refusedFor(err, "may not write slices of pool '"+pool+"'") {
				s.Errorf("a slice of its own node in pool %s: %v", pool, err)
			}
		}
		list, err := cluster.client.ResourceV1().ResourceSlices().List(s.ctx, everything)
		s.must(err)
		for i := range list.Items {
			slice := &list.Items[i]
			if slice.Spec.NodeName == nil || *slice.Spec.NodeName != elsewhere {
				continue
			}
			changed := slice.DeepCopy()
			changed.Labels = map[string]string{"changed": "yes"}
			if _, err := apiSlices.Update(s.ctx, changed, metav1.UpdateOptions{}); err == nil {
				s.Error("it has changed a slice of another node")
			}
			if err := apiSlices.Delete(s.ctx, slice.Name, metav1.DeleteOptions{}); err == nil {
				s.Error("it has deleted a slice of another node")
			}
			return
		}
		s.Error("the other node has no slices")
	})
}
