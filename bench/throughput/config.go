package throughput

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"sigs.k8s.io/yaml"
)

// Names in the directory of a sample.
const (
	WorkloadFile  = "workload.yaml" // configuration of scheduler_perf with one workload
	ResultsDir    = "results"       // gets what scheduler_perf writes
	schedulerFile = "scheduler.yaml"
	barePodFile   = "pod-without-claim.yaml"
	templatesDir  = "templates" // of scheduler_perf, whose paths are relative to the working directory
)

// Label is what the workload of a sample is labelled with.
const Label = "measured"

// podTemplate is the template of the pods in scheduler_perf's directory.
const podTemplate = templatesDir + "/pod-with-claim-template.yaml"

// prepare fills the empty directory dir of a sample. Source is the directory of
// scheduler_perf with the workloads of DRA; schedulerConfig is empty for the in-tree
// plugin, which is what scheduler_perf runs by default.
func prepare(dir, source string, w Workload, schedulerConfig []byte) error {
	content, err := os.ReadFile(filepath.Join(source, "performance-config.yaml"))
	if err != nil {
		return fmt.Errorf("read the workloads of scheduler_perf: %w", err)
	}
	config, err := workloadConfig(content, w, len(schedulerConfig) > 0)
	if err != nil {
		return fmt.Errorf("workload %s: %w", w.upstream, err)
	}
	files := map[string][]byte{WorkloadFile: config}
	if len(schedulerConfig) > 0 {
		files[schedulerFile] = schedulerConfig
	}
	if w.withoutClaims {
		pod, err := os.ReadFile(filepath.Join(source, filepath.FromSlash(podTemplate)))
		if err != nil {
			return fmt.Errorf("read the template of the pods: %w", err)
		}
		if files[barePodFile], err = withoutClaims(pod); err != nil {
			return fmt.Errorf("%s: %w", podTemplate, err)
		}
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return fmt.Errorf("write the configuration of a sample: %w", err)
		}
	}
	if err := os.Symlink(filepath.Join(source, templatesDir), filepath.Join(dir, templatesDir)); err != nil {
		return fmt.Errorf("link the templates of scheduler_perf: %w", err)
	}
	return nil
}

// workloadConfig leaves one workload of a configuration of scheduler_perf. Thresholds
// go: they are of other machines, and a slow sample is not an error.
func workloadConfig(content []byte, w Workload, ownScheduler bool) ([]byte, error) {
	var cases []map[string]any
	if err := yaml.Unmarshal(content, &cases); err != nil {
		return nil, fmt.Errorf("parse the configuration: %w", err)
	}
	i := slices.IndexFunc(cases, func(c map[string]any) bool { return c["name"] == testCase })
	if i < 0 {
		return nil, fmt.Errorf("there is no test case %s", testCase)
	}
	c := cases[i]
	workload, err := named(c["workloads"], w.upstream)
	if err != nil {
		return nil, err
	}
	delete(workload, "threshold")
	workload["labels"] = []string{Label}
	params, ok := workload["params"].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("workload %s has no params", w.upstream)
	}
	for name, value := range w.params {
		if _, known := params[name]; !known {
			return nil, fmt.Errorf("workload %s has no parameter %s", w.upstream, name)
		}
		params[name] = value
	}
	c["workloads"] = []any{workload}
	if ownScheduler {
		c["schedulerConfigPath"] = schedulerFile
	}
	if w.withoutClaims {
		if err := replacePods(c["workloadTemplate"]); err != nil {
			return nil, err
		}
	}
	return yaml.Marshal([]any{c})
}

// named finds the element of a list of objects that has the name.
func named(list any, name string) (map[string]any, error) {
	elements, _ := list.([]any)
	for _, element := range elements {
		if object, ok := element.(map[string]any); ok && object["name"] == name {
			return object, nil
		}
	}
	return nil, fmt.Errorf("there is no workload %s in test case %s", name, testCase)
}

// replacePods gives the operations that make pods with claims the template without.
func replacePods(template any) error {
	operations, _ := template.([]any)
	found := false
	for _, operation := range operations {
		if o, ok := operation.(map[string]any); ok && o["podTemplatePath"] == podTemplate {
			o["podTemplatePath"] = barePodFile
			found = true
		}
	}
	if !found {
		return fmt.Errorf("no operation of test case %s makes pods from %s", testCase, podTemplate)
	}
	return nil
}

// withoutClaims takes the claims out of a pod.
func withoutClaims(pod []byte) ([]byte, error) {
	var object map[string]any
	if err := yaml.Unmarshal(pod, &object); err != nil {
		return nil, fmt.Errorf("parse the pod: %w", err)
	}
	spec, _ := object["spec"].(map[string]any)
	containers, _ := spec["containers"].([]any)
	if spec["resourceClaims"] == nil || len(containers) == 0 {
		return nil, fmt.Errorf("the pod has %d containers and resource claims %v, expected some of both", len(containers), spec["resourceClaims"])
	}
	delete(spec, "resourceClaims")
	for _, container := range containers {
		delete(container.(map[string]any), "resources")
	}
	return yaml.Marshal(object)
}
