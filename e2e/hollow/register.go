package hollow

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/component-base/version"
	"k8s.io/klog/v2"
)

// statusPeriod is how often the status is written although nothing has changed: the
// lease is what says that the node is alive.
const statusPeriod = 5 * time.Minute

// DefaultCapacity is what a node has of what its options do not say.
func DefaultCapacity() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("64"),
		corev1.ResourceMemory: resource.MustParse("256Gi"),
		corev1.ResourcePods:   resource.MustParse("110"),
	}
}

func (n *Node) labels() map[string]string {
	labels := map[string]string{
		corev1.LabelHostname:   n.options.Name,
		corev1.LabelOSStable:   "linux",
		corev1.LabelArchStable: n.options.Architecture,
	}
	maps.Copy(labels, n.options.Labels)
	return labels
}

// register makes the Node object, or takes over the one that is there, and reports
// that it is ready. It tries until it works: the API server may not be there yet, or
// not know yet what nodes may do.
func (n *Node) register(ctx context.Context) error {
	log := klog.FromContext(ctx)
	said := false
	return wait.PollUntilContextCancel(ctx, firstPause, true, func(ctx context.Context) (bool, error) {
		err := n.registerOnce(ctx)
		if err != nil && !said {
			log.Info("The node cannot be registered yet", "reason", err)
			said = true
		}
		return err == nil, nil
	})
}

func (n *Node) registerOnce(ctx context.Context) error {
	nodes := n.options.Client.CoreV1().Nodes()
	object := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.options.Name, Labels: n.labels()}}
	if _, err := nodes.Create(ctx, object, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	} else if err != nil {
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": n.labels()}})
		if err != nil {
			return err
		}
		if _, err := nodes.Patch(ctx, n.options.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	return n.writeStatus(ctx)
}

// writeStatus reports what the node has and that it is ready.
func (n *Node) writeStatus(ctx context.Context) error {
	capacity := DefaultCapacity()
	maps.Copy(capacity, n.options.Capacity)
	now := metav1.NewTime(n.options.Clock.Now())
	current, err := n.options.Client.CoreV1().Nodes().Get(ctx, n.options.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	var conditions []corev1.NodeCondition
	for _, c := range []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", Message: "a hollow node, which runs no containers"},
		{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientMemory", Message: "there are no processes"},
		{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasNoDiskPressure", Message: "there are no images"},
		{Type: corev1.NodePIDPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientPID", Message: "there are no processes"},
	} {
		c.LastHeartbeatTime, c.LastTransitionTime = now, now
		for _, old := range current.Status.Conditions {
			if old.Type == c.Type && old.Status == c.Status {
				c.LastTransitionTime = old.LastTransitionTime
			}
		}
		conditions = append(conditions, c)
	}
	addresses := []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: n.options.Name}}
	if n.options.Address != "" {
		addresses = append(addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: n.options.Address})
	}
	kubernetes := "v" + version.DefaultKubeBinaryVersion + ".0"
	patch, err := json.Marshal(map[string]any{"status": corev1.NodeStatus{
		Capacity: capacity, Allocatable: capacity, Conditions: conditions,
		Addresses: addresses, DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: n.options.Port}},
		NodeInfo: corev1.NodeSystemInfo{OperatingSystem: "linux", Architecture: n.options.Architecture, KubeletVersion: kubernetes,
			ContainerRuntimeVersion: "hollow://1", OSImage: "hollow", KernelVersion: "hollow", MachineID: n.options.Name, SystemUUID: n.options.Name, BootID: n.options.Name},
	}})
	if err != nil {
		return err
	}
	_, err = n.options.Client.CoreV1().Nodes().Patch(ctx, n.options.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}

// keepStatus reports the node's status from time to time.
func (n *Node) keepStatus(ctx context.Context) {
	ticker := n.options.Clock.NewTicker(statusPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
			if err := n.writeStatus(ctx); err != nil && ctx.Err() == nil {
				klog.FromContext(ctx).Error(err, "The status of the node cannot be written")
			}
		}
	}
}

// ownLease makes the node the owner of its lease, so that they are deleted together.
func (n *Node) ownLease(lease *coordinationv1.Lease) error {
	if len(lease.OwnerReferences) > 0 {
		return nil
	}
	node, err := n.self.Get(n.options.Name)
	if err != nil {
		return fmt.Errorf("node %s: %w", n.options.Name, err)
	}
	lease.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}}
	return nil
}
