package hollow_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/dray-dev/dray/e2e/hollow"
	"github.com/dray-dev/dray/e2e/localcluster"
	"github.com/dray-dev/dray/e2e/localcluster/server"
	"github.com/dray-dev/dray/hwsim/machine"
	"github.com/dray-dev/dray/hwsim/state"
	"github.com/dray-dev/dray/kubeletplugin/publish"
)

// The test's binary is the servers and the driver as well.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "role" {
		os.Exit(server.Run(os.Args[2], os.Args[3:]))
	}
	code := m.Run()
	if shared.Cluster != nil {
		shared.Stop()
		_ = os.RemoveAll(shared.dir)
	}
	os.Exit(code)
}

// shared is a cluster without nodes, for all tests.
var shared struct {
	sync.Once
	*localcluster.Cluster
	client kubernetes.Interface
	dir    string
	err    error
}

const driverName = "gpu.dray.dev"

// patience is how long something may take that takes a second on an idle machine.
const patience = time.Minute

func startShared() error {
	var err error
	if shared.dir, err = os.MkdirTemp("", "dh"); err != nil {
		return err
	}
	if shared.Cluster, err = localcluster.Start(context.Background(), localcluster.Options{Dir: filepath.Join(shared.dir, "c")}); err != nil {
		return err
	}
	config, err := shared.Config()
	if err != nil {
		return err
	}
	if shared.client, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	classes, err := publish.DeviceClasses(publish.Options{})
	for i := range classes {
		if err == nil {
			_, err = shared.client.ResourceV1().DeviceClasses().Create(context.Background(), &classes[i], metav1.CreateOptions{})
		}
	}
	return err
}

// world is a machine, a hollow node for it that can be started again, and a driver.
type world struct {
	testing.TB
	ctx    context.Context
	client kubernetes.Interface
	name   string
	dir    string
	folder *state.Folder

	end  context.CancelFunc // of the node that runs
	done chan error
}

var nextNode int

func newWorld(t *testing.T, machineName string) *world {
	t.Helper()
	shared.Do(func() { shared.err = startShared() })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	dir, err := os.MkdirTemp("", "dh") // short, because of sockets
	if err != nil {
		t.Fatal(err)
	}
	nextNode++
	w := &world{TB: t, ctx: t.Context(), client: shared.client, name: "node-" + strconv.Itoa(nextNode), dir: dir}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	m, err := machine.Load(machineName)
	w.must(err)
	w.folder, err = state.Create(filepath.Join(dir, "hw"), m, machine.Identity{Name: w.name, Seed: 1})
	w.must(err)
	t.Cleanup(func() {
		w.stopNode()
		none := int64(0)
		background := context.Background()
		_ = w.client.CoreV1().Pods("default").DeleteCollection(background, metav1.DeleteOptions{GracePeriodSeconds: &none}, metav1.ListOptions{})
		_ = w.client.CoreV1().Nodes().Delete(background, w.name, metav1.DeleteOptions{})
	})
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// startNode starts the hollow node, new or again.
func (w *world) startNode() {
	w.Helper()
	config, err := shared.NodeConfig(w.name)
	w.must(err)
	client, err := kubernetes.NewForConfig(config)
	w.must(err)
	node, err := hollow.New(hollow.Options{Name: w.name, Client: client, Dir: filepath.Join(w.dir, "k"), CDIDir: filepath.Join(w.dir, "cdi")})
	w.must(err)
	ctx, end := context.WithCancel(context.Background())
	w.end, w.done = end, make(chan error, 1)
	go func() { w.done <- node.Run(ctx) }()
	select {
	case <-node.Ready():
	case err := <-w.done:
		w.Fatalf("the node has ended: %v", err)
	case <-time.After(patience):
		w.Fatal("the node is not ready")
	}
}

// stopNode stops it, and fails if it does not stop.
func (w *world) stopNode() {
	w.Helper()
	if w.end == nil {
		return
	}
	w.end()
	w.end = nil
	select {
	case err := <-w.done:
		w.must(err)
	case <-time.After(patience):
		w.Fatal("the node does not stop")
	}
}

// startDriver starts the driver as a process, and returns what kills it.
func (w *world) startDriver() (kill func()) {
	w.Helper()
	log, err := os.Create(filepath.Join(w.dir, "driver.log"))
	w.must(err)
	command := exec.Command(os.Args[0], "role", string(localcluster.Driver), "--kubeconfig", shared.Kubeconfig(), "--dir", filepath.Join(w.dir, "hw"),
		"--kubelet-root", filepath.Join(w.dir, "k"), "--cdi-root", filepath.Join(w.dir, "cdi"), "--healthcheck-port=0", "--metrics-port=0", "--kube-api-qps=100", "--kube-api-burst=100")
	command.Stdout, command.Stderr = log, log
	w.must(command.Start())
	kill = sync.OnceFunc(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		_ = log.Close()
	})
	w.Cleanup(func() {
		kill()
		if w.Failed() {
			text, _ := os.ReadFile(log.Name())
			w.Logf("log of the driver:\n%s", text)
		}
	})
	return kill
}

