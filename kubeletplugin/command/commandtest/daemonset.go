// Package commandtest holds manifests of the driver to the driver's own flags, for the
// tests of each of its programs.
package commandtest

import (
	"os"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"github.com/dray-dev/dray/kubeletplugin/command"
)

// DaemonSet fails the test unless the manifest is a DaemonSet of one container whose
// arguments and variables the program over this machine takes, and whose probes ask for
// services that it has.
func DaemonSet(t *testing.T, file string, machine command.Machine) {
	t.Helper()
	text, err := os.ReadFile(file)
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
	if err := command.CheckArguments(machine, 1, append(containers[0].Args, containers[0].Command...), variables); err != nil {
		t.Error(err)
	}
	known := map[string]bool{}
	for _, name := range command.Variables(machine) {
		known[name] = true
	}
	for name := range variables {
		if !known[name] {
			t.Errorf("no flag reads the variable %s", name)
		}
	}
	if containers[0].LivenessProbe == nil || containers[0].ReadinessProbe == nil {
		t.Fatal("there is no probe of liveness, or none of readiness")
	}
	for _, asked := range []string{*containers[0].LivenessProbe.GRPC.Service, *containers[0].ReadinessProbe.GRPC.Service} {
		if asked != "liveness" && asked != "readiness" {
			t.Errorf("a probe asks for %q", asked)
		}
	}
}
