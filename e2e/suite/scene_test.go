package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/e2e-framework/klient/wait"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/dray-dev/dray/e2e/hollow/shown"
)

// patience is how long something may take that takes a second on an idle machine. On a
// cluster with containers it is longer.
var patience = time.Minute

// look is how often is looked whether something has come true.
const look = 100 * time.Millisecond

type namespaceKey struct{}

func namespaceOf(ctx context.Context) string {
	name, _ := ctx.Value(namespaceKey{}).(string)
	return name
}

// makeNamespace gives each test a namespace of its own.
func makeNamespace(ctx context.Context, _ *envconf.Config, t *testing.T) (context.Context, error) {
	object, err := cluster.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "promise-"}}, metav1.CreateOptions{})
	if err != nil {
		return ctx, err
	}
	return context.WithValue(ctx, namespaceKey{}, object.Name), nil
}

// removeNamespace removes it when its pods and claims are gone: the next test finds all
// devices free.
func removeNamespace(ctx context.Context, _ *envconf.Config, t *testing.T) (context.Context, error) {
	name := namespaceOf(ctx)
	pods, claims := cluster.client.CoreV1().Pods(name), cluster.client.ResourceV1().ResourceClaims(name)
	if err := pods.DeleteCollection(ctx, metav1.DeleteOptions{}, everything); err != nil {
		return ctx, err
	}
	if err := claims.DeleteCollection(ctx, metav1.DeleteOptions{}, everything); err != nil {
		return ctx, err
	}
	left := ""
	err := wait.For(func(ctx context.Context) (bool, error) {
		somePods, err := pods.List(ctx, everything)
		if err != nil {
			return false, err
		}
		someClaims, err := claims.List(ctx, everything)
		if err != nil {
			return false, err
		}
		left = fmt.Sprintf("%d pods and %d claims", len(somePods.Items), len(someClaims.Items))
		return len(somePods.Items)+len(someClaims.Items) == 0, nil
	}, wait.WithTimeout(patience), wait.WithInterval(look), wait.WithImmediate(), wait.WithContext(ctx))
	if err != nil {
		t.Errorf("%s are left in namespace %s: %v", left, name, err)
	}
	return ctx, cluster.client.CoreV1().Namespaces().Delete(ctx, name, metav1.DeleteOptions{})
}

// scene is a promise that is being tried, in a namespace of its own.
type scene struct {
	testing.TB
	ctx       context.Context
	namespace string
}

// promise tries one: says is the sentence that a user may rely on.
func promise(t *testing.T, says string, try func(s *scene)) {
	t.Helper()
	environment.Test(t, features.New(says).Assess("holds", func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		try(&scene{TB: t, ctx: ctx, namespace: namespaceOf(ctx)})
		return ctx
	}).Feature())
}

// must fails the test if there is an error.
func (s *scene) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// eventually asks until there is no error, or the time is over.
func (s *scene) eventually(what string, ask func() error) { s.Helper(); s.within(patience, what, ask) }

func (s *scene) within(limit time.Duration, what string, ask func() error) {
	s.Helper()
	last := errors.New("it was not asked")
	err := wait.For(func(context.Context) (bool, error) {
		last = ask()
		return last == nil, nil
	}, wait.WithTimeout(limit), wait.WithInterval(look), wait.WithImmediate(), wait.WithContext(s.ctx))
	if err != nil {
		s.Fatalf("%s: %v", what, last)
	}
}

// nodes are those on which the driver has published devices, by name, with the devices
// of their pools. It waits until no pool is being written.
func (s *scene) nodes() map[string][]resourceapi.Device {
	s.Helper()
	var nodes map[string][]resourceapi.Device
	s.eventually("pools are to be complete", func() error {
		var err error
		nodes, err = publishedNodes(s.ctx)
		return err
	})
	return nodes
}

