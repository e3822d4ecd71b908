package command

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	_ "k8s.io/kubernetes/pkg/features"
)

func TestTheDocumentOfFeaturesHasTheGatesOfDRAAsTheyAre(t *testing.T) {
	content, err := os.ReadFile("../../docs/features.md")
	if err != nil {
		t.Fatal(err)
	}
	stages := map[string]string{string(featuregate.Alpha): "Alpha", string(featuregate.Beta): "Beta", "": "GA"}
	var want []string
	for name, spec := range feature.DefaultMutableFeatureGate.GetAll() {
		if name != "DynamicResourceAllocation" && !strings.HasPrefix(string(name), "DRA") {
			continue
		}
		state := map[bool]string{true: "on", false: "off"}[spec.Default]
		want = append(want, fmt.Sprintf("| `%s` | %s, %s |", name, stages[string(spec.PreRelease)], state))
	}
	slices.Sort(want)
	var got []string
	for line := range strings.Lines(string(content)) {
		if cells := strings.SplitN(line, "|", 4); strings.HasPrefix(line, "| `D") {
			got = append(got, "|"+cells[1]+"|"+cells[2]+"|")
		}
	}
	slices.Sort(got)
	if len(want) < 20 || !slices.Equal(got, want) {
		t.Errorf("docs/features.md has the rows\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
