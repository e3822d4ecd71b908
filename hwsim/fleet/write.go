package fleet

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	resourceapi "k8s.io/api/resource/v1"
	"sigs.k8s.io/yaml"

	"github.com/dray-dev/dray/kubeletplugin/publish"
)

var resourceVersion = resourceapi.SchemeGroupVersion.String()

// Format is a way to write objects. Both can be given to `kubectl apply -f`.
type Format string

// The formats.
const (
	// YAML is documents separated by "---".
	YAML Format = "yaml"
	// JSON is one object a line.
	JSON Format = "json"
)

// Objects says what is written.
type Objects struct{ Classes, Nodes, Slices bool }

// Totals are what a fleet came to.
type Totals struct{ Nodes, FabricPools, Slices, Devices int }

// Write writes the fleet to w, the classes of its devices first. After each member it calls progress, unless that is
// nil, with what there has been so far.
func (f *Fleet) Write(w io.Writer, format Format, objects Objects, progress func(Totals)) (Totals, error) {
	out := bufio.NewWriterSize(w, 1<<20)
	write, err := encoder(out, format)
	if err != nil {
		return Totals{}, err
	}
	if objects.Classes {
		classes, err := publish.DeviceClasses(f.spec.Publish)
		if err != nil {
			return Totals{}, fmt.Errorf("fleet: %w", err)
		}
		for i := range classes {
			classes[i].APIVersion, classes[i].Kind = resourceVersion, "DeviceClass"
			if err := write(&classes[i]); err != nil {
				return Totals{}, fmt.Errorf("class %s: %w", classes[i].Name, err)
			}
		}
	}
	var totals Totals
	for member, err := range f.Members() {
		if err != nil {
			return totals, err
		}
		totals.add(&member)
		if err := member.write(write, objects); err != nil {
			return totals, err
		}
		if progress != nil {
			progress(totals)
		}
	}
	return totals, out.Flush()
}

func (t *Totals) add(m *Member) {
	if m.Node != nil {
		t.Nodes++
	} else {
		t.FabricPools++
	}
	for _, pool := range m.Pools {
		t.Slices += len(pool.Slices)
		for i := range pool.Slices {
			t.Devices += len(pool.Slices[i].Spec.Devices)
		}
	}
}

func (m *Member) write(write func(any) error, objects Objects) error {
	if objects.Nodes && m.Node != nil {
		if err := write(m.Node); err != nil {
			return fmt.Errorf("node %s: %w", m.Node.Name, err)
		}
	}
	if !objects.Slices {
		return nil
	}
	for _, pool := range m.Pools {
		for i := range pool.Slices {
			slice := pool.Slices[i]
			slice.APIVersion, slice.Kind = resourceVersion, "ResourceSlice"
			if err := write(&slice); err != nil {
				return fmt.Errorf("slice %s: %w", slice.Name, err)
			}
		}
	}
	return nil
}

// encoder returns a function that writes one object.
func encoder(out *bufio.Writer, format Format) (func(any) error, error) {
	switch format {
	case JSON:
		encode := json.NewEncoder(out)
		encode.SetEscapeHTML(false)
		return encode.Encode, nil
	case YAML:
		return func(object any) error {
			text, err := yaml.Marshal(object)
			if err != nil {
				return err
			}
			if _, err := out.WriteString("---\n"); err != nil {
				return err
			}
			_, err = out.Write(text)
			return err
		}, nil
	}
	return nil, fmt.Errorf("format %q: there are %q and %q", format, YAML, JSON)
}
