package kindcluster

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// network is the configuration of a node's pod network: a pair of interfaces for each pod
// (ptp), with addresses of the node's own range. No daemon and no image is needed.
func network(podCIDR string) (string, error) {
	list := map[string]any{
		"cniVersion": "1.0.0",
		"name":       "pods",
		"plugins": []any{
			map[string]any{
				"type":   "ptp",
				"ipMasq": true,
				"ipam": map[string]any{
					"type":   "host-local",
					"ranges": [][]map[string]string{{{"subnet": podCIDR}}},
					"routes": []map[string]string{{"dst": "0.0.0.0/0"}},
				},
			},
			map[string]any{"type": "portmap", "capabilities": map[string]bool{"portMappings": true}},
		},
	}
	content, err := json.MarshalIndent(list, "", "  ")
	return string(content), err
}

// connectPods gives each node its pod network, and routes to those of the others. What is
// there already is replaced: a node that comes back can have another range and address.
func (c *Cluster) connectPods(ctx context.Context) error {
	ranges, addresses := map[string]string{}, map[string]string{}
	err := until(ctx, "nodes are to have ranges of addresses for pods", func(ctx context.Context) error {
		for _, name := range c.nodes {
			node, err := c.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			for _, address := range node.Status.Addresses {
				if address.Type == corev1.NodeInternalIP {
					addresses[name] = address.Address
				}
			}
			if ranges[name] = node.Spec.PodCIDR; node.Spec.PodCIDR == "" || addresses[name] == "" {
				return fmt.Errorf("node %s has range %q and address %q", name, node.Spec.PodCIDR, addresses[name])
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, node := range c.nodes {
		for _, other := range c.nodes {
			if other == node {
				continue
			}
			if _, err := c.on(ctx, node, "ip", "route", "replace", ranges[other], "via", addresses[other]); err != nil {
				return err
			}
		}
		content, err := network(ranges[node])
		if err != nil {
			return err
		}
		if err := c.write(ctx, node, "/etc/cni/net.d/10-pods.conflist", content); err != nil {
			return err
		}
	}
	return until(ctx, "nodes are to be ready", func(ctx context.Context) error {
		for _, name := range c.nodes {
			if err := c.ready(ctx, name, time.Time{}); err != nil {
				return err
			}
		}
		return nil
	})
}

// ready returns nil if the node is, as its kubelet has said after a time.
func (c *Cluster) ready(ctx context.Context, name string, after time.Time) error {
	node, err := c.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue &&
			!condition.LastHeartbeatTime.Time.Before(after.Truncate(time.Second)) { // heartbeats have whole seconds
			return nil
		}
	}
	return fmt.Errorf("node %s has not said that it is ready: %+v", name, node.Status.Conditions)
}
