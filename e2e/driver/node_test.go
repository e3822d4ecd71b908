package driver_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/dray-dev/dray/e2e/localcluster"
	"github.com/dray-dev/dray/hwsim/machine"
	"github.com/dray-dev/dray/hwsim/state"
	"github.com/dray-dev/dray/kubeletplugin/checkpoint"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

const driverName = "gpu.dray.dev"

// patience is how long something may take. Most happens at once on an idle machine; slices
// that a kubelet wipes at its start are written again after half a minute, which is how
// long upstream's controller trusts what it has written itself.
const patience = 2 * time.Minute

// pollTime is the first pause between two looks.
const pollTime = 20 * time.Millisecond

// pauses are those between looks: short for what happens at once, longer for what takes
// its time, so that those who wait take no time from those who work.
var pauses = wait.Backoff{Duration: pollTime, Factor: 1.3, Steps: 20, Cap: 250 * time.Millisecond}

// node is a simulated machine, a Node object, and the folders of a kubelet.
type node struct {
	t          testing.TB
	name       string
	dir        string
	folder     *state.Folder
	client     kubernetes.Interface
	kubeconfig string
	// before is the pool as it was when nothing was wrong (isHalfPublished).
	before resourceapi.ResourcePool
}

// newNode makes one of hwsim's machines, or one of e2e/preparing's.
func newNode(t testing.TB, machineName string) *node {
	t.Helper()
	return newNodeIn(t, startCluster(t, ""), machineName)
}

// newNodeIn makes it for an API server.
func newNodeIn(t testing.TB, running *localcluster.Cluster, machineName string) *node {
	t.Helper()
	m, err := machine.Load(machineName)
	if !slices.Contains(machine.Names(), machineName) {
		m, err = machine.ReadFile(filepath.Join("..", "preparing", "testdata", machineName+".yaml"))
	}
	if err != nil {
		t.Fatal(err)
	}
	// Paths of sockets are short.
	dir, err := os.MkdirTemp("", "dray")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	n := &node{t: t, name: filepath.Base(dir), dir: dir, client: clientOf(t, running), kubeconfig: running.Kubeconfig()}
	n.folder, err = state.Create(filepath.Join(dir, "hw"), m, machine.Identity{Name: n.name, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		n.client.ResourceV1().ResourceSlices().DeleteCollection(context.Background(), metav1.DeleteOptions{}, n.ownSlices())
		n.client.CoreV1().Nodes().Delete(context.Background(), n.name, metav1.DeleteOptions{})
	})
	return n
}

func (n *node) path(elements ...string) string {
	return filepath.Join(append([]string{n.dir}, elements...)...)
}

// kubeletRoot is the folder of the node's kubelet.
func (n *node) kubeletRoot() string { return n.path("k", n.name) }

// process is a driver's.
type process struct {
	n       *node
	command *exec.Cmd
	done    chan struct{}
	err     error

	mu     sync.Mutex
	output bytes.Buffer
}

func (p *process) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.output.Write(text)
}

func (p *process) log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.output.String()
}

// start starts the driver. Of the environment it gets what is given.
func (n *node) start(environment []string, flags ...string) *process {
	n.t.Helper()
	self, err := os.Executable()
	if err != nil {
		n.t.Fatal(err)
	}
	p := &process{n: n, done: make(chan struct{})}
	p.command = exec.Command(self, append([]string{"--kubeconfig", n.kubeconfig, "--dir", n.path("hw"),
		"--kubelet-root", n.path("k", "{node}"), "--cdi-root", n.path("cdi", "{node}"), "--healthcheck-port", "0", "--metrics-port", "0", "--kube-api-qps", "200", "--kube-api-burst", "200", "-v", "4"}, flags...)...)
	p.command.Env = append([]string{isDriver + "=1"}, environment...)
	p.command.Stdout, p.command.Stderr = p, p
	if err := p.command.Start(); err != nil {
		n.t.Fatal(err)
	}
	go func() {
		p.err = p.command.Wait()
		close(p.done)
	}()
	n.t.Cleanup(func() {
		p.kill()
		if n.t.Failed() {
			n.t.Logf("log of the driver:\n%s", p.log())
		}
	})
	return p
}

func (p *process) kill() {
	p.command.Process.Kill()
	<-p.done
}

// stop ends the driver gracefully.
func (p *process) stop() {
	p.n.t.Helper()
	p.command.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(patience):
		p.n.t.Fatal("the driver does not stop")
	}
	if p.err != nil {
		p.n.t.Fatalf("the driver stopped with %v", p.err)
	}
}

// eventually asks until the answer is right.
func (n *node) eventually(what string, ask func() error) {
	n.t.Helper()
	n.within(patience, what, ask)
}

// within is eventually with a patience of its own.
func (n *node) within(patience time.Duration, what string, ask func() error) {
	n.t.Helper()
	if err := n.look(patience, ask); err != nil {
		n.t.Fatalf("%s: %v", what, err)
	}
}

// look asks until there is no error, or returns the last one.
func (n *node) look(patience time.Duration, ask func() error) (last error) {
	ctx, cancel := context.WithTimeout(n.t.Context(), patience)
	defer cancel()
	_ = pauses.DelayFunc().Until(ctx, true, true, func(context.Context) (bool, error) {
		last = ask()
		return last == nil, nil
	})
	return last
}

func (n *node) ownSlices() metav1.ListOptions {
	return metav1.ListOptions{FieldSelector: fields.Set{resourceapi.ResourceSliceSelectorDriver: driverName,
		resourceapi.ResourceSliceSelectorNodeName: n.name}.String()}
}

