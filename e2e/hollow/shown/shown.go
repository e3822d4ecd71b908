// Package shown is how a hollow node shows what a container got: for those who read it
// and do not link the kubelet.
package shown

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ContainerAnnotation and the name of a container is the annotation of a pod that says
// what the container got.
const ContainerAnnotation = "containers.hollow.dray.dev/"

// DurationAnnotation of a pod says how long its containers run, as 1m30s, whatever
// their commands are.
const DurationAnnotation = "hollow.dray.dev/run-for"

// Given is what a container got: what a container runtime would have made of its CDI
// devices.
type Given struct {
	// CDI are the IDs that the driver returned, as vendor/class=device, in the order in
	// which the kubelet passes them on.
	CDI []string `json:"cdi"`
	// Devices are paths in the container.
	Devices []string `json:"devices,omitempty"`
	// Env are the variables that were set.
	Env map[string]string `json:"env,omitempty"`
	// Mounts are paths on the node, by their paths in the container.
	Mounts map[string]string `json:"mounts,omitempty"`
	// Hardware is what simulated devices stand for.
	Hardware []Hardware `json:"hardware,omitempty"`
}

// Hardware is a simulated device, as the driver names it and describes it.
type Hardware struct {
	Name     string          `json:"name"`
	Hardware json.RawMessage `json:"hardware"`
}

// Of reads from a pod's annotations what a container got; ok says whether the
// container got that far.
func Of(annotations map[string]string, container string) (given Given, ok bool, err error) {
	text, ok := annotations[ContainerAnnotation+container]
	if !ok {
		return Given{}, false, nil
	}
	if err := json.Unmarshal([]byte(text), &given); err != nil {
		return Given{}, false, fmt.Errorf("annotation %s%s: %w", ContainerAnnotation, container, err)
	}
	return given, true, nil
}

// Text is the content of the annotation.
func (g *Given) Text() string {
	content, err := json.Marshal(g)
	if err != nil {
		panic(err) // strings can always be written
	}
	return string(content)
}

// Log is what the log of a container says: it has no process that could.
func (g *Given) Log() string {
	var text strings.Builder
	text.WriteString("no process runs in a hollow container; a container runtime would have given it\n")
	for _, path := range g.Devices {
		fmt.Fprintf(&text, "device %s\n", path)
	}
	for _, name := range slices.Sorted(maps.Keys(g.Env)) {
		fmt.Fprintf(&text, "env %s=%s\n", name, g.Env[name])
	}
	for _, path := range slices.Sorted(maps.Keys(g.Mounts)) {
		fmt.Fprintf(&text, "mount %s\n", path)
	}
	for _, hardware := range g.Hardware {
		fmt.Fprintf(&text, "simulated %s %s\n", hardware.Name, hardware.Hardware)
	}
	return text.String()
}

// Line is for people.
func (g *Given) Line() string {
	words := slices.Clone(g.Devices)
	for _, name := range slices.Sorted(maps.Keys(g.Env)) {
		words = append(words, name+"="+g.Env[name])
	}
	if len(words) == 0 {
		return "no device nodes and no variables"
	}
	return strings.Join(words, " ")
}
