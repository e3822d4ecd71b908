package kindcluster

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/e2e-framework/klient/decoder"
	"sigs.k8s.io/e2e-framework/klient/k8s"
	"sigs.k8s.io/e2e-framework/klient/k8s/resources"
)

const (
	namespace     = "kube-system" // of all that deploy/ has
	schedulerName = "dray-scheduler"
	driverAccount = "dray-kubeletplugin"
	driverLabel   = "app.kubernetes.io/name=dray-kubeletplugin-sim"
	// machineLabel and the machine that simulated.yaml is for.
	machineLabel, machineOfManifest = "dray.dev/machine", "dgx-h100"
)

// install applies what deploy/ has.
func (c *Cluster) install(ctx context.Context) error {
	r, err := resources.New(c.config)
	if err != nil {
		return err
	}
	for _, file := range []string{"scheduler/rbac", "kubeletplugin/rbac", "kubeletplugin/policy", "kubeletplugin/classes"} {
		if err := c.apply(ctx, file, decoder.CreateHandler(r)); err != nil {
			return err
		}
	}
	if err := c.installScheduler(ctx, r); err != nil {
		return err
	}
	for _, machine := range machines {
		if err := c.apply(ctx, "kubeletplugin/simulated", func(ctx context.Context, object k8s.Object) error {
			if set, ok := object.(*appsv1.DaemonSet); ok {
				forMachine(set, machine)
			}
			return r.Create(ctx, object)
		}); err != nil {
			return err
		}
	}
	if err := c.driversReady(ctx); err != nil {
		return err
	}
	if err := c.published(ctx); err != nil {
		return err
	}
	return c.offer(ctx)
}

// published waits until the driver of each node has published devices.
func (c *Cluster) published(ctx context.Context) error {
	return until(ctx, "devices of all nodes are to be published", func(ctx context.Context) error {
		list, err := c.client.ResourceV1().ResourceSlices().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		devices := map[string]int{}
		for i := range list.Items {
			if node := list.Items[i].Spec.NodeName; node != nil {
				devices[*node] += len(list.Items[i].Spec.Devices)
			}
		}
		for _, node := range c.nodes {
			if devices[node] == 0 {
				return fmt.Errorf("node %s has none", node)
			}
		}
		return nil
	})
}

// machines are those of the nodes, by the labels in deploy/kind/cluster.yaml.
var machines = []string{"l40s", machineOfManifest}

func (c *Cluster) apply(ctx context.Context, file string, handle decoder.HandlerFunc) error {
	path := filepath.Join(c.options.Root, "deploy", file+".yaml")
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := decoder.DecodeEach(ctx, bytes.NewReader(content), handle); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// forMachine makes of the driver's DaemonSet the copy for another machine, as its manifest
// says: another name, and the machine's wherever there is dgx-h100.
func forMachine(set *appsv1.DaemonSet, machine string) {
	if machine == machineOfManifest {
		return
	}
	set.Name += "-" + machine
	set.Spec.Selector.MatchLabels[machineLabel] = machine
	set.Spec.Template.Labels[machineLabel] = machine
	pod := &set.Spec.Template.Spec
	pod.NodeSelector[machineLabel] = machine
	for i, arg := range pod.Containers[0].Args {
		pod.Containers[0].Args[i] = strings.ReplaceAll(arg, machineOfManifest, machine)
	}
}

// installScheduler puts Dray's scheduler in the place of Kubernetes'. That one gives the
// Deployment's pod its node, which it keeps, and is ended before the pod can listen on its
// port. There are no claims yet, so it does not matter that there are two for a moment.
func (c *Cluster) installScheduler(ctx context.Context, r *resources.Resources) error {
	config, err := os.ReadFile(filepath.Join(c.options.Root, "deploy/scheduler/config.yaml"))
	if err != nil {
		return err
	}
	_, err = c.client.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: schedulerName}, Data: map[string]string{"config.yaml": string(config)}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if err := c.apply(ctx, "scheduler/deployment", decoder.CreateHandler(r)); err != nil {
		return err
	}
	if err := until(ctx, "the scheduler's pod is to have a node", func(ctx context.Context) error {
		pod, err := c.schedulerPod(ctx)
		if err == nil && pod.Spec.NodeName == "" {
			err = fmt.Errorf("pod %s has none", pod.Name)
		}
		return err
	}); err != nil {
		return err
	}
	if _, err := c.on(ctx, c.controlPlane(), "mv", "/etc/kubernetes/manifests/kube-scheduler.yaml", "/etc/kubernetes/"); err != nil {
		return err
	}
	return until(ctx, "the scheduler is to be ready", func(ctx context.Context) error {
		pod, err := c.schedulerPod(ctx)
		if err != nil {
			return err
		}
		return containersReady(pod)
	})
}

func (c *Cluster) schedulerPod(ctx context.Context) (*corev1.Pod, error) {
	list, err := c.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=" + schedulerName})
	if err != nil {
		return nil, err
	}
	if len(list.Items) != 1 {
		return nil, fmt.Errorf("there are %d pods of the scheduler", len(list.Items))
	}
	return &list.Items[0], nil
}

func containersReady(pod *corev1.Pod) error {
	for _, status := range pod.Status.ContainerStatuses {
		if status.Ready {
			continue
		}
		return fmt.Errorf("container %s of pod %s is not ready: %+v, before %+v", status.Name, pod.Name, status.State, status.LastTerminationState)
	}
	if len(pod.Status.ContainerStatuses) == 0 {
		return fmt.Errorf("pod %s has not started", pod.Name)
	}
	return nil
}

// offer gives every node two of the extended resource, as Kubernetes' documentation does it
// by hand. A kubelet that starts takes them away.
func (c *Cluster) offer(ctx context.Context) error {
	if c.options.Offer == "" {
		return nil
	}
	patch := fmt.Appendf(nil, `{"status":{"capacity":{%q:"2"},"allocatable":{%q:"2"}}}`, c.options.Offer, c.options.Offer)
	for _, node := range c.nodes {
		if _, err := c.client.CoreV1().Nodes().Patch(ctx, node, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
			return err
		}
	}
	return nil
}
