package kindcluster

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// StopNode cuts a node's power: its container is killed. The control plane's node has to
// stay.
func (c *Cluster) StopNode(ctx context.Context, node string) error {
	if node == c.controlPlane() {
		return fmt.Errorf("node %s has the control plane", node)
	}
	_, err := c.engine(ctx, "stop", "--time", "0", node)
	return err
}

// StartNode starts a node that was stopped, and returns when it is ready.
func (c *Cluster) StartNode(ctx context.Context, node string) error {
	began := time.Now()
	if _, err := c.engine(ctx, "start", node); err != nil {
		return err
	}
	if err := c.reported(ctx, node, began); err != nil {
		return err
	}
	// Its routes are gone, and those of others to it may have changed.
	if err := c.connectPods(ctx); err != nil {
		return err
	}
	return c.offer(ctx)
}

// RestartKubelet kills a node's kubelet. systemd starts it again, and this returns when it
// has reported to the API server.
func (c *Cluster) RestartKubelet(ctx context.Context, node string) error {
	before, err := c.on(ctx, node, "systemctl", "show", "--property", "MainPID", "kubelet")
	if err != nil {
		return err
	}
	began := time.Now()
	if _, err := c.on(ctx, node, "systemctl", "kill", "--signal", "KILL", "kubelet"); err != nil {
		return err
	}
	err = until(ctx, "the kubelet is to be back", func(ctx context.Context) error {
		now, err := c.on(ctx, node, "systemctl", "show", "--property", "MainPID", "kubelet")
		if err == nil && string(now) == string(before) {
			err = fmt.Errorf("it is the one that was killed: %s", now)
		}
		if err != nil {
			return err
		}
		_, err = c.on(ctx, node, "curl", "--silent", "--fail", "http://127.0.0.1:10248/healthz")
		return err
	})
	if err != nil {
		return err
	}
	if err := c.reported(ctx, node, began); err != nil {
		return err
	}
	return c.offer(ctx)
}

// reported waits until the kubelet has renewed the node's lease after a time, and the node
// is ready. Lease and nodes are in one kernel, and have one clock.
func (c *Cluster) reported(ctx context.Context, node string, after time.Time) error {
	return until(ctx, "node "+node+" is to be back", func(ctx context.Context) error {
		lease, err := c.client.CoordinationV1().Leases("kube-node-lease").Get(ctx, node, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if renewed := lease.Spec.RenewTime; renewed == nil || renewed.Before(&metav1.MicroTime{Time: after}) {
			return fmt.Errorf("its lease was renewed at %v", renewed)
		}
		return c.ready(ctx, node)
	})
}

// RestartRuntime restarts a node's container runtime; containers run on meanwhile.
func (c *Cluster) RestartRuntime(ctx context.Context, node string) error {
	if _, err := c.on(ctx, node, "systemctl", "kill", "--signal", "KILL", "--kill-whom", "main", "containerd"); err != nil {
		return err
	}
	return until(ctx, "the container runtime is to be back", func(ctx context.Context) error {
		if _, err := c.on(ctx, node, "systemctl", "is-active", "containerd"); err != nil {
			return err
		}
		_, err := c.on(ctx, node, "crictl", "info")
		return err
	})
}
