package kindcluster

import (
	"context"
	"encoding/json"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/e2e-framework/klient/k8s"
	"sigs.k8s.io/yaml"
)

const root = "../.."

// Each node of the configuration is one of the machines that have a driver, says so where
// examples ask for it, and has its hardware mounted.
func TestEveryNodeIsAMachineWithADriver(t *testing.T) {
	c := &Cluster{options: Options{Name: "test", Root: root, Dir: t.TempDir()}}
	file, err := c.writeConfig()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Nodes []struct {
			Role        string
			Labels      map[string]string
			ExtraMounts []struct{ HostPath, ContainerPath string }
		}
	}
	if err := yaml.Unmarshal(content, &config); err != nil {
		t.Fatal(err)
	}
	if want := []string{"test-control-plane", "test-worker", "test-worker2"}; !slices.Equal(c.nodes, want) {
		t.Errorf("nodes are %v, not %v", c.nodes, want)
	}
	mounted := map[string]bool{}
	for _, node := range config.Nodes {
		if !slices.Contains(machines, node.Labels[machineLabel]) {
			t.Errorf("a %s is a %q, for which there is no driver", node.Role, node.Labels[machineLabel])
		}
		if got, want := node.Labels[corev1.LabelInstanceTypeStable], node.Labels[machineLabel]; got != want {
			t.Errorf("a %s is a %q, and of the instance type %q", node.Role, want, got)
		}
		if len(node.ExtraMounts) != 1 || !filepath.IsAbs(node.ExtraMounts[0].HostPath) {
			t.Errorf("a %s has the mounts %v", node.Role, node.ExtraMounts)
			continue
		}
		mounted[node.ExtraMounts[0].HostPath] = true
	}
	for _, name := range c.nodes {
		if !mounted[filepath.Dir(c.Hardware(name))] {
			t.Errorf("the hardware of %s is in %s, and mounted is %v", name, c.Hardware(name), slices.Sorted(maps.Keys(mounted)))
		}
	}
}

// Two DaemonSets of one selector would take each other's pods for their own.
func TestDriversOfTwoMachinesAreApart(t *testing.T) {
	c := &Cluster{options: Options{Root: root}}
	var sets []*appsv1.DaemonSet
	for _, machine := range machines {
		err := c.apply(context.Background(), "kubeletplugin/simulated", func(_ context.Context, object k8s.Object) error {
			set, ok := object.(*appsv1.DaemonSet)
			if !ok {
				t.Fatalf("the manifest has a %T", object)
			}
			forMachine(set, machine)
			sets = append(sets, set)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		set := sets[len(sets)-1]
		pod := set.Spec.Template
		if pod.Spec.NodeSelector[machineLabel] != machine || !slices.Contains(pod.Spec.Containers[0].Args, "--machine="+machine) {
			t.Errorf("the driver of %s has nodes %v and arguments %v", machine, pod.Spec.NodeSelector, pod.Spec.Containers[0].Args)
		}
	}
	for i, set := range sets {
		selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
		if err != nil {
			t.Fatal(err)
		}
		for j, other := range sets {
			if selects := selector.Matches(labels.Set(other.Spec.Template.Labels)); selects != (i == j) {
				t.Errorf("%s selects pods of %s: %t", set.Name, other.Name, selects)
			}
			if i != j && set.Name == other.Name {
				t.Errorf("two have the name %s", set.Name)
			}
		}
	}
}

func TestTheNetworkOfANodeHasItsAddresses(t *testing.T) {
	const podCIDR = "10.244.3.0/24"
	content, err := network(podCIDR)
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Name, CNIVersion string
		Plugins          []struct {
			Type string
			IPAM struct {
				Ranges [][]struct{ Subnet netip.Prefix }
			}
		}
	}
	if err := json.Unmarshal([]byte(content), &list); err != nil {
		t.Fatal(err)
	}
	if list.Name == "" || list.CNIVersion == "" || len(list.Plugins) == 0 {
		t.Fatalf("the configuration is %s", content)
	}
	if got := list.Plugins[0].IPAM.Ranges[0][0].Subnet.String(); got != podCIDR {
		t.Errorf("pods get addresses of %s, not %s", got, podCIDR)
	}
	// A plugin that node-image does not bring would not be found.
	pinned, err := os.ReadFile(filepath.Join(root, "tools/kind.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for _, plugin := range list.Plugins {
		if !strings.Contains(string(pinned), "/"+plugin.Type+"\n") {
			t.Errorf("tools/kind.mod has no plugin %s", plugin.Type)
		}
	}
}
