package driver

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/version"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
	"github.com/dray-dev/dray/kubeletplugin/prepare/nvidia"
	"github.com/dray-dev/dray/kubeletplugin/publish"
)

const (
	driverName = "gpu.dray.dev"
	nodeName   = "node-1"
)

// noon is when tests happen.
var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

// stopped is a clock that stands until it is moved.
type stopped struct{ now time.Time }

func (c *stopped) Now() time.Time                       { return c.now }
func (*stopped) After(d time.Duration) <-chan time.Time { return make(chan time.Time) }
func (c *stopped) move(d time.Duration)                 { c.now = c.now.Add(d) }

// readNode is one of the nodes that package publish is tested with.
func readNode(t testing.TB, name string) *hardware.Node {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "publish", "testdata", "nodes", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	node := &hardware.Node{}
	if err := yaml.UnmarshalStrict(data, node); err != nil {
		t.Fatal(err)
	}
	return node
}

// hostDir is a machine's files, which are not many.
func hostDir(t testing.TB) hardware.Host {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "proc", "sys", "kernel", "random", "boot_id")
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("boot-1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	host, err := hardware.HostDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return host
}

// dropping is an API server that drops the fields of features that are off, as a real
// one does: it says nothing.
type dropping struct {
	minor    string
	features publish.Features
	// asked counts slices that were to be checked and not stored.
	asked int
}

func (s *dropping) client() *fake.Clientset {
	client := fake.NewClientset()
	client.Discovery().(*fakediscovery.FakeDiscovery).FakedServerVersion = &version.Info{Major: "1", Minor: s.minor}
	client.PrependReactor("create", "resourceslices", func(action clienttesting.Action) (bool, runtime.Object, error) {
		create := action.(clienttesting.CreateActionImpl)
		slice := create.GetObject().(*resourceapi.ResourceSlice).DeepCopy()
		s.drop(&slice.Spec)
		if len(create.CreateOptions.DryRun) > 0 {
			s.asked++
			return true, slice, nil
		}
		return false, nil, nil
	})
	return client
}

func (s *dropping) drop(spec *resourceapi.ResourceSliceSpec) {
	f := &s.features
	if !f.PartitionableDevices {
		spec.SharedCounters = nil
	}
	for i := range spec.Devices {
		d := &spec.Devices[i]
		if !f.PartitionableDevices {
			d.ConsumesCounters = nil
		}
		for j := range d.ConsumesCounters {
			if !f.CompatibilityGroups {
				d.ConsumesCounters[j].CompatibilityGroups = nil
			}
		}
		if !f.DeviceTaints {
			d.Taints = nil
		}
		if !f.BindingConditions {
			d.BindingConditions, d.BindingFailureConditions = nil, nil
		}
		if !f.ConsumableCapacity {
			d.AllowMultipleAllocations = nil
		}
		for name, attribute := range d.Attributes {
			if !f.ListAttributes {
				attribute.IntValues = nil
			}
			d.Attributes[name] = attribute
		}
	}
}

// newDriver is one that was not started, on a machine that it cannot look at.
func newDriver(t testing.TB, change func(*Options)) *Driver {
	t.Helper()
	dir, err := os.MkdirTemp("", "d") // sockets have short paths
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	host := hostDir(t)
	options := Options{Name: driverName, Node: nodeName, Client: (&dropping{minor: "37", features: ideal().features}).client(), Host: host,
		Kinds: nvidia.Kinds(nvidia.Options{Host: host}), Publish: publish.Options{MIG: publish.MIGDynamic},
		Folders: KubeletFolders(filepath.Join(dir, "kubelet"), driverName, filepath.Join(dir, "cdi")), Clock: &stopped{now: noon}}
	if change != nil {
		change(&options)
	}
	d, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func asJSON(t testing.TB, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
