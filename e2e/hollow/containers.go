package hollow

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	oci "github.com/opencontainers/runtime-spec/specs-go"
	"tags.cncf.io/container-device-interface/pkg/cdi"

	"github.com/dray-dev/dray/e2e/hollow/shown"
	cdidriver "github.com/dray-dev/dray/kubeletplugin/cdi"
)

// devices resolves CDI devices from the files of a folder.
type devices struct {
	mu    sync.Mutex
	cache *cdi.Cache
}

// newDevices does not watch the folder, which takes an inotify instance: files are
// read when a container starts.
func newDevices(dir string) *devices {
	// The library returns no error with these options.
	cache, _ := cdi.NewCache(cdi.WithSpecDirs(dir), cdi.WithAutoRefresh(false))
	return &devices{cache: cache}
}

// resolve does what a container runtime does with CDI devices.
func (d *devices) resolve(ids []string) (*shown.Given, error) {
	given := &shown.Given{CDI: ids}
	if len(ids) == 0 {
		return given, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	// A file that cannot be read matters only if a device is missing for it.
	problem := d.cache.Refresh()
	spec := &oci.Spec{Linux: &oci.Linux{}, Process: &oci.Process{}}
	unknown, err := d.cache.InjectDevices(spec, ids...)
	if err != nil {
		if len(unknown) > 0 && problem != nil {
			err = fmt.Errorf("%w (%w)", err, problem)
		}
		return nil, fmt.Errorf("CDI devices: %w", err)
	}
	for _, device := range spec.Linux.Devices {
		given.Devices = append(given.Devices, device.Path)
	}
	for _, variable := range spec.Process.Env {
		name, value, _ := strings.Cut(variable, "=")
		if given.Env == nil {
			given.Env = map[string]string{}
		}
		given.Env[name] = value
	}
	for _, mount := range spec.Mounts {
		if given.Mounts == nil {
			given.Mounts = map[string]string{}
		}
		given.Mounts[mount.Destination] = mount.Source
		if path.Dir(mount.Destination) == cdidriver.SimulatedPath {
			hardware, err := readSimulated(mount.Source, ids)
			if err != nil {
				return nil, fmt.Errorf("CDI devices: %w", err)
			}
			given.Hardware = append(given.Hardware, hardware...)
		}
	}
	return given, nil
}

// readSimulated reads the file that names the simulated devices of a claim, and returns
// those that are among the CDI devices: others are of other containers of the pod.
func readSimulated(file string, ids []string) ([]shown.Hardware, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var claim struct {
		Claim   string           `json:"claim"`
		Devices []shown.Hardware `json:"devices"`
	}
	if err := json.Unmarshal(content, &claim); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return slices.DeleteFunc(claim.Devices, func(device shown.Hardware) bool {
		end := "=" + claim.Claim + "-" + device.Name // as kubeletplugin/cdi makes IDs
		return !slices.ContainsFunc(ids, func(id string) bool { return strings.HasSuffix(id, end) })
	}), nil
}
