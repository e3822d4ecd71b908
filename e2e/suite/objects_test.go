package suite

import (
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// request is one for a device of a class, which selectors narrow.
func request(name, class string, selectors ...string) resourceapi.DeviceRequest {
	return resourceapi.DeviceRequest{Name: name, Exactly: &resourceapi.ExactDeviceRequest{DeviceClassName: class, Selectors: cel(selectors)}}
}

// requestOf is a request for a number of devices.
func requestOf(name, class string, count int64, selectors ...string) resourceapi.DeviceRequest {
	r := request(name, class, selectors...)
	r.Exactly.Count = count
	return r
}

func cel(expressions []string) []resourceapi.DeviceSelector {
	var selectors []resourceapi.DeviceSelector
	for _, expression := range expressions {
		selectors = append(selectors, resourceapi.DeviceSelector{CEL: &resourceapi.CELDeviceSelector{Expression: expression}})
	}
	return selectors
}

func claimSpec(requests ...resourceapi.DeviceRequest) resourceapi.ResourceClaimSpec {
	return resourceapi.ResourceClaimSpec{Devices: resourceapi.DeviceClaim{Requests: requests}}
}

// makeClaim makes a ResourceClaim.
func (s *scene) makeClaim(name string, spec resourceapi.ResourceClaimSpec) *resourceapi.ResourceClaim {
	s.Helper()
	object, err := cluster.client.ResourceV1().ResourceClaims(s.namespace).Create(s.ctx,
		&resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, metav1.CreateOptions{})
	s.must(err)
	return object
}

// makeTemplate makes a ResourceClaimTemplate.
func (s *scene) makeTemplate(name string, spec resourceapi.ResourceClaimSpec) {
	s.Helper()
	_, err := cluster.client.ResourceV1().ResourceClaimTemplates(s.namespace).Create(s.ctx,
		&resourceapi.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourceapi.ResourceClaimTemplateSpec{Spec: spec}}, metav1.CreateOptions{})
	s.must(err)
}

// makeClass makes a DeviceClass that is removed after the test.
func (s *scene) makeClass(prefix string, spec resourceapi.DeviceClassSpec) string {
	s.Helper()
	classes := cluster.client.ResourceV1().DeviceClasses()
	object, err := classes.Create(s.ctx, &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: prefix + "-" + s.namespace}, Spec: spec}, metav1.CreateOptions{})
	s.must(err)
	s.Cleanup(func() { _ = classes.Delete(s.ctx, object.Name, metav1.DeleteOptions{}) })
	return object.Name
}

// option changes a pod before it is made.
type option func(*corev1.Pod)

// makePod makes a pod whose one container, main, sleeps until it is deleted.
func (s *scene) makePod(name string, options ...option) *corev1.Pod {
	s.Helper()
	grace := int64(1) // with 0 the pod would be gone before its node knows
	object := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: &grace,
			Containers:                    []corev1.Container{{Name: "main", Image: facts.image, Command: []string{"sleep", "infinity"}}},
		},
	}
	for _, change := range options {
		change(object)
	}
	object, err := cluster.client.CoreV1().Pods(s.namespace).Create(s.ctx, object, metav1.CreateOptions{})
	s.must(err)
	return object
}

// usingClaim gives all containers a claim, under its own name.
func usingClaim(claim string) option {
	return func(object *corev1.Pod) {
		object.Spec.ResourceClaims = append(object.Spec.ResourceClaims, corev1.PodResourceClaim{Name: claim, ResourceClaimName: &claim})
		forAll(object, corev1.ResourceClaim{Name: claim})
	}
}

// usingTemplate gives all containers a claim of a template, under the template's name.
func usingTemplate(template string) option {
	return func(object *corev1.Pod) {
		object.Spec.ResourceClaims = append(object.Spec.ResourceClaims, corev1.PodResourceClaim{Name: template, ResourceClaimTemplateName: &template})
		forAll(object, corev1.ResourceClaim{Name: template})
	}
}

func forAll(object *corev1.Pod, claim corev1.ResourceClaim) {
	for i := range object.Spec.Containers {
		object.Spec.Containers[i].Resources.Claims = append(object.Spec.Containers[i].Resources.Claims, claim)
	}
}

// onNode lets the scheduler take that node only.
func onNode(node string) option {
	return func(object *corev1.Pod) { object.Spec.NodeSelector = map[string]string{corev1.LabelHostname: node} }
}

// sleeping lets the container end after a time, as sleep takes it.
func sleeping(duration string) option {
	return func(object *corev1.Pod) {
		object.Spec.RestartPolicy = corev1.RestartPolicyNever
		object.Spec.Containers[0].Command = []string{"sleep", duration}
	}
}

// asking asks for an extended resource.
func asking(name string, count int64) option {
	return func(object *corev1.Pod) {
		quantity := *resource.NewQuantity(count, resource.DecimalSI)
		object.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceName(name): quantity}
		object.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceName(name): quantity}
	}
}
