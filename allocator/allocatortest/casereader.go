package allocatortest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// ReadCase reads an allocator case: a folder as written by [WriteCase] or by
// hand. Claims that expect.yaml names are to be allocated, the others must
// hold devices. Unknown kinds and fields are errors.
func ReadCase(dir string) (*Scenario, *Expectation, error) {
	text, err := os.ReadFile(filepath.Join(dir, expectFile))
	if err != nil {
		return nil, nil, fmt.Errorf("case folder: %w", err)
	}
	e := &Expectation{}
	if err := yaml.UnmarshalStrict(text, e); err != nil {
		return nil, nil, fmt.Errorf("case folder %s: %s: %w", dir, expectFile, err)
	}
	if text, err = os.ReadFile(filepath.Join(dir, inputFile)); err != nil {
		return nil, nil, fmt.Errorf("case folder: %w", err)
	}
	s := &Scenario{Features: e.Features}
	if err := eachDocument(text, s.readObject); err != nil {
		return nil, nil, fmt.Errorf("case folder %s: %s: %w", dir, inputFile, err)
	}
	if err := s.pickClaims(e.Claims); err != nil {
		return nil, nil, fmt.Errorf("case folder %s: %w", dir, err)
	}
	s.Stamp()
	return s, e, nil
}

// eachDocument calls read for each YAML document that is more than a comment.
func eachDocument(text []byte, read func(kind string, document []byte) error) error {
	documents := utilyaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(text)))
	defer documents.Close()
	buffer := make([]byte, len(text)+1)
	for i := 1; ; i++ {
		n, err := documents.Read(buffer)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("document %d: %w", i, err)
		}
		var header struct {
			Kind string `json:"kind"`
		}
		if err := yaml.Unmarshal(buffer[:n], &header); err != nil {
			return fmt.Errorf("document %d: %w", i, err)
		}
		if header.Kind == "" {
			continue
		}
		if err := read(header.Kind, buffer[:n]); err != nil {
			return fmt.Errorf("document %d: %w", i, err)
		}
	}
}

func (s *Scenario) readObject(kind string, document []byte) error {
	switch kind {
	case "Node":
		return decode(document, &s.Nodes, &corev1.Node{})
	case "DeviceClass":
		return decode(document, &s.Classes, &resourceapi.DeviceClass{})
	case "ResourceSlice":
		return decode(document, &s.Slices, &resourceapi.ResourceSlice{})
	case "ResourceClaim":
		return decode(document, &s.Allocated, &resourceapi.ResourceClaim{})
	default:
		return fmt.Errorf("kind %s has no place in an allocator case, use Node, DeviceClass, ResourceSlice or ResourceClaim", kind)
	}
}

func decode[T any](document []byte, list *[]*T, object *T) error {
	if err := yaml.UnmarshalStrict(document, object); err != nil {
		return err
	}
	*list = append(*list, object)
	return nil
}

// pickClaims moves the named claims from the allocated ones to those to
// allocate, in the order of the names.
func (s *Scenario) pickClaims(names []string) error {
	byName := make(map[string]*resourceapi.ResourceClaim)
	for _, claim := range s.Allocated {
		byName[claim.Namespace+"/"+claim.Name] = claim
	}
	for _, name := range names {
		claim := byName[name]
		if claim == nil {
			return fmt.Errorf("claim %s of %s is not in %s", name, expectFile, inputFile)
		}
		delete(byName, name)
		s.Claims = append(s.Claims, claim)
	}
	all := s.Allocated
	s.Allocated = nil
	for _, claim := range all {
		if byName[claim.Namespace+"/"+claim.Name] == nil {
			continue
		}
		if claim.Status.Allocation == nil {
			return fmt.Errorf("claim %s/%s neither holds devices nor is named in %s", claim.Namespace, claim.Name, expectFile)
		}
		s.Allocated = append(s.Allocated, claim)
	}
	return nil
}
