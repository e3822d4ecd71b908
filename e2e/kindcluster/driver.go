package kindcluster

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// awayLabel is one that no node has: a DaemonSet that wants it has no pods.
const awayLabel = "dray.dev/away"

func (c *Cluster) driverSets(ctx context.Context) ([]appsv1.DaemonSet, error) {
	list, err := c.client.AppsV1().DaemonSets(namespace).List(ctx, metav1.ListOptions{LabelSelector: driverLabel})
	if err != nil {
		return nil, err
	}
	if len(list.Items) != len(machines) {
		return nil, fmt.Errorf("there are %d DaemonSets of the driver, and there should be %d", len(list.Items), len(machines))
	}
	return list.Items, nil
}

func (c *Cluster) driverPods(ctx context.Context) ([]corev1.Pod, error) {
	list, err := c.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: driverLabel})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// patchDrivers changes the template of the driver's pods.
func (c *Cluster) patchDrivers(ctx context.Context, template string) error {
	sets, err := c.driverSets(ctx)
	if err != nil {
		return err
	}
	patch := []byte(`{"spec":{"template":` + template + `}}`)
	for _, set := range sets {
		if _, err := c.client.AppsV1().DaemonSets(namespace).Patch(ctx, set.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// driversReady waits until each node has one driver, of the newest template.
func (c *Cluster) driversReady(ctx context.Context) error {
	return until(ctx, "the driver is to be ready on all nodes", func(ctx context.Context) error {
		sets, err := c.driverSets(ctx)
		if err != nil {
			return err
		}
		ready := 0
		for _, set := range sets {
			status := set.Status
			if status.ObservedGeneration != set.Generation || status.UpdatedNumberScheduled != status.DesiredNumberScheduled ||
				status.NumberAvailable != status.DesiredNumberScheduled {
				return fmt.Errorf("DaemonSet %s: %+v", set.Name, status)
			}
			ready += int(status.NumberAvailable)
		}
		pods, err := c.driverPods(ctx)
		if err != nil {
			return err
		}
		if ready != len(c.nodes) || len(pods) != len(c.nodes) {
			return fmt.Errorf("%d nodes have %d drivers, of which %d are ready", len(c.nodes), len(pods), ready)
		}
		return nil
	})
}

// KillDriver kills the driver on all nodes, and keeps it away. Its processes are stopped
// first: otherwise they would be asked to end when their pods are deleted, or be started
// again before that.
func (c *Cluster) KillDriver(ctx context.Context) error {
	pods, err := c.driverPods(ctx)
	if err != nil {
		return err
	}
	processes := map[string][]string{}
	for i := range pods {
		process, err := c.process(ctx, &pods[i])
		if err != nil {
			return err
		}
		node := pods[i].Spec.NodeName
		processes[node] = append(processes[node], process)
		if _, err := c.on(ctx, node, "kill", "-STOP", process); err != nil {
			return err
		}
	}
	if err := c.patchDrivers(ctx, `{"spec":{"nodeSelector":{"`+awayLabel+`":"yes"}}}`); err != nil {
		return err
	}
	err = until(ctx, "the driver's pods are to be deleted", func(ctx context.Context) error {
		left, err := c.driverPods(ctx)
		if err != nil {
			return err
		}
		for i := range left {
			if left[i].DeletionTimestamp == nil {
				return fmt.Errorf("pod %s is not", left[i].Name)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, node := range c.nodes {
		if len(processes[node]) == 0 {
			continue
		}
		if _, err := c.on(ctx, node, append([]string{"kill", "-KILL"}, processes[node]...)...); err != nil {
			return err
		}
	}
	return until(ctx, "the driver's pods are to be gone", func(ctx context.Context) error {
		left, err := c.driverPods(ctx)
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("%d are there", len(left))
		}
		return err
	})
}

// process of the one container of a pod, as its node numbers processes.
func (c *Cluster) process(ctx context.Context, pod *corev1.Pod) (string, error) {
	inspected, err := c.inspect(ctx, pod, pod.Spec.Containers[0].Name)
	if err != nil {
		return "", err
	}
	return strconv.Itoa(inspected.Info.PID), nil
}

// StartDriver brings back the driver that was killed.
func (c *Cluster) StartDriver(ctx context.Context) error {
	if err := c.patchDrivers(ctx, `{"spec":{"nodeSelector":{"`+awayLabel+`":null}}}`); err != nil {
		return err
	}
	return c.driversReady(ctx)
}

// UpdateDriver replaces the driver as a new image would, and returns when all nodes have
// the new one alone.
func (c *Cluster) UpdateDriver(ctx context.Context) error {
	c.updates++
	if err := c.patchDrivers(ctx, fmt.Sprintf(`{"metadata":{"annotations":{"dray.dev/update":"%d"}}}`, c.updates)); err != nil {
		return err
	}
	return c.driversReady(ctx)
}

// bareID is the ID of a container of a pod without the name of the runtime.
func bareID(pod *corev1.Pod, container string) (string, error) {
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
		for _, status := range statuses {
			if _, id, ok := strings.Cut(status.ContainerID, "://"); ok && status.Name == container {
				return id, nil
			}
		}
	}
	return "", fmt.Errorf("container %s of pod %s has no ID yet", container, pod.Name)
}
