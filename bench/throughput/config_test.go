package throughput

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const configuration = `
- name: Another
  workloads:
  - name: fast
- name: SchedulingWithResourceClaimTemplate
  workloadTemplate:
  - opcode: createNodes
    countParam: $nodes
  - opcode: createPods
    podTemplatePath: templates/pod-with-claim-template.yaml
  workloads:
  - name: fast
    labels: [short]
    params: {nodes: 1}
  - name: slow
    threshold: {dra: 56}
    labels: [performance]
    params: {nodes: 500}
`

const pod = `
metadata: {generateName: test}
spec:
  containers:
  - name: only
    image: pause
    resources: {claims: [{name: resource}]}
  resourceClaims:
  - {name: resource, resourceClaimTemplateName: template}
`

func TestOneWorkloadIsLeftWithoutItsThreshold(t *testing.T) {
	for name, test := range map[string]struct {
		workload Workload
		own      bool
		want     string
	}{
		"in-tree": {Workload{upstream: "slow"}, false, `
- name: SchedulingWithResourceClaimTemplate
  workloadTemplate:
  - {opcode: createNodes, countParam: $nodes}
  - {opcode: createPods, podTemplatePath: templates/pod-with-claim-template.yaml}
  workloads:
  - {name: slow, labels: [measured], params: {nodes: 500}}
`},
		"ours, without claims": {Workload{upstream: "fast", withoutClaims: true, params: map[string]any{"nodes": 7}}, true, `
- name: SchedulingWithResourceClaimTemplate
  schedulerConfigPath: scheduler.yaml
  workloadTemplate:
  - {opcode: createNodes, countParam: $nodes}
  - {opcode: createPods, podTemplatePath: pod-without-claim.yaml}
  workloads:
  - {name: fast, labels: [measured], params: {nodes: 7}}
`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := workloadConfig([]byte(configuration), test.workload, test.own)
			if err != nil {
				t.Fatal(err)
			}
			if normal(t, got) != normal(t, []byte(test.want)) {
				t.Errorf("got\n%s\nwant%s", got, test.want)
			}
		})
	}
}

func TestAConfigurationThatHasChangedIsAnError(t *testing.T) {
	for want, test := range map[string]struct{ from, to, workload string }{
		"there is no test case":          {testCase, "Renamed", "fast"},
		"there is no workload missing":   {"", "", "missing"},
		"no operation of test case":      {podTemplate, "templates/other.yaml", "fast"},
		"parse the configuration: error": {"workloads:", "workloads", "fast"},
	} {
		content := strings.ReplaceAll(configuration, test.from, test.to)
		if test.from == "" {
			content = configuration
		}
		_, err := workloadConfig([]byte(content), Workload{upstream: test.workload, withoutClaims: true}, false)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want one with %q", err, want)
		}
	}
}

func TestAPodLosesItsClaimsAndNothingElse(t *testing.T) {
	got, err := withoutClaims([]byte(pod))
	if err != nil {
		t.Fatal(err)
	}
	want := "{metadata: {generateName: test}, spec: {containers: [{name: only, image: pause}]}}"
	if normal(t, got) != normal(t, []byte(want)) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if _, err := withoutClaims(got); err == nil {
		t.Error("a pod that has no claims was taken")
	}
}

func TestTheThroughputIsRead(t *testing.T) {
	for name, test := range map[string]struct {
		files map[string]string
		want  float64
		err   string
	}{
		"throughput": {map[string]string{"a.json": `{"dataItems":[{"data":{"Average":9},"unit":"ms","labels":{"Metric":"other"}},
			{"data":{"Average":54.5},"unit":"pods/s","labels":{"Metric":"SchedulingThroughput"}}]}`, "a.dat": ""}, 54.5, ""},
		"no file":    {nil, 0, "0 files of results"},
		"two files":  {map[string]string{"a.json": "{}", "b.json": "{}"}, 0, "2 files of results"},
		"no such":    {map[string]string{"a.json": `{"dataItems":[]}`}, 0, "no SchedulingThroughput"},
		"none a sec": {map[string]string{"a.json": `{"dataItems":[{"data":{"Average":0},"unit":"pods/s","labels":{"Metric":"SchedulingThroughput"}}]}`}, 0, "no SchedulingThroughput"},
		"cut off":    {map[string]string{"a.json": `{"dataItems":[`}, 0, "parse the results"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for name, content := range test.files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			got, err := readThroughput(dir)
			if got != test.want || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("got %g and error %v, want %g and %q", got, err, test.want, test.err)
			}
		})
	}
}

// normal is YAML with sorted keys.
func normal(t *testing.T, content []byte) string {
	t.Helper()
	var object any
	if err := yaml.Unmarshal(content, &object); err != nil {
		t.Fatal(err)
	}
	normal, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(normal)
}
