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
