package command

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/component-base/metrics"
	"sigs.k8s.io/yaml"

	"github.com/dray-dev/dray/kubeletplugin/api"
	"github.com/dray-dev/dray/kubeletplugin/driver"
)

func document(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "driver.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestTheDocumentHasEveryFlag of all binaries, with its variable and its default.
func TestTheDocumentHasEveryFlag(t *testing.T) {
	text := document(t)
	var f Flags
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.add(set)
	set.VisitAll(func(f *pflag.Flag) {
		value := strings.TrimPrefix(f.DefValue, "0s")
		row := regexp.MustCompile("(?m)^\\| `--" + f.Name + "` \\| `" + Variable(f.Name) + "` \\| `?" + regexp.QuoteMeta(value) + "`? ?\\| .+ \\|$")
		if !row.MatchString(text) {
			t.Errorf("there is no row of --%s with %s and default %q", f.Name, Variable(f.Name), value)
		}
	})
	known := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.add(known)
	logsapi.AddFlags(logsapi.NewLoggingConfiguration(), known)
	others := []string{"node-name", "host-root", "nvidia-driver-root", "nvml-library"}
	for _, row := range regexp.MustCompile("(?m)^\\| `--([a-z-]+)`").FindAllStringSubmatch(text, -1) {
		if known.Lookup(row[1]) == nil && !strings.Contains(" "+strings.Join(others, " ")+" ", " "+row[1]+" ") {
			t.Errorf("there is no flag --%s", row[1])
		}
	}
}

// TestTheDocumentsConfigurationsAreTaken as they stand there.
func TestTheDocumentsConfigurationsAreTaken(t *testing.T) {
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(document(t), -1)
	if len(blocks) < 3 {
		t.Fatalf("there are %d", len(blocks))
	}
	for _, block := range blocks {
		parameters, err := yaml.YAMLToJSON([]byte(block[1]))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := api.Decode(parameters); err != nil {
			t.Errorf("%s%v", block[1], err)
		}
	}
}

func TestTheDocumentHasEveryMetric(t *testing.T) {
	registry := metrics.NewKubeRegistry()
	driver.NewMetrics(registry).Begin("d")
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if !strings.Contains(document(t), "| `"+family.GetName()+"` |") {
			t.Errorf("there is no row of %s", family.GetName())
		}
	}
}
