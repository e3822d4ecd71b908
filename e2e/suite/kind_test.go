package suite

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/e2e-framework/klient/k8s/resources"

	"github.com/dray-dev/dray/e2e/hollow/shown"
	"github.com/dray-dev/dray/e2e/kindcluster"
	"github.com/dray-dev/dray/hwsim/state"
	"github.com/dray-dev/dray/kubeletplugin/cdi"
)

// kind is a cluster of the suite's own, with real kubelets and containers.
type kind struct{ *kindcluster.Cluster }

// repository is its root, from the folder in which go test runs this package.
const repository = "../.."

func startKind(ctx context.Context) (*kind, error) {
	patience = 3 * time.Minute
	facts.pluginResource = pluginResource
	root, err := filepath.Abs(repository)
	if err != nil {
		return nil, err
	}
	const name = "dray-e2e"
	made, err := kindcluster.Start(ctx, kindcluster.Options{
		Kind: facts.kind, Tool: facts.kindTool, Image: facts.kindImage,
		Name: name, Root: root, Dir: filepath.Join(root, "build/kind/clusters", name),
		// As make images names them.
		Images: map[string]string{
			"dray-dev/dray-scheduler:latest":         "dray-dev/dray-scheduler:latest",
			"dray-dev/dray-kubeletplugin-sim:latest": "dray-dev/dray-kubeletplugin-sim:latest",
			facts.image:                              "dray-dev/busybox:latest",
		},
		Offer: pluginResource,
		Say:   func(format string, args ...any) { fmt.Printf(format+"\n", args...) },
	})
	k := &kind{made}
	if err != nil {
		err = fmt.Errorf("%w%s", err, k.remains(ctx))
	}
	return k, err
}

// remains says where the logs of a cluster are that did not start.
func (k *kind) remains(ctx context.Context) string {
	if facts.keep == "" {
		return ""
	}
	dir := filepath.Join(facts.keep, "start")
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = k.Logs(ctx, dir)
	}
	return fmt.Sprintf("\nwhat is left of it is in %s (%v)", dir, err)
}

func (k *kind) end() {
	if facts.kindKeep {
		fmt.Printf("the cluster stays: export KUBECONFIG=%s\n", k.Kubeconfig())
		return
	}
	if err := k.Stop(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

func (k *kind) restartScheduler(ctx context.Context) error { return k.RestartScheduler(ctx) }

func (k *kind) restartAPIServer(ctx context.Context) error { return k.RestartAPIServer(ctx) }

func (k *kind) killDriver() error { return k.KillDriver(context.Background()) }

func (k *kind) startDriver(ctx context.Context) error { return k.StartDriver(ctx) }

func (k *kind) updateDriver(ctx context.Context) error { return k.UpdateDriver(ctx) }

func (k *kind) stopNode(ctx context.Context, node string) error { return k.StopNode(ctx, node) }

func (k *kind) startNode(ctx context.Context, node string) error { return k.StartNode(ctx, node) }

func (k *kind) restartKubelet(ctx context.Context, node string) error {
	return k.RestartKubelet(ctx, node)
}

func (k *kind) restartRuntime(ctx context.Context, node string) error {
	return k.RestartRuntime(ctx, node)
}

func (k *kind) hollow() bool { return false }

func (k *kind) hardware(node string) (*state.Folder, error) { return state.Open(k.Hardware(node)) }

func (k *kind) driverConfig(node string) (*rest.Config, error) {
	return k.DriverConfig(context.Background(), node)
}

func (k *kind) schedulerConfig() (*rest.Config, error) {
	return k.SchedulerConfig(context.Background())
}

func (k *kind) logs(ctx context.Context, into string) error { return k.Logs(ctx, into) }

// usual are the devices that every container has.
var usual = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/console", "/dev/ptmx", "/dev/pts/ptmx"}

// given asks the runtime which CDI devices it was to add to the container, and a shell in
// the container what is there.
func (k *kind) given(ctx context.Context, pod *corev1.Pod, container string) (shown.Given, error) {
	ids, err := k.CDIDevices(ctx, pod, container)
	if err != nil {
		return shown.Given{}, err
	}
	given := shown.Given{CDI: ids}
	devices, err := inside(ctx, pod, container, `find /dev -type c`)
	if err != nil {
		return given, err
	}
	for path := range strings.FieldsSeq(devices) {
		if !slices.Contains(usual, path) {
			given.Devices = append(given.Devices, path)
		}
	}
	slices.Sort(given.Devices)
	variables, err := inside(ctx, pod, container, `env`)
	if err != nil {
		return given, err
	}
	given.Env = map[string]string{}
	for line := range strings.Lines(variables) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		given.Env[name] = value
	}
	files, err := inside(ctx, pod, container, `for f in `+cdi.SimulatedPath+`/*.json; do [ ! -f "$f" ] || { cat "$f"; echo; }; done`)
	if err != nil {
		return given, err
	}
	for decoder := json.NewDecoder(strings.NewReader(files)); decoder.More(); {
		var claim struct {
			Claim   string           `json:"claim"`
			Devices []shown.Hardware `json:"devices"`
		}
		if err := decoder.Decode(&claim); err != nil {
			return given, fmt.Errorf("%s in container %s: %w", cdi.SimulatedPath, container, err)
		}
		// Other devices of the claim are of other containers.
		for _, device := range claim.Devices {
			if slices.ContainsFunc(ids, func(id string) bool { return strings.HasSuffix(id, "="+claim.Claim+"-"+device.Name) }) {
				given.Hardware = append(given.Hardware, device)
			}
		}
	}
	return given, nil
}

// inside runs a shell's command in a container, through the API server and the kubelet.
func inside(ctx context.Context, pod *corev1.Pod, container, command string) (string, error) {
	r, err := resources.New(cluster.config)
	if err != nil {
		return "", err
	}
	var out, complaints bytes.Buffer
	if err := r.ExecInPod(ctx, pod.Namespace, pod.Name, container, []string{"sh", "-c", command}, &out, &complaints); err != nil {
		return "", fmt.Errorf("%q in container %s of pod %s: %w\n%s", command, container, pod.Name, err, complaints.String())
	}
	return out.String(), nil
}
