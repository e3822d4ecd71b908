package nvidia_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/dray-dev/dray/kubeletplugin/cdi"
	"github.com/dray-dev/dray/kubeletplugin/checkpoint"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
	"github.com/dray-dev/dray/kubeletplugin/prepare"
	"github.com/dray-dev/dray/kubeletplugin/prepare/nvidia"
)

// world is a node: its hardware, its disk, and one driver process after another.
type world struct {
	t       testing.TB
	dir     string
	machine *machine
	boot    int
	options nvidia.Options
	step    func(what string)
	real    bool // the CDI files are as on real hardware
}

func newWorld(t testing.TB, node string) *world {
	return &world{t: t, dir: t.TempDir(), machine: newMachine(readNode(t, node)), boot: 1}
}

// process is a new driver process. It is not started.
func (w *world) process() *prepare.Preparer {
	w.t.Helper()
	simulated := filepath.Join(w.dir, "simulated")
	if w.real {
		simulated = ""
	}
	files, err := cdi.NewDir(cdi.Options{Driver: "gpu.dray.dev", Dir: filepath.Join(w.dir, "cdi"), SimulatedDir: simulated, Step: w.step})
	if err != nil {
		w.t.Fatal(err)
	}
	options := w.options
	options.Library, options.Host, options.Step = w.machine, &host{machine: w.machine}, w.step
	if options.Wait == nil {
		options.Wait = func(context.Context, time.Duration) error { return nil }
	}
	p, err := prepare.New(prepare.Options{Driver: "gpu.dray.dev", Pool: "node-1", Kinds: nvidia.Kinds(options), Store: w.store(), CDI: files,
		BootID: fmt.Sprintf("boot-%d", w.boot), Hardware: func(context.Context) (*hardware.Node, error) { return w.machine.discovered(), nil }})
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

func (w *world) store() *checkpoint.Store {
	store, err := checkpoint.NewStore(filepath.Join(w.dir, "plugin", "checkpoint.json"), checkpoint.Options{Driver: "gpu.dray.dev", Node: "node-1", Step: w.step})
	if err != nil {
		w.t.Fatal(err)
	}
	return store
}

func (w *world) claims() []*checkpoint.Claim {
	w.t.Helper()
	claims, err := w.process().Claims(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return claims
}

// state is all that a call could leave behind, as text.
func (w *world) state() string {
	w.t.Helper()
	var text strings.Builder
	text.WriteString(w.gpus())
	for _, claim := range w.claims() {
		fmt.Fprintf(&text, "%s of %s is %s\n", claim.UID, claim.BootID, claim.State)
		for _, d := range claim.Devices {
			fmt.Fprintf(&text, "  %s %s %s\n", d.Device, d.Plan, d.Outcome)
		}
	}
	text.WriteString(w.files())
	return text.String()
}

// gpus says what differs from a machine that nobody has touched.
func (w *world) gpus() string {
	var text strings.Builder
	node := w.machine.look()
	for _, gpu := range node.GPUs {
		if mode := w.machine.modes[gpu.UUID]; mode != 0 {
			fmt.Fprintf(&text, "gpu-%d compute mode %d\n", gpu.Minor, mode)
		}
		if gpu.MIG == nil {
			continue
		}
		if gpu.MIG.Enabled || gpu.MIG.Pending {
			fmt.Fprintf(&text, "gpu-%d MIG mode %v, pending %v\n", gpu.Minor, gpu.MIG.Enabled, gpu.MIG.Pending)
		}
		for _, i := range gpu.MIG.Instances {
			fmt.Fprintf(&text, "gpu-%d GPU instance %d: %s at %d", gpu.Minor, i.ID, profile(&gpu, i.ProfileID).Name, i.Placement.Start)
			for _, c := range i.ComputeInstances {
				fmt.Fprintf(&text, ", compute instance %d: %s", c.ID, c.UUID)
			}
			text.WriteByte('\n')
		}
	}
	return text.String()
}

// files are those for container runtimes, and temporary ones anywhere.
func (w *world) files() string {
	var text strings.Builder
	if err := filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), "checkpoint.json") && !strings.HasSuffix(path, ".tmp") {
			return err
		}
		content, err := os.ReadFile(path)
		fmt.Fprintf(&text, "%s\n%s", strings.TrimPrefix(path, w.dir+"/"), strings.ReplaceAll(string(content), w.dir, ""))
		return err
	}); err != nil {
		w.t.Fatal(err)
	}
	return text.String()
}

// claim is allocated devices: "main=gpu-0", "!watch=gpu-0" for access as an
// administrator, "main=gpu-0#1" for share 1.
func claim(uid string, configs []resourceapi.DeviceAllocationConfiguration, devices ...string) *resourceapi.ResourceClaim {
	c := &resourceapi.ResourceClaim{}
	c.Name, c.Namespace, c.UID = "claim-"+uid, "default", types.UID(uid)
	c.Status.Allocation = &resourceapi.AllocationResult{}
	c.Status.Allocation.Devices.Config = configs
	for _, text := range devices {
		result := resourceapi.DeviceRequestAllocationResult{Driver: "gpu.dray.dev", Pool: "node-1"}
		text, admin := strings.CutPrefix(text, "!")
		result.AdminAccess = &admin
		request, device, _ := strings.Cut(text, "=")
		device, share, shared := strings.Cut(device, "#")
		result.Request, result.Device = request, device
		if shared {
			id := types.UID(share)
			result.ShareID = &id
		}
		c.Status.Allocation.Devices.Results = append(c.Status.Allocation.Devices.Results, result)
	}
	return c
}

func configs(t testing.TB, text string) (list []resourceapi.DeviceAllocationConfiguration) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(text), &list); err != nil {
		t.Fatal(err)
	}
	return list
}

const exclusive = `
- source: FromClaim
  requests: [whole]
  opaque:
    driver: gpu.dray.dev
    parameters: {apiVersion: resource.dray.dev/v1alpha1, kind: GpuConfig, computeMode: ExclusiveProcess}
`

type killed struct{}

// killAt ends the process before its n-th change to the machine or the disk. What
// runs while the panic passes changes nothing either.
func (w *world) killAt(n int, log *[]string) {
	w.step = func(what string) {
		if *log = append(*log, what); len(*log) > n {
			panic(killed{})
		}
	}
}

// survives runs a call of a process that may be killed, and says whether it was not.
func (w *world) survives(call func(p *prepare.Preparer) error) (survived bool, err error) {
	defer func() {
		w.step = nil
		if reason := recover(); reason != nil {
			if reason != any(killed{}) {
				panic(reason)
			}
			w.machine.mu.Lock()
			w.machine.open = 0
			w.machine.mu.Unlock()
			survived = false
		}
	}()
	err = call(w.process())
	return true, err
}

var (
	errInjected = errors.New("injected")
	errInUse    = fmt.Errorf("by the test: %w", hardware.ErrGPUInUse)
)
