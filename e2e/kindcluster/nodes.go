package kindcluster

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// StopNode cuts a node's power: its container is stopped without time to end anything. The
// control plane's node has to stay.
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
	began := time.Now()
	if err := c.kill(ctx, node, "kubelet", "curl", "--silent", "--fail", "http://127.0.0.1:10248/healthz"); err != nil {
		return err
	}
	if err := c.reported(ctx, node, began); err != nil {
		return err
	}
	return c.offer(ctx)
}

// kill kills the main process of a service of a node, which systemd starts again, and
// returns when another one is there and the command that asks it succeeds.
func (c *Cluster) kill(ctx context.Context, node, service string, asks ...string) error {
	process := func(ctx context.Context) (string, error) {
		number, err := c.on(ctx, node, "systemctl", "show", "--property", "MainPID", "--value", service)
		return strings.TrimSpace(string(number)), err
	}
	before, err := process(ctx)
	if err != nil {
		return err
	}
	if _, err := c.on(ctx, node, "systemctl", "kill", "--signal", "KILL", "--kill-whom", "main", service); err != nil {
		return err
	}
	return until(ctx, service+" is to be back", func(ctx context.Context) error {
		now, err := process(ctx)
		if err != nil {
			return err
		}
		if now == before || now == "0" {
			return fmt.Errorf("its process is %s, and that was killed, or is none", now)
		}
		_, err = c.on(ctx, node, asks...)
		return err
	})
}

// reported waits until the kubelet has renewed the node's lease and told the node's state
// after a time, and the node is ready. Lease and nodes are in one kernel, and have one
// clock.
func (c *Cluster) reported(ctx context.Context, node string, after time.Time) error {
	return until(ctx, "node "+node+" is to be back", func(ctx context.Context) error {
		lease, err := c.client.CoordinationV1().Leases("kube-node-lease").Get(ctx, node, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if renewed := lease.Spec.RenewTime; renewed == nil || renewed.Before(&metav1.MicroTime{Time: after}) {
			return fmt.Errorf("its lease was renewed at %v", renewed)
		}
		return c.ready(ctx, node, after)
	})
}

// RestartRuntime kills a node's container runtime, and returns when it is back; containers
// run on meanwhile.
func (c *Cluster) RestartRuntime(ctx context.Context, node string) error {
	return c.kill(ctx, node, "containerd", "crictl", "info")
}
