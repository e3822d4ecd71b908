package suite

import (
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// notAllocated returns nil when a claim has no devices.
func (s *scene) notAllocated(claim string) error {
	object, err := cluster.client.ResourceV1().ResourceClaims(s.namespace).Get(s.ctx, claim, metav1.GetOptions{})
	if err == nil && object.Status.Allocation != nil {
		err = errors.New("it is allocated")
	}
	return err
}

func TestAClaimThatIsDeletedStaysAsLongAsItsPod(t *testing.T) {
	promise(t, "a claim that is deleted under a pod keeps its device until the pod is gone, and then goes", func(s *scene) {
		s.makeClaim("gpu", claimSpec(request("gpu", facts.gpuClass)))
		s.makePod("train", usingClaim("gpu"))
		s.running("train")
		claims := cluster.client.ResourceV1().ResourceClaims(s.namespace)
		s.must(claims.Delete(s.ctx, "gpu", metav1.DeleteOptions{}))
		object := s.claim("gpu")
		if object.DeletionTimestamp == nil || object.Status.Allocation == nil {
			s.Errorf("the claim is %+v", object.Status)
		}
		s.inPhase("train", "Running")
		s.remove("train")
		s.eventually("the claim is to go", func() error {
			if _, err := claims.Get(s.ctx, "gpu", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				return fmt.Errorf("it is there: %v", err)
			}
			return nil
		})
	})
}

func TestAPodThatIsDoneGivesBackItsDevices(t *testing.T) {
	promise(t, "the devices of a pod that has ended are free although the pod is still there", func(s *scene) {
		s.makeTemplate("gpu", claimSpec(request("gpu", facts.gpuClass)))
		s.makePod("short", usingTemplate("gpu"), sleeping("1"))
		done := s.inPhase("short", "Succeeded")
		s.eventually("the claim is to go", func() error {
			_, err := cluster.client.ResourceV1().ResourceClaims(s.namespace).Get(s.ctx, claimOf(done, "gpu"), metav1.GetOptions{})
			if !apierrors.IsNotFound(err) {
				return fmt.Errorf("it is there: %v", err)
			}
			return nil
		})
	})
}
