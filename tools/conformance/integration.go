package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
)

// The integration tests: an API server in the process, an etcd beside it, and a
// scheduler in the process, which is ours in the copy. Their packages below have
// one configuration of features each.
const (
	integrationDir  = "test/integration/dra"
	integrationCopy = "dra"
)

// integrationAnchors let the scheduler that the tests start have our plugin.
var integrationAnchors = []anchor{
	{"cfg := newSchedulerComponentConfig(schedulerCtx, config)", 1, "cfg := drayConfiguration(schedulerCtx, newSchedulerComponentConfig(schedulerCtx, config))"},
	{"util.StartScheduler(schedulerCtx, cfg, nil)", 1, "util.StartScheduler(schedulerCtx, cfg, drayRegistry())"},
	// Our plugin does not start with it.
	{"features.DRANodeAllocatableResources:  true,", 1, "features.DRANodeAllocatableResources:  false,"},
}

// allocatableAnchors shorten waits, of five minutes each, for what does not come.
var allocatableAnchors = []anchor{
	{"\texpectPodUnschedulable(tCtx, ", 7, "\texpectPodUnschedulable(drayBriefly(tCtx), "},
}

func integrationPackage(name string) suitePackage {
	return suitePackage{
		copied:   "./" + path.Join(integrationCopy, name),
		upstream: path.Join(kubernetesPath, integrationDir, name),
	}
}

// addIntegrationCopy adds the integration tests with our plugin in the scheduler,
// configured as deploy has it.
func addIntegrationCopy(files map[string][]byte, root, kubernetesDir string) error {
	from := filepath.Join(kubernetesDir, filepath.FromSlash(integrationDir))
	if _, err := addGoFiles(files, from, integrationCopy); err != nil {
		return err
	}
	var err error
	for _, edited := range []struct {
		name    string
		anchors []anchor
	}{{"dra.go", integrationAnchors}, {"node_allocatable_resources.go", allocatableAnchors}} {
		name := path.Join(integrationCopy, edited.name)
		if files[name], err = replaceAnchors(files[name], edited.anchors); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	for _, name := range []string{"default", "all"} {
		if _, err := addGoFiles(files, filepath.Join(from, name), path.Join(integrationCopy, name)); err != nil {
			return err
		}
		tests := path.Join(integrationCopy, name, name+"_test.go")
		imported := []anchor{{`"` + path.Join(kubernetesPath, integrationDir) + `"`, 1, `"` + path.Join(copiesModule, integrationCopy) + `"`}}
		if files[tests], err = replaceAnchors(files[tests], imported); err != nil {
			return fmt.Errorf("%s: %w", tests, err)
		}
	}
	if files[path.Join(integrationCopy, "scheduler.yaml")], err = os.ReadFile(filepath.Join(root, filepath.FromSlash(shippedConfig))); err != nil {
		return err
	}
	files[path.Join(integrationCopy, "zz_dray.go")], err = adapterFiles.ReadFile("adapter/integration.go.txt")
	return err
}
