package suite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/yaml"
)

// keepIfFailed writes what there is to see after a test that failed.
func keepIfFailed(ctx context.Context, config *envconf.Config, t *testing.T) (context.Context, error) {
	if !t.Failed() {
		return ctx, nil
	}
	dir, err := failureFolder(t.Name())
	if err == nil {
		err = keep(ctx, dir, namespaceOf(ctx))
	}
	t.Logf("what is left of it is in %s (%v)", dir, err)
	return ctx, nil // the test has failed already
}

// failureFolder makes the folder for what is left of a test.
func failureFolder(test string) (string, error) {
	if facts.keep == "" {
		return os.MkdirTemp("", "dray-e2e-failure-")
	}
	dir := filepath.Join(facts.keep, strings.ReplaceAll(test, "/", "_"))
	return dir, os.MkdirAll(dir, 0o700)
}

func keep(ctx context.Context, dir, namespace string) error {
	var all metav1.ListOptions
	core, resources := cluster.client.CoreV1(), cluster.client.ResourceV1()
	lists := map[string]func() (any, error){
		"pods":          func() (any, error) { return core.Pods(namespace).List(ctx, all) },
		"events":        func() (any, error) { return core.Events(namespace).List(ctx, all) },
		"nodes":         func() (any, error) { return core.Nodes().List(ctx, all) },
		"claims":        func() (any, error) { return resources.ResourceClaims("").List(ctx, all) },
		"templates":     func() (any, error) { return resources.ResourceClaimTemplates(namespace).List(ctx, all) },
		"slices":        func() (any, error) { return resources.ResourceSlices().List(ctx, all) },
		"deviceclasses": func() (any, error) { return resources.DeviceClasses().List(ctx, all) },
		"devicetaint":   func() (any, error) { return resources.DeviceTaintRules().List(ctx, all) },
	}
	// Logs are wanted most where the server does not answer.
	var failed []error
	for _, name := range slices.Sorted(maps.Keys(lists)) {
		if err := write(filepath.Join(dir, name+".yaml"), lists[name]); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", name, err))
		}
	}
	if cluster.hands != nil {
		failed = append(failed, cluster.hands.logs(ctx, dir))
	}
	return errors.Join(failed...)
}

func write(file string, list func() (any, error)) error {
	objects, err := list()
	if err != nil {
		return err
	}
	content, err := yaml.Marshal(objects)
	if err != nil {
		return err
	}
	return os.WriteFile(file, content, 0o600)
}
