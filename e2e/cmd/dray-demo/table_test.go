package main

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/dray-dev/dray/e2e/examples"
	"github.com/dray-dev/dray/e2e/hollow/shown"
)

func TestTheTableSaysWhatPodsAndContainersGot(t *testing.T) {
	got := shown.Given{Devices: []string{"/dev/nvidiactl", "/dev/nvidia3"}, Env: map[string]string{"B": "2", "A": "1"}}
	var out strings.Builder
	writeTable(&out, []examples.Row{
		{Example: "one", Pod: "train", Node: "dgx-0", Devices: []string{"d/p/gpu-3"}, Phase: corev1.PodRunning,
			Annotations: map[string]string{shown.ContainerAnnotation + "main": got.Text()}},
		{Example: "two", Pod: "serve-7c9f5d6b8-abcde-long", Node: "dgx-0", Devices: []string{"d/p/a", "d/p/b", "d/p/c"}, Phase: corev1.PodPending},
		{Example: "three", Pod: "greedy", Phase: corev1.PodPending},
		{Example: "four", Pod: "odd", Phase: corev1.PodRunning, Annotations: map[string]string{shown.ContainerAnnotation + "main": "{"}},
	})
	for _, want := range []string{
		"EXAMPLE POD NODE DEVICES CONTAINER GOT",
		"one train dgx-0 gpu-3 /dev/nvidia3 (+1) A=1 B=2",
		"two serve-7c9f5d6b8-abc… dgx-0 a … c (3) -",
		"three greedy - - -",
		"unexpected end of JSON input",
	} {
		found := false
		for _, line := range strings.Split(out.String(), "\n") {
			found = found || strings.Contains(strings.Join(strings.Fields(line), " "), want)
		}
		if !found {
			t.Errorf("no line says %q:\n%s", want, out.String())
		}
	}
}
