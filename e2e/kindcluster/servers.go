package kindcluster

import (
	"context"
	"fmt"
	"strings"
)

// RestartScheduler kills the scheduler's process. The kubelet starts the next one, and it
// returns when that one is ready.
func (c *Cluster) RestartScheduler(ctx context.Context) error {
	pod, err := c.schedulerPod(ctx)
	if err != nil {
		return err
	}
	killed, err := bareID(pod, schedulerName)
	if err != nil {
		return err
	}
	if err := c.killContainer(ctx, killed); err != nil {
		return err
	}
	return until(ctx, "the scheduler is to be back", func(ctx context.Context) error {
		pod, err := c.schedulerPod(ctx)
		if err != nil {
			return err
		}
		if now, err := bareID(pod, schedulerName); err != nil || now == killed {
			return fmt.Errorf("container %s is the one that was killed (%v)", now, err)
		}
		return containersReady(pod)
	})
}

// RestartAPIServer kills the API server's process. It returns when the next one is ready.
func (c *Cluster) RestartAPIServer(ctx context.Context) error {
	killed, err := c.apiServer(ctx)
	if err != nil {
		return err
	}
	if err := c.killContainer(ctx, killed); err != nil {
		return err
	}
	return until(ctx, "the API server is to be back", func(ctx context.Context) error {
		now, err := c.apiServer(ctx)
		if err != nil {
			return err
		}
		if now == killed {
			return fmt.Errorf("container %s is the one that was killed", now)
		}
		return c.client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	})
}

// apiServer is the ID of the container that runs.
func (c *Cluster) apiServer(ctx context.Context) (string, error) {
	out, err := c.on(ctx, c.controlPlane(), "crictl", "ps", "--quiet", "--state", "Running", "--name", "^kube-apiserver$")
	if err != nil {
		return "", err
	}
	ids := strings.Fields(string(out))
	if len(ids) != 1 {
		return "", fmt.Errorf("%d API servers run", len(ids))
	}
	return ids[0], nil
}

// killContainer kills the process of a container of the control plane.
func (c *Cluster) killContainer(ctx context.Context, id string) error {
	_, err := c.on(ctx, c.controlPlane(), "crictl", "stop", "--timeout", "0", id)
	return err
}