func (w *world) eventually(what string, ask func() error) {
	w.Helper()
	last := errors.New("it was not asked")
	err := wait.PollUntilContextTimeout(w.ctx, 50*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		last = ask()
		return last == nil, nil
	})
	if err != nil {
		w.Fatalf("%s: %v", what, last)
	}
}

// makePod makes a pod with a claim of its own for one GPU, on this node.
func (w *world) makePod(name string, change func(*corev1.Pod)) {
	w.Helper()
	claim := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: w.name + "-" + name}, Spec: resourceapi.ResourceClaimSpec{Devices: resourceapi.DeviceClaim{
		Requests: []resourceapi.DeviceRequest{{Name: "gpu", Exactly: &resourceapi.ExactDeviceRequest{DeviceClassName: driverName}}}}}}
	_, err := w.client.ResourceV1().ResourceClaims("default").Create(w.ctx, claim, metav1.CreateOptions{})
	w.must(err)
	w.Cleanup(func() {
		_ = w.client.ResourceV1().ResourceClaims("default").Delete(context.Background(), claim.Name, metav1.DeleteOptions{})
	})
	object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: w.name + "-" + name}, Spec: corev1.PodSpec{
		NodeSelector:   map[string]string{corev1.LabelHostname: w.name},
		ResourceClaims: []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: &claim.Name}},
		Containers: []corev1.Container{{Name: "main", Image: "none", Command: []string{"sleep", "infinity"},
			Resources: corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "gpu"}}}}}}}
	if change != nil {
		change(object)
	}
	_, err = w.client.CoreV1().Pods("default").Create(w.ctx, object, metav1.CreateOptions{})
	w.must(err)
}

func (w *world) pod(name string) *corev1.Pod {
	w.Helper()
	object, err := w.client.CoreV1().Pods("default").Get(w.ctx, w.name+"-"+name, metav1.GetOptions{})
	w.must(err)
	return object
}

func (w *world) inPhase(name string, phase corev1.PodPhase) *corev1.Pod {
	w.Helper()
	var object *corev1.Pod
	w.eventually("pod "+name, func() error {
		if object = w.pod(name); object.Status.Phase != phase {
			return fmt.Errorf("it is %s: %+v", object.Status.Phase, object.Status.Conditions)
		}
		return nil
	})
	return object
}

// remove deletes a pod and waits until it is gone.
func (w *world) remove(name string, grace int64) {
	w.Helper()
	pods := w.client.CoreV1().Pods("default")
	w.must(pods.Delete(w.ctx, w.name+"-"+name, metav1.DeleteOptions{GracePeriodSeconds: &grace}))
	w.eventually("pod "+name, func() error {
		if _, err := pods.Get(w.ctx, w.name+"-"+name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %v", err)
		}
		return nil
	})
}

// cdiFiles are those of claims that are prepared.
func (w *world) cdiFiles() []string {
	entries, err := os.ReadDir(filepath.Join(w.dir, "cdi"))
	w.must(err)
	var files []string
	for _, entry := range entries {
		files = append(files, entry.Name())
	}
	return files
}