// slices are those that the node's driver has published, by name.
func (n *node) slices() []resourceapi.ResourceSlice {
	n.t.Helper()
	list, err := n.client.ResourceV1().ResourceSlices().List(n.t.Context(), n.ownSlices())
	if err != nil {
		n.t.Fatal(err)
	}
	slices.SortFunc(list.Items, func(a, b resourceapi.ResourceSlice) int { return strings.Compare(a.Name, b.Name) })
	return list.Items
}

// devices of the node's pool, if it is complete.
func (n *node) devices() (map[string]resourceapi.Device, error) {
	n.t.Helper()
	all := n.slices()
	devices := map[string]resourceapi.Device{}
	for _, slice := range all {
		if int(slice.Spec.Pool.ResourceSliceCount) != len(all) || slice.Spec.Pool.Generation != all[0].Spec.Pool.Generation {
			return nil, fmt.Errorf("the pool is not complete: %d slices, and %+v", len(all), slice.Spec.Pool)
		}
		for _, device := range slice.Spec.Devices {
			devices[device.Name] = device
		}
	}
	if len(all) == 0 {
		return nil, errors.New("there are no slices")
	}
	return devices, nil
}

// published waits for a complete pool of which something is true.
func (n *node) published(what string, right func(devices map[string]resourceapi.Device) error) {
	n.t.Helper()
	n.eventually(what, func() error { return n.pool(right) })
}

// pool is nil if the pool is complete and something is true of it.
func (n *node) pool(right func(devices map[string]resourceapi.Device) error) error {
	n.t.Helper()
	devices, err := n.devices()
	if err != nil {
		return err
	}
	return right(devices)
}

func hasDevice(name string) func(map[string]resourceapi.Device) error {
	return func(devices map[string]resourceapi.Device) error {
		if _, ok := devices[name]; !ok {
			return fmt.Errorf("there is no %s among %d devices", name, len(devices))
		}
		return nil
	}
}

// claim makes one that was allocated devices of the node, one for each request.
func (n *node) claim(name string, devices ...string) *resourceapi.ResourceClaim {
	n.t.Helper()
	return n.allocate(n.newClaim(name, len(devices)), "pod-"+name, types.UID("pod-"+name), devices...)
}

// newClaim makes one with so many requests.
func (n *node) newClaim(name string, requests int) *resourceapi.ResourceClaim {
	n.t.Helper()
	claims := n.client.ResourceV1().ResourceClaims("default")
	c := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: n.name + "-" + name, Namespace: "default"}}
	for i := range requests {
		c.Spec.Devices.Requests = append(c.Spec.Devices.Requests, resourceapi.DeviceRequest{Name: fmt.Sprintf("request-%d", i),
			Exactly: &resourceapi.ExactDeviceRequest{DeviceClassName: driverName}})
	}
	c, err := claims.Create(n.t.Context(), c, metav1.CreateOptions{})
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { claims.Delete(context.Background(), c.Name, metav1.DeleteOptions{}) })
	return c
}

// allocate does what a scheduler does: a device for each request, for a pod.
func (n *node) allocate(c *resourceapi.ResourceClaim, pod string, uid types.UID, devices ...string) *resourceapi.ResourceClaim {
	n.t.Helper()
	var results []resourceapi.DeviceRequestAllocationResult
	for i, device := range devices {
		results = append(results, resourceapi.DeviceRequestAllocationResult{Request: c.Spec.Devices.Requests[i].Name, Driver: driverName,
			Pool: n.name, Device: device})
	}
	c.Status.Allocation = &resourceapi.AllocationResult{Devices: resourceapi.DeviceAllocationResult{Results: results},
		NodeSelector: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{
			{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{n.name}}}}}}}
	c.Status.ReservedFor = []resourceapi.ResourceClaimConsumerReference{{Resource: "pods", Name: pod, UID: uid}}
	c, err := n.client.ResourceV1().ResourceClaims("default").UpdateStatus(n.t.Context(), c, metav1.UpdateOptions{})
	if err != nil {
		n.t.Fatal(err)
	}
	return c
}

// cdiFiles are the names in the folder of container runtimes.
func (n *node) cdiFiles() []string {
	return n.entries(n.path("cdi", n.name))
}

// mounted are what the CDI files of claims mount: the driver's descriptions of simulated
// hardware, and the helper's metadata.
func (n *node) mounted() (names []string) {
	for _, dir := range []string{"simulated", "dra-device-metadata"} {
		for _, name := range n.entries(filepath.Join(n.kubeletRoot(), "plugins", driverName, dir)) {
			names = append(names, filepath.Join(dir, name))
		}
	}
	return names
}

func (n *node) entries(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		n.t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// hardware is the machine as it is.
func (n *node) hardware() *hardware.Node {
	n.t.Helper()
	view, err := n.folder.View()
	if err != nil {
		n.t.Fatal(err)
	}
	return view.Node
}

// recorded is what the checkpoint has.
func (n *node) recorded() ([]*checkpoint.Claim, error) {
	store, err := checkpoint.NewStore(filepath.Join(n.kubeletRoot(), "plugins", driverName, "checkpoint.json"), checkpoint.Options{Driver: driverName, Node: n.name})
	if err != nil {
		return nil, err
	}
	end, err := store.Begin(n.t.Context())
	if err != nil {
		return nil, err
	}
	defer end()
	return store.Claims()
}
