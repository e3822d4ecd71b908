package command

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"

	"github.com/dray-dev/dray/scheduler/plugin"
)

const shipped = "../../deploy/scheduler/config.yaml"

func TestTheShippedConfigurationIsAccepted(t *testing.T) {
	if err := checkConfig(shipped); err != nil {
		t.Fatal(err)
	}
	loaded, err := options.LoadConfigFromFile(klog.Background(), shipped)
	if err != nil {
		t.Fatal(err)
	}
	profile := loaded.Profiles[0]
	for name, set := range map[string]config.PluginSet{"postFilter": profile.Plugins.PostFilter, "podGroupPostFilter": profile.Plugins.PodGroupPostFilter} {
		var got []string
		for _, p := range set.Enabled {
			got = append(got, p.Name)
		}
		if want := []string{plugin.Name, "DefaultPreemption"}; !slices.Equal(got, want) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	i := slices.IndexFunc(profile.Plugins.MultiPoint.Enabled, func(p config.Plugin) bool { return p.Name == plugin.Name })
	if i < 0 || profile.Plugins.MultiPoint.Enabled[i].Weight != 2 {
		t.Errorf("multiPoint is %v", profile.Plugins.MultiPoint.Enabled)
	}
	if loaded.LeaderElection.ResourceName == "kube-scheduler" {
		t.Error("shares the lease of kube-scheduler")
	}
}

const head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n"

func TestConfigurationsThatCouldGiveADeviceTwiceAreRefused(t *testing.T) {
	ours := "- schedulerName: ours\n  plugins:\n    multiPoint:\n      enabled: [{name: DrayDynamicResources}]\n      disabled: [{name: DynamicResources}]\n"
	for name, test := range map[string]struct {
		yaml string
		want []string // of the refusal; none: accepted
	}{
		"ours alone": {ours, nil},
		"beside a profile with kube-scheduler's plugins": {ours + "- schedulerName: second\n",
			[]string{"profile second: ", "enables the plugin DynamicResources", "disabled"}},
		"both in one profile": {"- schedulerName: both\n  plugins:\n    multiPoint:\n      enabled: [{name: DrayDynamicResources}]\n",
			[]string{"profile both"}},
		"at one point only": {"- schedulerName: one\n  plugins:\n    multiPoint:\n      enabled: [{name: DrayDynamicResources}]\n      disabled: [{name: DynamicResources}]\n" +
			"    podGroupPostFilter:\n      enabled: [{name: DynamicResources}]\n",
			[]string{"profile one"}},
		"neither": {"- schedulerName: none\n  plugins:\n    multiPoint:\n      disabled: [{name: DynamicResources}]\n",
			[]string{"profile none: does not enable the plugin DrayDynamicResources", "multiPoint.enabled"}},
		"a profile without plugins": {ours + "- schedulerName: bare\n  plugins:\n    multiPoint:\n      disabled: [{name: \"*\"}]\n",
			[]string{"profile bare: does not enable the plugin DrayDynamicResources", "without their devices"}},
		"ours twice": {ours + strings.Replace(ours, "ours", "again", 1), nil},
		"ours without Reserve": {"- schedulerName: half\n  plugins:\n    multiPoint:\n      enabled: [{name: DrayDynamicResources}]\n      disabled: [{name: DynamicResources}]\n" +
			"    reserve:\n      disabled: [{name: \"*\"}]\n    preBind:\n      disabled: [{name: DrayDynamicResources}]\n",
			[]string{"profile half", "not at reserve, preBind"}},
		"ours at one point": {"- schedulerName: one\n  plugins:\n    multiPoint:\n      disabled: [{name: DynamicResources}]\n    filter:\n      enabled: [{name: DrayDynamicResources}]\n",
			[]string{"profile one", "not at preFilter, reserve, preBind"}},
		"ours, listed at its points": {"- schedulerName: listed\n  plugins:\n    multiPoint:\n      enabled: [{name: DrayDynamicResources}]\n      disabled: [{name: DynamicResources}]\n" +
			"    reserve:\n      enabled: [{name: DrayDynamicResources}]\n      disabled: [{name: \"*\"}]\n", nil},
		"arguments for kube-scheduler's plugin": {ours + "  pluginConfig:\n  - name: DynamicResources\n    args: {filterTimeout: 5s}\n",
			[]string{"profile ours: has arguments for the plugin DynamicResources", "{name: DrayDynamicResources, args"}},
		"arguments under a misspelt name": {ours + "  pluginConfig:\n  - name: DrayDynamicResource\n    args: {filterTimeout: 5s}\n",
			[]string{"profile ours: has arguments for the plugin DrayDynamicResource in pluginConfig", "is DrayDynamicResources"}},
		"arguments under the name of another case": {ours + "  pluginConfig:\n  - name: drayDynamicResources\n    args: {filterTimeout: 5s}\n",
			[]string{"for the plugin drayDynamicResources"}},
		"arguments for ours and for one of kube-scheduler's": {ours + "  pluginConfig:\n" +
			"  - name: DrayDynamicResources\n    args: {apiVersion: scheduler.dray.dev/v1alpha1, kind: DrayDynamicResourcesArgs, filterTimeout: 5s}\n" +
			"  - name: InterPodAffinity\n    args: {apiVersion: kubescheduler.config.k8s.io/v1, kind: InterPodAffinityArgs, hardPodAffinityWeight: 5}\n", nil},
		"not a configuration": {"- 1\n", []string{"read --config"}},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "config.yaml")
			if err := os.WriteFile(file, []byte(head+test.yaml), 0o600); err != nil {
				t.Fatal(err)
			}
			err := checkConfig(file)
			if (err != nil) != (test.want != nil) {
				t.Fatalf("got %v", err)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
		})
	}
}

