package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/dray-dev/dray/hwsim/machine"
	"github.com/dray-dev/dray/hwsim/surface"
)

func newSurfaces() *cobra.Command {
	var files []string
	var dir string
	var id machine.Identity
	c := &cobra.Command{
		Use:   "surfaces [NAME] --dir DIR",
		Short: "Write what a driver reads of a machine",
		Long: "surfaces writes the files that a driver reads of a machine: sysfs, procfs, device\n" +
			"nodes by type and number, and the libraries of its GPUs. Of a rack, each node's\n" +
			"are in a directory of the node's name. Directories that are missing are made. One\n" +
			"that holds other files is left alone; one that holds a surface is replaced. After\n" +
			"an error, or an interrupt, all is as it was.",
		Example: "  # a DGX H100 below dgx/\n" +
			"  hwsim surfaces dgx-h100 --dir dgx\n\n" +
			"  # the 18 trays of a rack, below racks/rack-1-tray-00 and so on\n" +
			"  hwsim surfaces gb200-nvl72 --dir racks --name rack-1",
		Args: arguments(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			if dir == "" {
				return usageError{errors.New("--dir is missing: the directory to write to")}
			}
			machines, err := choose(files, args)
			if err != nil {
				return err
			}
			if len(machines) != 1 {
				return usageError{errors.New("give one machine")}
			}
			if id.Name == "" {
				id.Name = machines[0].Name()
			}
			interrupted, stop := untilInterrupted()
			defer stop()
			written, err := writeSurfaces(interrupted, machines[0], id, dir)
			for _, node := range written {
				fmt.Fprintf(c.OutOrStdout(), "%s: node %s\n", node.dir, node.name)
			}
			return err
		},
	}
	c.Flags().StringVarP(&dir, "dir", "d", "", "write to the directory `DIR`")
	c.Flags().StringVar(&id.Name, "name", "", "`NAME` of the node or rack; the machine's if not given")
	c.Flags().Uint64Var(&id.Seed, "seed", 0, "`NUMBER` that sets UUIDs of nodes with one name apart")
	c.Flags().StringArrayVarP(&files, "file", "f", nil, "take the machine of a `FILE`; can be repeated")
	return c
}

// written is a surface that there is now.
type written struct{ dir, name string }

// writeSurfaces writes the surfaces of an instance: all or, after an error or once
// the context is done, none. Should a finished surface not get its name, which takes
// a disk that fails, those before it are there and are returned.
func writeSurfaces(interrupted context.Context, m *machine.Machine, id machine.Identity, dir string) ([]written, error) {
	if m.Kind() == machine.PoolKind {
		return nil, fmt.Errorf("machine %s is a pool: no node has its devices, so there is nothing to read", m.Name())
	}
	nodes := m.Instantiate(id).Nodes
	for _, node := range nodes { // before any is written; the name of a rack's node is that of a directory
		if err := checkName(id.Name, node.Name); err != nil {
			return nil, err
		}
	}
	places := make([]written, len(nodes))
	parents := filepath.Dir(dir)
	for i, node := range nodes {
		places[i] = written{dir, node.Name}
		if m.Kind() == machine.RackKind {
			parents, places[i].dir = dir, filepath.Join(dir, node.Name)
		}
	}
	made, err := makeDirectories(parents)
	if err != nil {
		return nil, fmt.Errorf("--dir %s: %w", dir, err)
	}
	done, err := stageAndCommit(interrupted, nodes, places)
	if len(done) == 0 {
		removeDirectories(made)
	}
	return done, err
}

// stageAndCommit writes the surface of each node to its place.
func stageAndCommit(interrupted context.Context, nodes []machine.Node, places []written) ([]written, error) {
	surfaces := make([]*surface.Staged, len(nodes))
	for i, node := range nodes {
		staged, err := surface.Stage(places[i].dir, node.Hardware)
		if err != nil {
			return nil, fmt.Errorf("node %s: %w", node.Name, err)
		}
		defer staged.Discard()
		surfaces[i] = staged
		if interrupted.Err() != nil {
			return nil, errInterrupted
		}
	}
	for i, staged := range surfaces {
		if err := staged.Commit(); err != nil {
			return places[:i], fmt.Errorf("node %s: %w", places[i].name, err)
		}
	}
	return places, nil
}

// makeDirectories makes a directory and those above it, and returns those that
// were not there, the outermost first.
func makeDirectories(dir string) ([]string, error) {
	var missing []string
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err == nil && !info.IsDir() {
			return nil, fmt.Errorf("%s is a file", at)
		}
		if err == nil || !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at) {
			break // MkdirAll says what else is wrong
		}
		missing = append(missing, at)
	}
	slices.Reverse(missing)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		removeDirectories(missing)
		return nil, err
	}
	return missing, nil
}

// removeDirectories takes directories away again, as far as they are empty.
func removeDirectories(made []string) {
	for _, dir := range slices.Backward(made) {
		os.Remove(dir)
	}
}
