package simulated

import (
	"os"
	"path/filepath"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"github.com/dray-dev/dray/kubeletplugin/command"
)

// TestTheDaemonSetStartsTheDriver: deploy/kubeletplugin/simulated.yaml has arguments and
// variables that this program takes.
func TestTheDaemonSetStartsTheDriver(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "deploy", "kubeletplugin", "simulated.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var set appsv1.DaemonSet
	if err := yaml.UnmarshalStrict(text, &set); err != nil {
		t.Fatal(err)
	}
	containers := set.Spec.Template.Spec.Containers
	if len(containers) != 1 || len(containers[0].Args) == 0 {
		t.Fatalf("its containers are %+v", containers)
	}
	variables := map[string]string{}
	for _, variable := range containers[0].Env {
		variables[variable.Name] = variable.Value
		if from := variable.ValueFrom; from != nil && from.FieldRef != nil {
			variables[variable.Name] = "node-1" // or a UID: any name will do
		}
	}
	if err := command.CheckArguments(&Machine{}, 1, append(containers[0].Args, containers[0].Command...), variables); err != nil {
		t.Error(err)
	}
	known := map[string]bool{}
	for _, name := range command.Variables(&Machine{}) {
		known[name] = true
	}
	for name := range variables {
		if !known[name] {
			t.Errorf("no flag reads the variable %s", name)
		}
	}
	for name, probe := range map[string]bool{"liveness": containers[0].LivenessProbe != nil, "readiness": containers[0].ReadinessProbe != nil} {
		if !probe {
			t.Errorf("there is no probe of %s", name)
		}
	}
	for _, asked := range []string{*containers[0].LivenessProbe.GRPC.Service, *containers[0].ReadinessProbe.GRPC.Service} {
		if asked != "liveness" && asked != "readiness" {
			t.Errorf("a probe asks for %q", asked)
		}
	}
}