func publishedNodes(ctx context.Context) (map[string][]resourceapi.Device, error) {
	list, err := cluster.client.ResourceV1().ResourceSlices().List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector(resourceapi.ResourceSliceSelectorDriver, facts.driver).String()})
	if err != nil {
		return nil, err
	}
	newest := map[string]int64{}
	for _, slice := range list.Items {
		newest[slice.Spec.Pool.Name] = max(newest[slice.Spec.Pool.Name], slice.Spec.Pool.Generation)
	}
	nodes := map[string][]resourceapi.Device{}
	missing := map[string]int64{}
	for _, slice := range list.Items {
		pool := slice.Spec.Pool
		if slice.Spec.NodeName == nil || pool.Generation != newest[pool.Name] {
			continue
		}
		if _, ok := missing[pool.Name]; !ok {
			missing[pool.Name] = pool.ResourceSliceCount
		}
		missing[pool.Name]--
		nodes[*slice.Spec.NodeName] = append(nodes[*slice.Spec.NodeName], slice.Spec.Devices...)
	}
	for _, pool := range sortedKeys(missing) {
		if missing[pool] != 0 {
			return nil, fmt.Errorf("%d slices of pool %s are missing", missing[pool], pool)
		}
	}
	for _, devices := range nodes {
		slices.SortFunc(devices, func(a, b resourceapi.Device) int { return cmp.Compare(a.Name, b.Name) })
	}
	return nodes, nil
}

// attribute of a device, of the driver's own domain or with its domain; nil without.
func attribute(device *resourceapi.Device, name string) *string {
	value, ok := device.Attributes[resourceapi.QualifiedName(name)]
	if !ok {
		value, ok = device.Attributes[resourceapi.QualifiedName(facts.driver+"/"+name)]
	}
	if !ok {
		return nil
	}
	return value.StringValue
}

func ofType(devices []resourceapi.Device, kind string) []resourceapi.Device {
	var of []resourceapi.Device
	for i := range devices {
		if is := attribute(&devices[i], "type"); is != nil && *is == kind {
			of = append(of, devices[i])
		}
	}
	return of
}

// gpuNode is a node without partitions, the first by name; migNode is one with.
func (s *scene) gpuNode() (string, []resourceapi.Device) { s.Helper(); return s.nodeWith(false) }

func (s *scene) migNode() (string, []resourceapi.Device) { s.Helper(); return s.nodeWith(true) }

// nodeWith waits for the node where the suite has made the cluster and knows that there is
// one, whose driver may be about to publish.
func (s *scene) nodeWith(partitions bool) (string, []resourceapi.Device) {
	s.Helper()
	var node string
	var devices []resourceapi.Device
	find := func() error {
		nodes := s.nodes()
		for _, name := range sortedKeys(nodes) {
			has := len(ofType(nodes[name], "mig")) > 0
			if has == partitions && len(ofType(nodes[name], "gpu")) > 0 {
				node, devices = name, nodes[name]
				return nil
			}
		}
		return fmt.Errorf("there is no node with GPUs and partitions=%t", partitions)
	}
	if cluster.hands != nil {
		s.eventually("a node is to publish its GPUs", find)
	} else if err := find(); err != nil {
		s.Skip(err)
	}
	return node, devices
}

