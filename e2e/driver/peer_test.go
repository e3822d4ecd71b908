package driver_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/dynamic-resource-allocation/api/metadata"

	"github.com/dray-dev/dray/e2e/hollow"
	"github.com/dray-dev/dray/e2e/hollow/shown"
	"github.com/dray-dev/dray/hwsim/fault"
	"github.com/dray-dev/dray/hwsim/scenario"
	"github.com/dray-dev/dray/hwsim/state"
)

// nodeClient is a client with the rights of the node's kubelet.
func (n *node) nodeClient() kubernetes.Interface {
	n.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", n.kubeconfig)
	if err != nil {
		n.t.Fatal(err)
	}
	config.QPS, config.Burst = 500, 500
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:node:" + n.name, Groups: []string{"system:nodes", "system:authenticated"}}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		n.t.Fatal(err)
	}
	return client
}

// peer is the kubelet's own code on a node.
type peer struct {
	*node
	running *hollow.Node
	stop    func()
}

// newPeer makes a node with a kubelet that runs.
func newPeer(t testing.TB, machineName string) *peer {
	t.Helper()
	p := &peer{node: newNode(t, machineName)}
	_, err := p.client.CoreV1().ServiceAccounts("default").Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	p.startKubelet()
	t.Cleanup(func() {
		// The pods are nobody's any more; the kubelet may be gone.
		none := int64(0)
		p.client.CoreV1().Pods("default").DeleteCollection(context.Background(), metav1.DeleteOptions{GracePeriodSeconds: &none},
			metav1.ListOptions{FieldSelector: "spec.nodeName=" + p.name})
		p.stop()
	})
	return p
}

// startKubelet starts one that goes on with what the one before has left.
func (p *peer) startKubelet() {
	p.t.Helper()
	var err error
	p.running, err = hollow.New(hollow.Options{Name: p.name, Client: p.nodeClient(), Dir: p.kubeletRoot(), CDIDir: p.path("cdi", p.name)})
	if err != nil {
		p.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func(kubelet *hollow.Node) { ended <- kubelet.Run(ctx) }(p.running)
	select {
	case <-p.running.Ready():
	case err := <-ended:
		p.t.Fatalf("the kubelet ends: %v", err)
	case <-time.After(patience):
		p.t.Fatal("the kubelet does not begin")
	}
	done := false
	p.stop = func() {
		if !done {
			done = true
			cancel()
			<-ended
		}
	}
}

func (p *peer) restartKubelet() {
	p.t.Helper()
	p.stop()
	p.startKubelet()
}

func (p *peer) registered() {
	p.t.Helper()
	p.eventually("registration with the kubelet", func() error {
		if drivers := slices.Collect(maps.Values(p.running.Drivers())); !slices.Contains(drivers, driverName) {
			return fmt.Errorf("registered are %v", drivers)
		}
		return nil
	})
}

// pod makes one with a claim for devices, on this node.
func (p *peer) pod(name string, devices ...string) *corev1.Pod {
	p.t.Helper()
	claim := p.newClaim(name, len(devices))
	pods := p.client.CoreV1().Pods("default")
	grace := int64(1)
	pod, err := pods.Create(p.t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: claim.Name, Namespace: "default"}, Spec: corev1.PodSpec{
		ResourceClaims:                []corev1.PodResourceClaim{{Name: "gpus", ResourceClaimName: &claim.Name}},
		TerminationGracePeriodSeconds: &grace,
		Containers: []corev1.Container{{Name: "main", Image: "example.com/main",
			Resources: corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "gpus"}}}}},
	}}, metav1.CreateOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	p.allocate(claim, pod.Name, pod.UID, devices...)
	if err := pods.Bind(p.t.Context(), &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: pod.Name}, Target: corev1.ObjectReference{Kind: "Node", Name: p.name}},
		metav1.CreateOptions{}); err != nil {
		p.t.Fatal(err)
	}
	return pod
}