func TestTheCommandDoesNotStartWithoutAConfiguration(t *testing.T) {
	command := New()
	command.SetArgs(nil)
	command.SetOut(&bytes.Buffer{})
	command.SetErr(&bytes.Buffer{})
	if err := command.Execute(); err == nil || !strings.Contains(err.Error(), "no --config") {
		t.Errorf("got %v", err)
	}
}

func TestTheCommandSaysWhereTheKubeconfigGoes(t *testing.T) {
	for _, name := range []string{"KUBERNETES_SERVICE_HOST", "KUBERNETES_MASTER"} {
		t.Setenv(name, "")
	}
	command := New()
	command.SetArgs([]string{"--config", shipped, "--kubeconfig", "admin.yaml", "--secure-port=0"})
	command.SetOut(&bytes.Buffer{})
	command.SetErr(&bytes.Buffer{})
	if err := command.Execute(); err == nil || !strings.Contains(err.Error(), "clientConnection.kubeconfig is empty") {
		t.Errorf("got %v", err)
	}
}

func TestVersionNeedsNoConfiguration(t *testing.T) {
	for _, flag := range []string{"--version", "--version=raw"} {
		command := New()
		var out bytes.Buffer
		command.SetArgs([]string{flag})
		command.SetOut(&out)
		if err := command.Execute(); err != nil || out.String() != versionLine()+"\n" {
			t.Errorf("%s: %q, %v", flag, &out, err)
		}
	}
}

func TestVersionNamesTheSchedulerThatIsLinked(t *testing.T) {
	if line := versionLine(); !strings.HasPrefix(line, "dray-scheduler (kube-scheduler ") {
		t.Errorf("got %q", line)
	}
}

// A test's binary does not say what is linked. So a small program is built that links
// a package of k8s.io/kubernetes, and asked: by linked's own name and by what the
// metric, the user agent and the log read.
func TestAProgramSaysWhichKubernetesIsLinked(t *testing.T) {
	program := filepath.Join(t.TempDir(), "version")
	build := exec.Command("go", "build", "-o", program, "./testdata/version")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the program: %v\n%s", err, output)
	}
	got, err := exec.Command(program).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, got)
	}
	module, err := exec.Command("go", "list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes").Output()
	if err != nil {
		t.Fatal(err)
	}
	wanted := strings.TrimSpace(string(module))
	parts := strings.Split(strings.TrimPrefix(wanted, "v"), ".")
	if want := fmt.Sprintf("linked %s, version %s, %s.%s\n", wanted, wanted, parts[0], parts[1]); string(got) != want {
		t.Errorf("it says %q, want %q", got, want)
	}
}

// The metric kubernetes_build_info has the version of the moment at which its package
// is initialized. A test's binary does not say what is linked, so the order is looked at.
func TestTheVersionIsNamedBeforeTheMetricReadsIt(t *testing.T) {
	self := exec.Command(os.Args[0], "-test.run=^$")
	self.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	trace, err := self.CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	named := bytes.Index(trace, []byte("init github.com/dray-dev/dray/scheduler/command/linked @"))
	read := bytes.Index(trace, []byte("init k8s.io/component-base/metrics/prometheus/version @"))
	if named < 0 || read < named {
		t.Errorf("named at %d, read at %d of\n%s", named, read, trace)
	}
}
