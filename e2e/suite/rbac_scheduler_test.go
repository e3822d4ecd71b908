package suite

import (
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

func TestTheSchedulerMayDoWhatItNeedsAndNoMore(t *testing.T) {
	h := needHands(t)
	promise(t, "the scheduler's account has the rights that docs/scheduler.md names, and no other", func(s *scene) {
		config, err := h.schedulerConfig()
		s.must(err)
		client, err := kubernetes.NewForConfig(config)
		s.must(err)
		for _, right := range []struct {
			verb, group, resource, sub string
			has                        bool
		}{
			{"list", "resource.k8s.io", "resourceslices", "", true},
			{"watch", "resource.k8s.io", "deviceclasses", "", true},
			{"list", "resource.k8s.io", "devicetaintrules", "", true},
			{"update", "resource.k8s.io", "resourceclaims", "status", true},
			{"patch", "resource.k8s.io", "resourceclaims", "binding", true},
			{"create", "", "pods", "binding", true},
			{"create", "resource.k8s.io", "resourceslices", "", false},
			{"delete", "resource.k8s.io", "resourceslices", "", false},
			{"update", "resource.k8s.io", "deviceclasses", "", false},
			{"create", "resource.k8s.io", "devicetaintrules", "", false},
			{"associated-node:update", "resource.k8s.io", "resourceclaims", "driver", false},
			{"arbitrary-node:update", "resource.k8s.io", "resourceclaims", "driver", false},
			{"create", "", "pods", "", false},
			{"update", "", "nodes", "", false},
			{"delete", "", "nodes", "", false},
			{"get", "", "secrets", "", false},
			{"create", "", "serviceaccounts", "token", false},
			{"*", "*", "*", "", false},
		} {
			answer, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(s.ctx, &authorizationv1.SelfSubjectAccessReview{
				Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
					Namespace: s.namespace, Verb: right.verb, Group: right.group, Resource: right.resource, Subresource: right.sub}},
			}, metav1.CreateOptions{})
			s.must(err)
			if answer.Status.Allowed != right.has {
				s.Errorf("%s of %s/%s/%s: allowed is %t", right.verb, right.group, right.resource, right.sub, answer.Status.Allowed)
			}
		}
		// What is said is what is done.
		_, err = client.CoreV1().Pods(s.namespace).Create(s.ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "no"}}, metav1.CreateOptions{})
		if !apierrors.IsForbidden(err) {
			s.Errorf("it makes a pod: %v", err)
		}
	})
}