// runs waits until a pod does, and returns what its container got.
func (p *peer) runs(pod *corev1.Pod) (given shown.Given) {
	p.t.Helper()
	p.eventually("pod "+pod.Name+" runs", func() error {
		object, err := p.client.CoreV1().Pods("default").Get(p.t.Context(), pod.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		var ok bool
		if given, ok, err = shown.Of(object.Annotations, "main"); err != nil || !ok || object.Status.Phase != corev1.PodRunning {
			return fmt.Errorf("it is %+v, %v", object.Status, err)
		}
		return nil
	})
	return given
}

// ends deletes a pod and waits until it has gone.
func (p *peer) ends(pods ...*corev1.Pod) {
	p.t.Helper()
	for _, pod := range pods {
		p.deletes(pod)
	}
	for _, pod := range pods {
		p.isGone(pod)
	}
}

func (p *peer) deletes(pod *corev1.Pod) {
	p.t.Helper()
	if err := p.client.CoreV1().Pods("default").Delete(p.t.Context(), pod.Name, metav1.DeleteOptions{}); err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) isGone(pod *corev1.Pod) {
	p.t.Helper()
	p.eventually("pod "+pod.Name+" goes", func() error {
		object, err := p.client.CoreV1().Pods("default").Get(p.t.Context(), pod.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return err
		}
		return fmt.Errorf("it is %+v", object.Status)
	})
}

// health of a pod's device, as the kubelet tells it.
func (p *peer) health(pod *corev1.Pod, want corev1.ResourceHealthStatus) {
	p.t.Helper()
	p.eventually("health "+string(want), func() error {
		object, err := p.client.CoreV1().Pods("default").Get(p.t.Context(), pod.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, status := range object.Status.ContainerStatuses {
			for _, resource := range status.AllocatedResourcesStatus {
				for _, one := range resource.Resources {
					if one.Health == want {
						return nil
					}
				}
			}
		}
		return fmt.Errorf("it is %+v", object.Status.ContainerStatuses)
	})
}

// TestTheKubeletsOwnCodeGivesAPodItsDevices, tells it of a fault, and takes them back.
func TestTheKubeletsOwnCodeGivesAPodItsDevices(t *testing.T) {
	p := newPeer(t, "two-gpus")
	driver := p.start(nil)
	p.registered()
	pod := p.pod("a", "gpu-0-mig-1g10gb-19-6", "gpu-1")
	given := p.runs(pod)
	for _, path := range []string{"/dev/nvidia0", "/dev/nvidia1", "/dev/nvidia-caps/"} {
		if !slices.ContainsFunc(given.Devices, func(device string) bool { return strings.HasPrefix(device, path) }) {
			t.Errorf("there is no %s among %v", path, given.Devices)
		}
	}
	if given.Env["NVIDIA_VISIBLE_DEVICES"] != "void" {
		t.Errorf("variables are %v", given.Env)
	}
	files := 0
	for container, file := range given.Mounts {
		if _, err := os.Stat(file); err != nil {
			t.Errorf("what is mounted as %s: %v", container, err)
		}
		if strings.HasPrefix(container, metadata.ContainerDir) {
			files++
		}
	}
	if files == 0 {
		t.Errorf("there is no metadata among %v", given.Mounts)
	}
	p.health(pod, corev1.ResourceHealthStatusHealthy)
	p.inject(fault.Fault{XID: &fault.XID{GPU: "1", Code: 119}})
	p.health(pod, corev1.ResourceHealthStatusUnhealthy)
	if err := p.folder.Update(func(tx *state.Tx) error { return tx.Step(&scenario.Step{Reset: &scenario.Reset{GPU: "1"}}) }); err != nil {
		t.Fatal(err)
	}
	p.eventually("both are healthy", func() error {
		object, err := p.client.CoreV1().Pods("default").Get(t.Context(), pod.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if text := fmt.Sprint(object.Status.ContainerStatuses); strings.Contains(text, string(corev1.ResourceHealthStatusUnhealthy)) {
			return fmt.Errorf("it is %s", text)
		}
		return nil
	})
	p.ends(pod)
	driver.stop()
	if left := p.left(); left != "" {
		t.Errorf("there is still %s", left)
	}
}

// TestEitherSideMayStartAnew while pods run, come and go.
func TestEitherSideMayStartAnew(t *testing.T) {
	t.Parallel()
	p := newPeer(t, "two-gpus")
	driver := p.start(nil)
	p.registered()
	p.published("the GPUs", hasDevice("gpu-1"))
	a := p.pod("a", "gpu-0-mig-1g10gb-19-6")
	p.runs(a)

	// A driver that is away for less than 30 s keeps its slices.
	before := p.versions()
	driver.kill()
	b := p.pod("b", "gpu-1") // nobody can prepare it now
	driver = p.start(nil)
	p.runs(b)
	if after := p.versions(); len(before) == 0 || !slices.Equal(before, after) {
		t.Errorf("slices are %v after %v", after, before)
	}

	p.restartKubelet()
	p.registered()
	p.published("the slices, whatever a kubelet does with them when it starts", hasDevice("gpu-1"))
	c := p.pod("c", "gpu-0-mig-1g10gb-19-5")
	p.runs(c)
	p.runs(a)

	// A pod goes while there is no driver, and one while there is no kubelet.
	driver.kill()
	p.deletes(b)
	driver = p.start(nil)
	p.isGone(b)
	p.stop()
	p.deletes(c)
	p.startKubelet()
	p.isGone(c)
	p.ends(a)
	driver.stop()
	if left := p.left(); left != "" {
		t.Errorf("there is still %s", left)
	}
}

// TestWhatAPodHadThatVanishedIsTakenBack: a pod that is removed by force while there is
// no kubelet is known from the kubelet's state file alone. The DRA manager looks for
// such pods at its start, when no driver has registered yet, and then once a minute.
func TestWhatAPodHadThatVanishedIsTakenBack(t *testing.T) {
	t.Parallel()
	p := newPeer(t, "two-gpus")
	driver := p.start(nil)
	p.registered()
	pod := p.pod("a", "gpu-0-mig-1g10gb-19-6", "gpu-1")
	p.runs(pod)
	p.stop()
	none := int64(0)
	if err := p.client.CoreV1().Pods("default").Delete(t.Context(), pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &none}); err != nil {
		t.Fatal(err)
	}
	if err := p.client.ResourceV1().ResourceClaims("default").Delete(t.Context(), pod.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	p.startKubelet()
	p.within(2*time.Minute, "nothing is left", func() error {
		if left := p.left(); left != "" {
			return fmt.Errorf("there is still %s", left)
		}
		return nil
	})
	driver.stop()
}

// TestPodsDoNotNoticeAnUpdate of the driver: its pods overlap, and the kubelet uses the
// newer one.
func TestPodsDoNotNoticeAnUpdate(t *testing.T) {
	p := newPeer(t, "two-gpus")
	old := p.start(nil, "--pod-uid", "pod-old")
	p.registered()
	a := p.pod("a", "gpu-0-mig-1g10gb-19-6")
	p.runs(a)
	next := p.start(nil, "--pod-uid", "pod-new")
	p.kubelet("pod-new")
	b := p.pod("b", "gpu-1")
	p.runs(b)
	old.stop()
	c := p.pod("c", "gpu-0-mig-1g10gb-19-5")
	p.runs(c)
	p.ends(a, b, c)
	p.inject(fault.Fault{XID: &fault.XID{GPU: "1", Code: 119}})
	p.published("a fault", hasTaint("gpu-1", fault.TaintXID))
	next.stop()
	if left := p.left(); left != "" {
		t.Errorf("there is still %s", left)
	}
}
