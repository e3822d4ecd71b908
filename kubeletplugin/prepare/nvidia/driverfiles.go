package nvidia

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"tags.cncf.io/container-device-interface/specs-go"
)

// Containers need the libraries of the driver that the host runs: those of an image
// would be of another version. Which they are tells their names, which end in the
// driver's version.

// libraryFolders are where distributions put them, below the driver's root.
var libraryFolders = []string{"usr/lib64", "usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu", "usr/lib"}

// programs that come with the driver and that containers call.
var programs = []string{"nvidia-smi", "nvidia-debugdump", "nvidia-cuda-mps-control", "nvidia-cuda-mps-server"}

// ldcacheHook is a program of NVIDIA's container toolkit that makes libraries known
// to the container's loader. Without it containers find those in the folders that
// their own distribution has.
const ldcacheHook = "usr/bin/nvidia-cdi-hook"

var readOnly = []string{"ro", "nosuid", "nodev", "rbind", "rprivate"}

// addDriverFiles adds the driver's libraries and programs.
func (m *machine) addDriverFiles(edits *specs.ContainerEdits) error {
	version, err := m.options.Library.DriverVersion()
	if err != nil {
		return err
	}
	var folders []string
	for _, folder := range libraryFolders {
		names, err := m.libraries(folder, version)
		if err != nil {
			return err
		}
		for _, name := range names {
			edits.Mounts = append(edits.Mounts, m.mount(path.Join(folder, name)))
		}
		if len(names) > 0 {
			folders = append(folders, folder)
		}
	}
	for _, name := range programs {
		there, err := m.exists(m.inDriverRoot(path.Join("usr/bin", name)))
		if err != nil {
			return err
		}
		if there {
			edits.Mounts = append(edits.Mounts, m.mount(path.Join("usr/bin", name)))
		}
	}
	if there, err := m.exists(ldcacheHook); err != nil || !there || len(folders) == 0 {
		return err
	}
	args := []string{path.Base(ldcacheHook), "update-ldcache"}
	for _, folder := range folders {
		args = append(args, "--folder", "/"+folder)
	}
	edits.Hooks = append(edits.Hooks, &specs.Hook{HookName: "createContainer", Path: "/" + ldcacheHook, Args: args})
	return nil
}

// libraries of the driver in a folder, in order: the files, and the links to them by
// which programs know them.
func (m *machine) libraries(folder, version string) ([]string, error) {
	entries, err := fs.ReadDir(m.options.Host, m.inDriverRoot(folder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for _, entry := range entries {
		there[entry.Name()] = true
	}
	var names []string
	for name := range there {
		library, ok := strings.CutSuffix(name, ".so."+version)
		if !ok {
			continue
		}
		names = append(names, name)
		if link := library + ".so.1"; there[link] && link != name {
			names = append(names, link)
		}
	}
	slices.Sort(names)
	return names, nil
}

// mount gives a container a file of the driver at the place that it has there.
func (m *machine) mount(name string) *specs.Mount {
	return &specs.Mount{HostPath: "/" + m.inDriverRoot(name), ContainerPath: "/" + name, Options: readOnly}
}

// inDriverRoot is the name of a file of the driver on the host.
func (m *machine) inDriverRoot(name string) string {
	return path.Join(strings.Trim(m.options.DriverRoot, "/"), name)
}

func (m *machine) exists(name string) (bool, error) {
	_, err := m.options.Host.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
