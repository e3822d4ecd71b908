package examples

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
)

// notObjects are files that are no manifests.
var notObjects = map[string]bool{"../../deploy/scheduler/config.yaml": true, "../../deploy/kind/cluster.yaml": true}

// eachDocument calls do with each document of the manifests in a folder and those below.
func eachDocument(t *testing.T, folder string, do func(path string, document []byte)) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".yaml" || notObjects[path] {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		documents := yaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(content)))
		defer documents.Close()
		for {
			buffer := make([]byte, 1<<20)
			n, err := documents.Read(buffer)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			do(path, buffer[:n])
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A misspelt field is dropped by an API server that is asked nicely, and does nothing.
func TestManifestsHaveNoFieldThatTheAPIDoesNotKnow(t *testing.T) {
	strict := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme.Scheme, scheme.Scheme, json.SerializerOptions{Yaml: true, Strict: true})
	count := 0
	eachDocument(t, "../../deploy", func(path string, document []byte) {
		count++
		if _, _, err := strict.Decode(document, nil, nil); err != nil && !runtime.IsMissingKind(err) {
			t.Errorf("%s: %v", path, err)
		} else if err != nil && len(bytes.TrimSpace(document)) > 0 {
			t.Errorf("%s: a document without a kind: %v", path, err)
		}
	})
	if count < 50 {
		t.Errorf("%d documents were looked at: the folder is not read", count)
	}
}
