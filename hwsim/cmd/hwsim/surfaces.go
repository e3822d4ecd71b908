package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/dray-dev/dray/hwsim/machine"
	"github.com/dray-dev/dray/hwsim/surface"
)

func newSurfaces() *cobra.Command {
	var files []string
	var dir string
	var id machine.Identity
	c := &cobra.Command{
		Use:   "surfaces NAME --dir DIR",
		Short: "Write what a driver reads of a machine",
		Long: "surfaces writes the files that a driver reads of a machine: sysfs, procfs, device\n" +
			"nodes by type and number, and the libraries of its GPUs. Of a rack, each node's\n" +
			"are in a directory of the node's name. A directory that holds other files is\n" +
			"left alone; one that holds a surface is replaced.",
		Example: "  # a DGX H100 below dgx/\n" +
			"  hwsim surfaces dgx-h100 --dir dgx\n\n" +
			"  # the 18 trays of a rack, below racks/rack-1-tray-00 and so on\n" +
			"  hwsim surfaces gb200-nvl72 --dir racks --name rack-1",
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			if dir == "" {
				return usageError{errors.New("--dir is missing: the directory to write to")}
			}
			machines, err := choose(files, args)
			if err != nil {
				return err
			}
			if id.Name == "" {
				id.Name = machines[0].Name()
			}
			written, err := writeSurfaces(machines[0], id, dir)
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

// writeSurfaces writes the surfaces of an instance, and returns those that were
// written before an error.
func writeSurfaces(m *machine.Machine, id machine.Identity, dir string) ([]written, error) {
	if m.Kind() == machine.PoolKind {
		return nil, fmt.Errorf("machine %s is a pool: no node has its devices, so there is nothing to read", m.Name())
	}
	nodes := m.Instantiate(id).Nodes
	for _, node := range nodes { // before any is written; the name of a rack's node is that of a directory
		if problems := validation.IsDNS1123Subdomain(node.Name); len(problems) > 0 {
			return nil, usageError{fmt.Errorf("--name is %q, and would name the node %q: %s", id.Name, node.Name, problems[0])}
		}
	}
	var done []written
	for _, node := range nodes {
		to := dir
		if m.Kind() == machine.RackKind {
			to = filepath.Join(dir, node.Name)
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return done, fmt.Errorf("node %s: %w", node.Name, err)
			}
		}
		if err := surface.Write(to, node.Hardware); err != nil {
			return done, fmt.Errorf("node %s: %w", node.Name, err)
		}
		done = append(done, written{to, node.Name})
	}
	return done, nil
}
