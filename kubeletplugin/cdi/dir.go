package cdi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	cdilibrary "tags.cncf.io/container-device-interface/pkg/cdi"
	"tags.cncf.io/container-device-interface/pkg/parser"

	"github.com/dray-dev/dray/kubeletplugin/internal/atomicfile"
)

// class is the second part of all IDs.
const class = "claim"

// extension of the files; runtimes read JSON as well as YAML.
const extension = ".json"

// Options say where and as who.
type Options struct {
	// Driver is the name of the DRA driver.
	Driver string
	// Dir is where runtimes look: /var/run/cdi.
	Dir string
	// SimulatedDir is empty on real hardware. Otherwise it is where the files are
	// that name it; it must be the same path for the runtime, and not Dir.
	SimulatedDir string
	// Step, if set, is called before each change to the disk (atomicfile.Writer).
	Step func(what string)
}

// Dir is the folder with the files of one driver. Calls about different claims may
// be made at the same time.
type Dir struct {
	options Options
	vendor  string
}

// NewDir makes the folders if there are none.
func NewDir(options Options) (*Dir, error) {
	d := &Dir{options: options, vendor: "k8s." + options.Driver}
	if err := parser.ValidateVendorName(d.vendor); err != nil {
		return nil, fmt.Errorf("CDI: driver %q: %w", options.Driver, err)
	}
	if options.Dir == "" || filepath.Clean(options.Dir) == filepath.Clean(options.SimulatedDir) {
		return nil, errors.New("CDI: a folder of its own is needed")
	}
	for _, dir := range d.folders() {
		if !filepath.IsAbs(dir) {
			return nil, fmt.Errorf("CDI: %s is not an absolute path", dir)
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, fmt.Errorf("CDI: %w", err)
		}
	}
	return d, nil
}

func (d *Dir) folders() []string {
	if d.options.SimulatedDir == "" {
		return []string{d.options.Dir}
	}
	return []string{d.options.Dir, d.options.SimulatedDir}
}

// Name of a device in a claim, or of a share of one.
func Name(device string, share *types.UID) string {
	if share == nil {
		return device
	}
	return device + "-" + string(*share)
}

// ID is what the kubelet is told: k8s.gpu.dray.dev/claim=<uid>-gpu-0.
func (d *Dir) ID(claim types.UID, name string) string {
	return parser.QualifiedName(d.vendor, class, deviceName(claim, name))
}

func deviceName(claim types.UID, name string) string { return string(claim) + "-" + name }

// path of the claim's file in one of the folders.
func (d *Dir) path(folder string, claim types.UID) string {
	return filepath.Join(folder, cdilibrary.GenerateTransientSpecName(d.vendor, class, string(claim))+extension)
}

// Write makes the claim's file, or replaces it if it says something else. The
// file that names simulated hardware is there before it.
func (d *Dir) Write(claim *Claim) error {
	spec, err := d.spec(claim)
	if err == nil && d.options.SimulatedDir != "" {
		writer := atomicfile.Writer{Step: d.options.Step}
		err = replace(&writer, d.path(d.options.SimulatedDir, claim.UID), hardwareOf(claim))
	}
	if err == nil {
		writer := atomicfile.Writer{Step: d.options.Step, Check: func(temporary string) error {
			_, err := cdilibrary.ReadSpec(temporary, 0)
			return err
		}}
		err = replace(&writer, d.path(d.options.Dir, claim.UID), spec)
	}
	if err != nil {
		return fmt.Errorf("CDI: claim %s: %w", claim.UID, err)
	}
	return nil
}

// replace writes a value unless the file has it already.
func replace(writer *atomicfile.Writer, path string, value any) error {
	content, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	content = append(content, '\n')
	if present, err := os.ReadFile(path); err == nil && bytes.Equal(present, content) {
		return nil
	}
	return writer.Write(path, content, 0o644)
}

// Remove removes what there is of a claim. It is no error if that is nothing.
func (d *Dir) Remove(claim types.UID) error {
	writer := atomicfile.Writer{Step: d.options.Step}
	for _, folder := range d.folders() {
		if err := writer.Remove(d.path(folder, claim)); err != nil {
			return fmt.Errorf("CDI: claim %s: %w", claim, err)
		}
	}
	return nil
}

// List returns the claims that have files here, or something that a killed writer
// left, in order.
func (d *Dir) List() ([]types.UID, error) {
	var claims []types.UID
	prefix := cdilibrary.GenerateTransientSpecName(d.vendor, class, "")
	for _, folder := range d.folders() {
		entries, err := os.ReadDir(folder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("CDI: %w", err)
		}
		for _, entry := range entries {
			name, isOurs := strings.CutPrefix(strings.TrimSuffix(entry.Name(), atomicfile.Suffix), prefix)
			claim, isJSON := strings.CutSuffix(name, extension)
			if isOurs && isJSON && claim != "" {
				claims = append(claims, types.UID(claim))
			}
		}
	}
	slices.Sort(claims)
	return slices.Compact(claims), nil
}
