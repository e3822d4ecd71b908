package main

import (
	"path/filepath"
	"strings"
	"testing"
)

const tinyIntegration = `package dra

var all = map[string]bool{
	features.DRANodeAllocatableResources:  true,
	features.DRAPrioritizedList:           true,
}

func start() {
	cfg := newSchedulerComponentConfig(schedulerCtx, config)
	_, factory = util.StartScheduler(schedulerCtx, cfg, nil)
}
`

// tinyTree writes a repository and an upstream with integration tests.
func tinyTree(t *testing.T, main string) (root, kubernetes string) {
	t.Helper()
	root, kubernetes = t.TempDir(), t.TempDir()
	test := func(name string) string {
		return "package " + name + "\n\nimport (\n\t\"testing\"\n\n\t\"k8s.io/kubernetes/test/integration/dra\"\n)\n"
	}
	for name, content := range map[string]string{
		filepath.Join(root, shippedConfig):                                         "profiles: []\n",
		filepath.Join(kubernetes, integrationDir, "dra.go"):                        main,
		filepath.Join(kubernetes, integrationDir, "core.go"):                       "package dra\n",
		filepath.Join(kubernetes, integrationDir, "node_allocatable_resources.go"): "package dra\n\nfunc f() {" + strings.Repeat("\n\texpectPodUnschedulable(tCtx, pod)", 7) + "\n}\n",
		filepath.Join(kubernetes, integrationDir, "default/default_test.go"):       test("def"),
		filepath.Join(kubernetes, integrationDir, "all/all_test.go"):               test("all"),
		filepath.Join(kubernetes, integrationDir, "ga/ga_test.go"):                 test("ga"),
	} {
		if err := writeFile(name, []byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	return root, kubernetes
}

func TestIntegrationCopyStartsOurScheduler(t *testing.T) {
	root, kubernetes := tinyTree(t, tinyIntegration)
	files := map[string][]byte{}
	if err := addIntegrationCopy(files, root, kubernetes); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"dra/dra.go":                        "features.DRANodeAllocatableResources:  false,\n\tfeatures.DRAPrioritizedList:           true,",
		"dra/core.go":                       "package dra\n",
		"dra/scheduler.yaml":                "profiles: []\n",
		"dra/node_allocatable_resources.go": "expectPodUnschedulable(drayBriefly(tCtx), pod)",
		"dra/zz_dray.go":                    "go:embed scheduler.yaml",
		"dra/default/default_test.go":       `"github.com/dray-dev/dray/conformance/dra"`,
		"dra/all/all_test.go":               `"github.com/dray-dev/dray/conformance/dra"`,
	} {
		if !strings.Contains(string(files[name]), want) {
			t.Errorf("%s: %q is not in:\n%s", name, want, files[name])
		}
	}
	for _, want := range []string{"cfg := drayConfiguration(schedulerCtx, newSchedulerComponentConfig(", "cfg, drayRegistry())"} {
		if !strings.Contains(string(files["dra/dra.go"]), want) {
			t.Errorf("%q is not in:\n%s", want, files["dra/dra.go"])
		}
	}
	if len(files) != 7 {
		t.Errorf("%d files", len(files))
	}
}

func TestIntegrationTestsOfAnotherFormAreRefused(t *testing.T) {
	for name, replace := range map[string][2]string{
		"another registry":   {"cfg, nil)", "cfg, registry)"},
		"configured twice":   {"func start() {", "func start() {\n\tcfg := newSchedulerComponentConfig(schedulerCtx, config)"},
		"the gate is not on": {"Resources:  true", "Resources:  false"},
	} {
		root, kubernetes := tinyTree(t, strings.Replace(tinyIntegration, replace[0], replace[1], 1))
		if err := addIntegrationCopy(map[string][]byte{}, root, kubernetes); err == nil || !strings.Contains(err.Error(), "anchor") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
