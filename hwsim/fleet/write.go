package fleet

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"sigs.k8s.io/yaml"
)

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
type Objects struct{ Nodes, Slices bool }

// Totals are what a fleet came to.
type Totals struct{ Nodes, FabricPools, Slices, Devices int }

// Write writes the fleet to w. After each member it calls progress, unless that is
// nil, with what there has been so far.
func (f *Fleet) Write(w io.Writer, format Format, objects Objects, progress func(Totals)) (Totals, error) {
	out := bufio.NewWriterSize(w, 1<<20)
	write, err := encoder(out, format)
	if err != nil {
		return Totals{}, err
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
			slice.APIVersion, slice.Kind = "resource.k8s.io/v1", "ResourceSlice"
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
