package command

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// empty is a Machine without GPUs: a directory of files.
type empty struct {
	simulated bool
	host      hardware.Host
	nodes     int
	name      string
	library   hardware.GPULibrary // there is none if it is nil
}

func (m *empty) Simulated() bool { return m.simulated }

func (m *empty) Flags(set *pflag.FlagSet) { set.StringVar(&m.name, "node-name", "node", "`NAME`") }

func (m *empty) Nodes() ([]Node, error) {
	library := m.library
	if library == nil {
		library = noLibrary{}
	}
	nodes := []Node{{Name: m.name, Host: m.host, GPUs: library}}
	for i := 1; i < m.nodes; i++ {
		nodes = append(nodes, Node{Name: m.name + "-" + string(rune('0'+i)), Host: m.host, GPUs: noLibrary{}})
	}
	return nodes, nil
}

type noLibrary struct{ hardware.GPULibrary }

func (noLibrary) Init() error { return hardware.ErrGPULibraryNotFound }

// run runs a command that ends by itself.
func run(t *testing.T, machine Machine, args ...string) (code int, output string) {
	t.Helper()
	var out bytes.Buffer
	code = Run(t.Context(), "driver", machine, args, &out, &out)
	return code, out.String()
}

func TestAMistakeInTheFlagsIsNamed(t *testing.T) {
	for _, c := range []struct {
		args string
		want string
	}{
		{"--mig half", `--mig is "half": it can be off, static, dynamic`},
		{"--driver-name gpu.nvidia.com", "--driver-name: gpu.nvidia.com is another project's driver; add --as-peer to stand in for it"},
		{"--driver-name GPU", `--driver-name is "GPU"`},
		{"--poll-interval 0s", "--poll-interval is 0s: it must be more than 0"},
		{"--poll-interval soon", "--poll-interval"},
		{"--metrics-port 65536", "--metrics-port is 65536: there is no such port"},
		{"--healthcheck-port -1", "--healthcheck-port is -1: there is no such port"},
		{"--cdi-root=", "--cdi-root is empty"},
		{"--kubelet-root=", "--kubelet-root is empty"},
		{"--vgpu", "unknown flag: --vgpu"},
		{"extra", `unknown command "extra"`},
	} {
		code, output := run(t, &empty{}, strings.Fields(c.args)...)
		if code != exitUsage || !strings.Contains(output, c.want) || !strings.Contains(output, "See 'driver --help'.") {
			t.Errorf("%s: code %d, %s", c.args, code, output)
		}
	}
	code, output := run(t, &empty{nodes: 2})
	if want := `--kubelet-root is "/var/lib/kubelet": 2 nodes need one each, with {node} in it`; code != exitUsage || !strings.Contains(output, want) {
		t.Errorf("two nodes in one folder: code %d, %s", code, output)
	}
}

func TestAPeersNameIsForSimulationsAndForThoseWhoSaySo(t *testing.T) {
	f := Flags{DriverName: "gpu.nvidia.com", MIG: "off", KubeletRoot: "/k", CDIRoot: "/c", Poll: time.Second}
	if f.check(false, 1) == nil {
		t.Error("on real hardware it is not refused")
	}
	if err := f.check(true, 1); err != nil {
		t.Errorf("simulated: %v", err)
	}
	f.Peer = true
	if err := f.check(false, 1); err != nil {
		t.Errorf("as peer: %v", err)
	}
}

func TestTheVersionIsPrinted(t *testing.T) {
	code, output := run(t, &empty{}, "--version")
	if code != exitOK || !strings.HasPrefix(output, "driver ") || strings.Count(output, "\n") != 1 || !strings.Contains(output, "go1.") {
		t.Errorf("code %d, %q", code, output)
	}
}

// TestEveryFlagHasAVariable: the help names it, it sets the flag, the command line
// beats it, and a mistake in it is named.
func TestEveryFlagHasAVariable(t *testing.T) {
	_, help := run(t, &empty{}, "--help")
	count := 0
	newCommand("driver", &empty{}, &Flags{}).Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" || f.Name == "version" {
			return
		}
		count++
		variable := Variable(f.Name)
		if !strings.Contains(help, "["+variable+"]") {
			t.Errorf("the help of --%s does not name %s", f.Name, variable)
		}
		value, other := valuesOf(t, f)
		from := func(name string) (string, bool) { return value, name == variable }
		set := newCommand("driver", &empty{}, &Flags{}).Flags()
		if err := fromEnvironment(set, from); err != nil {
			t.Errorf("%s=%s: %v", variable, value, err)
		} else if got := set.Lookup(f.Name).Value.String(); got != value {
			t.Errorf("%s=%s sets --%s to %s", variable, value, f.Name, got)
		}
		set = newCommand("driver", &empty{}, &Flags{}).Flags()
		if err := set.Set(f.Name, other); err != nil {
			t.Fatal(err)
		}
		if err := fromEnvironment(set, from); err != nil || set.Lookup(f.Name).Value.String() == value {
			t.Errorf("--%s=%s does not beat %s=%s: %v", f.Name, other, variable, value, err)
		}
	})
	if count < 18 {
		t.Errorf("there are %d flags", count)
	}
	set := newCommand("driver", &empty{}, &Flags{}).Flags()
	err := fromEnvironment(set, func(name string) (string, bool) { return "many", name == "METRICS_PORT" })
	if err == nil || !strings.Contains(err.Error(), "environment variable METRICS_PORT: ") {
		t.Errorf("a mistake in a variable: %v", err)
	}
	if err := fromEnvironment(set, func(string) (string, bool) { return "", true }); err != nil {
		t.Errorf("variables that are empty: %v", err)
	}
}

// valuesOf are two that a flag can have and that it has not by itself.
func valuesOf(t *testing.T, f *pflag.Flag) (value, other string) {
	switch kind := f.Value.Type(); kind {
	case "bool":
		return "true", "false"
	case "int", "float32", "Level":
		return "7", "9"
	case "duration":
		return "7s", "9s"
	case "quantity":
		return "7Ki", "9Ki"
	case "string":
		return "seven", "nine"
	case "pattern=N,...":
		return "a=7", "b=9"
	default:
		t.Fatalf("--%s is a %s, which this test knows no values of", f.Name, kind)
		return "", ""
	}
}

func TestFoldersAreThoseOfTheNode(t *testing.T) {
	f := Flags{DriverName: "gpu.dray.dev", KubeletRoot: "/var/lib/rancher/{node}/kubelet", CDIRoot: "/run/{node}/cdi"}
	if err := (&Flags{MIG: "off", DriverName: "a.b", Poll: 1, KubeletRoot: "here", CDIRoot: "/cdi"}).check(true, 1); err != nil {
		t.Errorf("relative paths: %v", err)
	}
	folders := f.folders("n1")
	if folders.Registry != "/var/lib/rancher/n1/kubelet/plugins_registry" ||
		folders.Plugin != "/var/lib/rancher/n1/kubelet/plugins/gpu.dray.dev" || folders.CDI != "/run/n1/cdi" {
		t.Errorf("%+v", folders)
	}
}
