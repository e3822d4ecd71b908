package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// The exit codes.
const (
	exitOK      = 0
	exitInvalid = 1 // not found, or not valid
	exitUsage   = 2
	// exitInterrupted is what a shell makes of an interrupt.
	exitInterrupted = 130
)

// width of the terminal that texts are made for.
const width = 80

// usageError is a mistake in how the command was called.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// run executes the command and returns its exit code.
func run(args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	command, err := root.ExecuteC()
	if err == nil {
		return exitOK
	}
	fmt.Fprintln(stderr, err)
	if usage := (usageError{}); errors.As(err, &usage) {
		fmt.Fprintf(stderr, "See '%s --help'.\n", command.CommandPath())
		return exitUsage
	}
	if errors.Is(err, errInterrupted) {
		return exitInterrupted
	}
	return exitInvalid
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "hwsim",
		Short: "Simulated machines with GPUs, NICs and FPGAs",
		Long: "hwsim has machines that exist as data only: the devices of nodes, racks and\n" +
			"fabric pools, with addresses, NUMA nodes, PCIe roots and partitions as real ones\n" +
			"have them. In a folder such a machine runs: drivers use it, it breaks.",
		Example: "  hwsim machines dgx-h100\n  hwsim run dgx-h100 --dir dgx\n  hwsim inject --dir dgx 'xid: {gpu: 0, code: 79}'",
		Args:    arguments(cobra.NoArgs),
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
		// run prints errors itself, and usage only on request.
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(&cobra.Command{Hidden: true})
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(newMachines(), newSurfaces(), newFleet(), newRun(), newState(), newReboot(), newReset(), newInject(), newMIG(), newWrite())
	return root
}

// arguments makes what a check of arguments finds a mistake in usage.
func arguments(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			return usageError{err}
		}
		return nil
	}
}
