package scenario

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/dray-dev/dray/hwsim/machine"
)

//go:embed scenarios/*.yaml
var files embed.FS

// Names of the embedded scenarios, sorted.
func Names() []string {
	entries, err := files.ReadDir("scenarios")
	if err != nil {
		panic(err) // the directory is part of the binary
	}
	var names []string
	for _, entry := range entries {
		names = append(names, strings.TrimSuffix(entry.Name(), ".yaml"))
	}
	slices.Sort(names)
	return names
}

// Load returns an embedded scenario. The error matches machine.ErrNotFound if there
// is none of the name.
func Load(name string) (*Scenario, error) {
	file := "scenarios/" + name + ".yaml"
	text, err := files.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("scenario %q: %w; there are %s", name, machine.ErrNotFound, strings.Join(Names(), ", "))
	}
	return Parse(file, text)
}

// Text is the file of an embedded scenario.
func Text(name string) ([]byte, error) { return files.ReadFile("scenarios/" + name + ".yaml") }
