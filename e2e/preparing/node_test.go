package preparing_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/dray-dev/dray/hwsim/machine"
	"github.com/dray-dev/dray/hwsim/state"
	"github.com/dray-dev/dray/kubeletplugin/cdi"
	"github.com/dray-dev/dray/kubeletplugin/checkpoint"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
	"github.com/dray-dev/dray/kubeletplugin/prepare"
	"github.com/dray-dev/dray/kubeletplugin/prepare/nvidia"
)

const driverName = "gpu.dray.dev"

// clock is one on which waiting takes no time, because its time goes by by it.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	passed := make(chan time.Time)
	close(passed)
	return passed
}

// node is a machine in a folder and the disk of the driver on it.
type node struct {
	t      testing.TB
	dir    string
	clock  *clock
	folder *state.Folder
	// step is called before each change of the driver's.
	step func(what string)
}

// newNode makes one of hwsim's machines, or of those in testdata.
func newNode(t testing.TB, name string) *node {
	t.Helper()
	m, err := machine.Load(name)
	if !slices.Contains(machine.Names(), name) {
		m, err = machine.ReadFile(filepath.Join("testdata", name+".yaml"))
	}
	if err != nil {
		t.Fatal(err)
	}
	n := &node{t: t, dir: t.TempDir(), clock: &clock{now: time.Unix(1_790_000_000, 0).UTC()}}
	n.folder, err = state.Create(filepath.Join(n.dir, "hardware"), m, machine.Identity{Name: "node-1", Seed: 1}, state.WithClock(n.clock))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (n *node) hardware() *hardware.Node {
	n.t.Helper()
	view, err := n.folder.View()
	if err != nil {
		n.t.Fatal(err)
	}
	return view.Node
}

// process is a new driver process.
func (n *node) process() *prepare.Preparer {
	n.t.Helper()
	host, library := n.folder.Host(), n.folder.GPULibrary()
	bootID, err := hardware.BootID(host)
	if err != nil {
		n.t.Fatal(err)
	}
	p, err := prepare.New(prepare.Options{Driver: driverName, Pool: "node-1", Store: n.store(), CDI: n.files(), BootID: bootID,
		Kinds: nvidia.Kinds(nvidia.Options{Library: library, Host: host, Step: func(what string) { n.stepped(what) },
			Wait: func(_ context.Context, d time.Duration) error { <-n.clock.After(d); return nil }}),
		Hardware: func(context.Context) (*hardware.Node, error) { return hardware.Discover(host, library) }})
	if err != nil {
		n.t.Fatal(err)
	}
	return p
}

func (n *node) stepped(what string) {
	if n.step != nil {
		n.step(what)
	}
}

func (n *node) store() *checkpoint.Store {
	store, err := checkpoint.NewStore(filepath.Join(n.dir, "plugin", "checkpoint.json"),
		checkpoint.Options{Driver: driverName, Node: "node-1", Step: n.stepped})
	if err != nil {
		n.t.Fatal(err)
	}
	return store
}

func (n *node) cdiDir() string { return filepath.Join(n.dir, "cdi") }

func (n *node) files() *cdi.Dir {
	files, err := cdi.NewDir(cdi.Options{Driver: driverName, Dir: n.cdiDir(), SimulatedDir: filepath.Join(n.dir, "simulated"), Step: n.stepped})
	if err != nil {
		n.t.Fatal(err)
	}
	return files
}

func (n *node) claims() []*checkpoint.Claim {
	n.t.Helper()
	store := n.store()
	end, err := store.Begin(n.t.Context())
	if err != nil {
		n.t.Fatal(err)
	}
	defer end()
	claims, err := store.Claims()
	if err != nil {
		n.t.Fatal(err)
	}
	return claims
}

type killed struct{}

// survives runs a call of a process that is killed before its n-th change, and says
// whether it came to its end before.
func (n *node) survives(step int, call func(p *prepare.Preparer) error) (survived bool, err error) {
	taken := 0
	n.step = func(string) {
		if taken++; taken > step {
			panic(killed{})
		}
	}
	defer func() {
		n.step = nil
		if reason := recover(); reason != nil {
			if reason != any(killed{}) {
				panic(reason)
			}
			survived = false
		}
	}()
	err = call(n.process())
	return true, err
}

// wish is a claim's allocation in short.
type wish struct {
	uid       types.UID
	devices   []string
	admin     bool
	exclusive bool
}

func (w *wish) String() string {
	return fmt.Sprintf("%s %v admin=%v exclusive=%v", w.uid, w.devices, w.admin, w.exclusive)
}

func (w *wish) claim() *resourceapi.ResourceClaim {
	c := &resourceapi.ResourceClaim{}
	c.Name, c.Namespace, c.UID = "claim-"+string(w.uid), "default", w.uid
	c.Status.Allocation = &resourceapi.AllocationResult{}
	for i, device := range w.devices {
		c.Status.Allocation.Devices.Results = append(c.Status.Allocation.Devices.Results, resourceapi.DeviceRequestAllocationResult{
			Driver: driverName, Pool: "node-1", Request: fmt.Sprintf("request-%d", i), Device: device, AdminAccess: &w.admin})
	}
	if w.exclusive {
		c.Status.Allocation.Devices.Config = []resourceapi.DeviceAllocationConfiguration{{Source: resourceapi.AllocationConfigSourceClaim,
			DeviceConfiguration: resourceapi.DeviceConfiguration{Opaque: &resourceapi.OpaqueDeviceConfiguration{Driver: driverName,
				Parameters: runtime.RawExtension{Raw: []byte(`{"apiVersion":"resource.dray.dev/v1alpha1","kind":"GpuConfig","computeMode":"ExclusiveProcess"}`)}}}}}
	}
	return c
}

// partition is a GPU instance by where it is.
type partition struct {
	gpu     string
	profile int
	at      hardware.Placement
}

func partitions(node *hardware.Node) map[partition]int {
	all := map[partition]int{}
	for _, gpu := range node.GPUs {
		if gpu.MIG != nil {
			for _, i := range gpu.MIG.Instances {
				all[partition{gpu.UUID, i.ProfileID, i.Placement}] = i.ID
			}
		}
	}
	return all
}

func sorted(ids []types.UID) []types.UID {
	slices.Sort(ids)
	return ids
}
