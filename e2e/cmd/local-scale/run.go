package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/dray-dev/dray/e2e/localcluster"
	"github.com/dray-dev/dray/hwsim/fleet"
	"github.com/dray-dev/dray/hwsim/machine"
	"github.com/dray-dev/dray/kubeletplugin/publish"
)

const defaultLimit = 5 * time.Minute

// options of a run.
type options struct {
	binary, machine, mig string
	nodes, pods          int
	limit                time.Duration
}

func (o *options) run(ctx context.Context, out io.Writer) error {
	dir, err := os.MkdirTemp("", "dls") // short, because of sockets
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	m, err := machine.Load(o.machine)
	if err != nil {
		return err
	}
	binary, err := filepath.Abs(o.binary)
	if err != nil {
		return err
	}
	say := func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) }
	start := time.Now()
	cluster, err := localcluster.Start(ctx, localcluster.Options{Dir: filepath.Join(dir, "c"), Binary: binary, Say: say,
		Fleet: fleet.Spec{Machines: []fleet.Count{{Machine: m, Count: o.nodes}}, Seed: 1}, Driver: &localcluster.DriverOptions{MIG: o.mig}})
	if err != nil {
		return err
	}
	defer cluster.Stop()
	up := time.Since(start)
	say("%d nodes of %s are up after %.1f s", o.nodes, o.machine, up.Seconds())
	config, err := cluster.Config()
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	began := time.Now()
	times, err := o.runPods(ctx, client, say)
	if err != nil {
		return err
	}
	devices, err := o.devices(ctx, cluster)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%-24s %s\n", "role", "peak memory")
	for _, of := range localcluster.Roles() {
		peak, err := cluster.PeakMemory(of)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%-24s %d MiB\n", of, peak>>20)
	}
	say("\nlocal scale: %d nodes, %d devices, up after %.1f s, first pod scheduled %.1f s after the start; %d pods with claims: first scheduled after %.1f s, all scheduled after %.1f s, all running after %.1f s",
		o.nodes, devices, up.Seconds(), times.first.Sub(start).Seconds(), o.pods, times.first.Sub(began).Seconds(), times.scheduled.Sub(began).Seconds(), times.running.Sub(began).Seconds())
	return nil
}

// moments at which something was seen of the pods.
type moments struct{ first, scheduled, running time.Time }

func (o *options) runPods(ctx context.Context, client kubernetes.Interface, say func(string, ...any)) (*moments, error) {
	ctx, cancel := context.WithTimeout(ctx, o.limit)
	defer cancel()
	const namespace, template = "default", "gpu"
	_, err := client.ResourceV1().ResourceClaimTemplates(namespace).Create(ctx, &resourceapi.ResourceClaimTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: template},
		Spec: resourceapi.ResourceClaimTemplateSpec{Spec: resourceapi.ResourceClaimSpec{Devices: resourceapi.DeviceClaim{Requests: []resourceapi.DeviceRequest{
			{Name: "gpu", Exactly: &resourceapi.ExactDeviceRequest{DeviceClassName: publish.DrayDrivers().GPU}}}}}},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	pods := client.CoreV1().Pods(namespace)
	watch, err := pods.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	defer watch.Stop()
	create := func(i int) error {
		name := template
		_, err := pods.Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pod-%d", i)}, Spec: corev1.PodSpec{
			ResourceClaims: []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: &name}},
			Containers: []corev1.Container{{Name: "main", Image: "none", Command: []string{"sleep", "infinity"},
				Resources: corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "gpu"}}}}},
		}}, metav1.CreateOptions{})
		return err
	}
	var failed error
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() {
		for i := range o.pods {
			if err := create(i); err != nil {
				failed = err
				cancel()
				return
			}
		}
	})
	seen := &moments{}
	scheduled, running := map[string]bool{}, map[string]bool{}
	for event := range watch.ResultChan() {
		object, ok := event.Object.(*corev1.Pod)
		if !ok {
			return nil, fmt.Errorf("watching pods: %v", event.Object)
		}
		if object.Spec.NodeName != "" && !scheduled[object.Name] {
			scheduled[object.Name] = true
			seen.scheduled = time.Now()
			if seen.first.IsZero() {
				seen.first = seen.scheduled
			}
		}
		if object.Status.Phase == corev1.PodRunning && !running[object.Name] {
			running[object.Name] = true
			seen.running = time.Now()
			if len(running)%50 == 0 {
				say("%d pods run", len(running))
			}
		}
		if len(running) == o.pods {
			return seen, nil
		}
	}
	if failed != nil {
		return nil, failed
	}
	return nil, fmt.Errorf("after %s %d of %d pods are scheduled and %d run", o.limit, len(scheduled), o.pods, len(running))
}

// devices counts those that are published.
func (o *options) devices(ctx context.Context, cluster *localcluster.Cluster) (int, error) {
	nodes, err := cluster.Nodes(ctx)
	count := 0
	for _, node := range nodes {
		count += node.Devices
	}
	return count, err
}
