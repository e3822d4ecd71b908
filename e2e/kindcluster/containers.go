package kindcluster

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// inspected is what the container runtime says of a container.
type inspected struct {
	Info struct {
		PID    int `json:"pid"`
		Config struct {
			CDIDevices []struct {
				Name string `json:"name"`
			} `json:"CDI_devices"`
		} `json:"config"`
	} `json:"info"`
}

func (c *Cluster) inspect(ctx context.Context, pod *corev1.Pod, container string) (*inspected, error) {
	id, err := bareID(pod, container)
	if err != nil {
		return nil, err
	}
	content, err := c.on(ctx, pod.Spec.NodeName, "crictl", "inspect", "--output", "json", id)
	if err != nil {
		return nil, err
	}
	var answer inspected
	if err := json.Unmarshal(content, &answer); err != nil {
		return nil, fmt.Errorf("crictl inspect %s: %w", id, err)
	}
	return &answer, nil
}

// CDIDevices are the CDI devices that the kubelet asked the runtime for, for a container,
// in its order.
func (c *Cluster) CDIDevices(ctx context.Context, pod *corev1.Pod, container string) ([]string, error) {
	answer, err := c.inspect(ctx, pod, container)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, device := range answer.Info.Config.CDIDevices {
		ids = append(ids, device.Name)
	}
	return ids, nil
}