func sortedKeys[V any](of map[string]V) []string {
	var keys []string
	for key := range of {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// pod is the newest of a name.
func (s *scene) pod(name string) *corev1.Pod {
	s.Helper()
	object, err := cluster.client.CoreV1().Pods(s.namespace).Get(s.ctx, name, metav1.GetOptions{})
	s.must(err)
	return object
}

// running waits until a pod runs.
func (s *scene) running(name string) *corev1.Pod {
	s.Helper()
	return s.inPhase(name, corev1.PodRunning)
}

func (s *scene) inPhase(name string, phase corev1.PodPhase) *corev1.Pod {
	s.Helper()
	var object *corev1.Pod
	s.eventually("pod "+name+" is to be "+string(phase), func() error {
		var err error
		object, err = cluster.client.CoreV1().Pods(s.namespace).Get(s.ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if object.Status.Phase != phase {
			return fmt.Errorf("it is %s: %s", object.Status.Phase, s.lastEvents(name))
		}
		return nil
	})
	return object
}

// lastEvents are what a user would see of a pod.
func (s *scene) lastEvents(pod string) string {
	list, err := cluster.client.CoreV1().Events(s.namespace).List(s.ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("involvedObject.name", pod).String()})
	if err != nil {
		return err.Error()
	}
	var lines []string
	for _, event := range list.Items {
		lines = append(lines, event.Reason+": "+event.Message)
	}
	return strings.Join(lines, "; ")
}

// refused waits until the scheduler says why a pod cannot run, and returns it.
func (s *scene) refused(name string) string {
	s.Helper()
	why := ""
	s.eventually("pod "+name+" is to be refused", func() error {
		for _, condition := range s.pod(name).Status.Conditions {
			if condition.Type == corev1.PodScheduled && condition.Reason == corev1.PodReasonUnschedulable {
				why = condition.Message
				return nil
			}
		}
		return errors.New("the scheduler has said nothing")
	})
	return why
}

// remove deletes a pod and waits until it is gone.
func (s *scene) remove(name string) {
	s.Helper()
	s.must(cluster.client.CoreV1().Pods(s.namespace).Delete(s.ctx, name, metav1.DeleteOptions{}))
	s.eventually("pod "+name+" is to be gone", func() error {
		_, err := cluster.client.CoreV1().Pods(s.namespace).Get(s.ctx, name, metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %v; %s", err, s.lastEvents(name))
		}
		return nil
	})
}

// claimOf is the name of the claim that a pod has under a name of its own.
func claimOf(object *corev1.Pod, name string) string {
	for _, claim := range object.Spec.ResourceClaims {
		if claim.Name == name && claim.ResourceClaimName != nil {
			return *claim.ResourceClaimName
		}
	}
	for _, status := range object.Status.ResourceClaimStatuses {
		if status.Name == name && status.ResourceClaimName != nil {
			return *status.ResourceClaimName
		}
	}
	return ""
}

func (s *scene) claim(name string) *resourceapi.ResourceClaim {
	s.Helper()
	object, err := cluster.client.ResourceV1().ResourceClaims(s.namespace).Get(s.ctx, name, metav1.GetOptions{})
	s.must(err)
	return object
}

// results are the devices that were allocated to a claim.
func (s *scene) results(claim string) []resourceapi.DeviceRequestAllocationResult {
	s.Helper()
	object := s.claim(claim)
	if object.Status.Allocation == nil {
		s.Fatalf("claim %s is not allocated", claim)
	}
	return object.Status.Allocation.Devices.Results
}

// devices of a claim, as pool/device, sorted.
func (s *scene) devices(claim string) []string {
	s.Helper()
	var names []string
	for _, result := range s.results(claim) {
		names = append(names, result.Pool+"/"+result.Device)
	}
	slices.Sort(names)
	return names
}

// given is what a container has got.
func (s *scene) given(object *corev1.Pod, container string) shown.Given {
	s.Helper()
	var given shown.Given
	var err error
	if cluster.hands != nil {
		given, err = cluster.hands.given(s.ctx, object, container)
	} else {
		given, err = shownOf(object, container)
		if errors.Is(err, errNotShown) {
			s.Skipf("%v: its containers are real, and nobody here can look into them", err)
		}
	}
	s.must(err)
	return given
}

var errNotShown = errors.New("the pod does not show what the container got")

// shownOf is what the pod itself shows of it, on a hollow node.
func shownOf(object *corev1.Pod, container string) (shown.Given, error) {
	given, ok, err := shown.Of(object.Annotations, container)
	if err == nil && !ok {
		err = fmt.Errorf("pod %s, container %s: %w", object.Name, container, errNotShown)
	}
	return given, err
}

// gpuNodes counts the device nodes of GPUs that a container got.
func gpuNodes(given shown.Given) []string {
	var nodes []string
	for _, path := range given.Devices {
		number := strings.TrimPrefix(path, "/dev/nvidia")
		if number != path && strings.Trim(number, "0123456789") == "" {
			nodes = append(nodes, path)
		}
	}
	return nodes
}
