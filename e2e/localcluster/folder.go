package localcluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"k8s.io/component-base/version"
)

// folder is the directory that a cluster lives in, as an absolute path.
type folder string

func (f folder) path(name string) string       { return filepath.Join(string(f), name) }
func (f folder) pki(name string) string        { return filepath.Join(string(f), "pki", name) }
func (f folder) etcd() string                  { return f.path("etcd") }
func (f folder) kubeconfig(user string) string { return f.path("kubeconfig/" + user + ".yaml") }
func (f folder) log(of Role) string            { return f.path("log/" + string(of) + ".log") }
func (f folder) hardware(node string) string   { return f.path("hw/" + node) }
func (f folder) node(node, name string) string { return filepath.Join(string(f), "nodes", node, name) }

// openFolder makes the directory and those in it that are not made by others.
func openFolder(dir string) (folder, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	f := folder(absolute)
	for _, name := range []string{"", "kubeconfig", "log", "hw", "nodes"} {
		if err := os.MkdirAll(f.path(name), 0o700); err != nil {
			return "", fmt.Errorf("the folder %s of the cluster cannot be made: %w", absolute, err)
		}
	}
	return f, nil
}

// turnLogs begins new logs and keeps those of the last time as NAME.log.last.
func (f folder) turnLogs() error {
	for _, of := range Roles() {
		if err := os.Rename(f.log(of), f.log(of)+".last"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// layout is the version of what is in the folder. It goes up when an older program
// could not go on with what a newer one wrote, or the other way round.
const layout = 1

// state is cluster.json: what must be the same the next time.
type state struct {
	Layout     int          `json:"layout"`
	Kubernetes string       `json:"kubernetes"` // minor version, such as 1.37
	Ports      map[Role]int `json:"ports"`
	// Data says that etcd/ holds data: etcd has been ready once.
	Data bool `json:"data"`
	// Driver is how the driver runs.
	Driver DriverOptions `json:"driver"`
}

func (s *state) port(of Role) string { return strconv.Itoa(s.Ports[of]) }

// ErrOtherVersion: the folder holds the data of a program that this one cannot
// follow.
var ErrOtherVersion = errors.New("use the program that made it, take another folder, or remove this one")

// readState returns the state of the cluster in the folder, or that of a new one.
func readState(dir folder) (*state, error) {
	s := &state{Layout: layout, Kubernetes: version.DefaultKubeBinaryVersion, Ports: map[Role]int{}}
	path := dir.path("cluster.json")
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	} else if err != nil {
		return nil, err
	}
	var found state
	if err := json.Unmarshal(content, &found); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", path, err)
	}
	if found.Layout != s.Layout || found.Kubernetes != s.Kubernetes {
		return nil, fmt.Errorf("the cluster in %s was made for Kubernetes %s, layout %d, and this program is for %s, layout %d: %w",
			dir, found.Kubernetes, found.Layout, s.Kubernetes, s.Layout, ErrOtherVersion)
	}
	s.Data, s.Driver = found.Data, found.Driver
	if found.Ports != nil {
		s.Ports = found.Ports
	}
	return s, nil
}

func (s *state) write(dir folder) error {
	content, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(dir.path("cluster.json"), append(content, '\n'))
}

// writeFile writes a file in full or not at all. Only its owner may read it.
func writeFile(path string, content []byte) error {
	temporary := path + ".new"
	if err := os.WriteFile(temporary, content, 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}
