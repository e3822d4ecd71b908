package server_test

import (
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/dray-dev/dray/e2e/localcluster"
)

// The scheduler runs as docs/scheduler.md says: deploy/scheduler/config.yaml, its own
// lease, a ServiceAccount with the roles that are named there.
func TestTheSchedulerAsItIsShippedPlacesAPodWithAClaim(t *testing.T) {
	cluster := start(t, localcluster.Options{Dir: t.TempDir(), LeaderElection: true})
	defer cluster.Stop()
	api := client(t, cluster, nil)
	makeNodeWithDevice(t, api)
	claim := &resourceapi.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "train"},
		Spec: resourceapi.ResourceClaimSpec{Devices: resourceapi.DeviceClaim{Requests: []resourceapi.DeviceRequest{
			{Name: "gpu", Exactly: &resourceapi.ExactDeviceRequest{DeviceClassName: "gpu"}}}}},
	}
	if _, err := api.ResourceV1().ResourceClaims("default").Create(t.Context(), claim, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "train"},
		Spec: corev1.PodSpec{
			Containers:                   []corev1.Container{{Name: "main", Image: "none"}},
			AutomountServiceAccountToken: ptr.To(false),
			ResourceClaims:               []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: ptr.To("train")}},
		},
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	// The controller makes it too, sooner or later.
	_, _ = api.CoreV1().ServiceAccounts("default").Create(t.Context(), account, metav1.CreateOptions{})
	if _, err := api.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if node := awaitNode(t, api, "train"); node != "node" {
		t.Errorf("the pod is on %s", node)
	}
	claim, err := api.ResourceV1().ResourceClaims("default").Get(t.Context(), "train", metav1.GetOptions{})
	if err != nil || claim.Status.Allocation == nil || len(claim.Status.ReservedFor) != 1 {
		t.Fatalf("the claim is %v, %v", claim, err)
	}
	if results := claim.Status.Allocation.Devices.Results; len(results) != 1 || results[0].Device != "gpu-0" {
		t.Errorf("the claim has %v", results)
	}
	if lease, err := api.CoordinationV1().Leases("kube-system").Get(t.Context(), "dray-scheduler", metav1.GetOptions{}); err != nil || ptr.Deref(lease.Spec.HolderIdentity, "") == "" {
		t.Errorf("nobody holds the scheduler's lease: %v", err)
	}
	log, err := os.ReadFile(cluster.Log(localcluster.Scheduler))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(log)) {
		if strings.Contains(line, "forbidden") {
			t.Errorf("a right is missing: %s", line)
		}
	}
}

// makeNodeWithDevice makes a node that no kubelet runs on, and its one GPU.
func makeNodeWithDevice(t *testing.T, api kubernetes.Interface) {
	t.Helper()
	room := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("1Gi"), corev1.ResourcePods: resource.MustParse("10")}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "node"},
		Status: corev1.NodeStatus{Capacity: room, Allocatable: room,
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}
	made, err := api.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// Admission marks new nodes as not ready. The controller that takes that back has
	// not seen a kubelet's lease here, but needs a minute to notice.
	made.Spec.Taints = nil
	if _, err := api.CoreV1().Nodes().Update(t.Context(), made, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	class := &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}
	if _, err := api.ResourceV1().DeviceClasses().Create(t.Context(), class, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	slice := &resourceapi.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: "node"},
		Spec: resourceapi.ResourceSliceSpec{
			Driver: "gpu.example.com", NodeName: ptr.To("node"),
			Pool:    resourceapi.ResourcePool{Name: "node", ResourceSliceCount: 1},
			Devices: []resourceapi.Device{{Name: "gpu-0"}},
		},
	}
	if _, err := api.ResourceV1().ResourceSlices().Create(t.Context(), slice, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// awaitNode returns the node that a pod is bound to.
func awaitNode(t *testing.T, api kubernetes.Interface, pod string) string {
	t.Helper()
	events, err := api.CoreV1().Pods("default").Watch(t.Context(), metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", pod).String(), TimeoutSeconds: ptr.To(int64(60))})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	said := ""
	for event := range events.ResultChan() {
		if pod, ok := event.Object.(*corev1.Pod); ok {
			if pod.Spec.NodeName != "" {
				return pod.Spec.NodeName
			}
			for _, condition := range pod.Status.Conditions {
				said = condition.Message
			}
		}
	}
	t.Fatalf("pod %s is not bound in a minute: %s", pod, said)
	return ""
}
