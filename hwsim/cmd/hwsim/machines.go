package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dray-dev/dray/hwsim/machine"
)

func newMachines() *cobra.Command {
	var files []string
	var output string
	c := &cobra.Command{
		Use:   "machines [NAME]",
		Short: "List machines, or describe one",
		Long: "machines lists the machines that hwsim has, or with a name describes one: its\n" +
			"functions by NUMA node and PCIe root, its models with their MIG profiles, and\n" +
			"how sure each of it is.\n\n" +
			"With --file it describes the machine of a file, or lists those of several. -o\n" +
			"yaml prints a machine as a file with all that it refers to, which --file reads\n" +
			"again; several machines are as many documents, each for a file of its own.",
		Example: "  # which machines there are\n" +
			"  hwsim machines\n\n" +
			"  # what a DGX H100 is\n" +
			"  hwsim machines dgx-h100\n\n" +
			"  # begin a machine of your own, and check it\n" +
			"  hwsim machines l40s -o yaml > my.yaml\n" +
			"  hwsim machines --file my.yaml",
		Args: arguments(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			if !slices.Contains([]string{"", "yaml", "json"}, output) {
				return usageError{fmt.Errorf("--output is %q: it can be yaml or json", output)}
			}
			machines, err := choose(files, args)
			if err != nil {
				return err
			}
			if output == "" && len(args) == 0 && len(files) != 1 {
				return printSummary(c.OutOrStdout(), machines)
			}
			for i, m := range machines {
				if err := printMachine(c.OutOrStdout(), m, output, i > 0); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().StringArrayVarP(&files, "file", "f", nil, "take the machine of a `FILE`; can be repeated")
	c.Flags().StringVarP(&output, "output", "o", "", "print machine files as `yaml|json`")
	return c
}

// choose loads the machines that are meant: one by name, or all of the files, or
// all that are embedded.
func choose(files, args []string) ([]*machine.Machine, error) {
	var machines []*machine.Machine
	if len(files) == 0 {
		names := args
		if len(names) == 0 {
			names = machine.Names()
		}
		for _, name := range names {
			m, err := machine.Load(name)
			if err != nil {
				return nil, err
			}
			machines = append(machines, m)
		}
		return machines, nil
	}
	from := map[string]string{} // file by name of its machine
	for _, file := range files {
		m, err := machine.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if other, ok := from[m.Name()]; ok {
			return nil, fmt.Errorf("%s: its machine %q is also that of %s", file, m.Name(), other)
		}
		from[m.Name()] = file
		if len(args) == 0 || m.Name() == args[0] {
			machines = append(machines, m)
		}
	}
	if len(machines) == 0 {
		return nil, fmt.Errorf("machine %q: %w in %s; there are %s", args[0], machine.ErrNotFound,
			strings.Join(files, ", "), strings.Join(slices.Sorted(maps.Keys(from)), ", "))
	}
	return machines, nil
}

// printMachine prints one machine in a form. Machines after the first are set apart.
func printMachine(w io.Writer, m *machine.Machine, form string, separate bool) error {
	separator, encode := "\n", describe
	switch form {
	case "yaml":
		separator, encode = "---\n", func(f *machine.File) ([]byte, error) { return f.YAML() }
	case "json":
		separator, encode = "", func(f *machine.File) ([]byte, error) { return f.JSON() }
	}
	text, err := encode(m.Resolved())
	if err != nil {
		return err
	}
	if separate {
		text = append([]byte(separator), text...)
	}
	_, err = w.Write(text)
	return err
}
