package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dray-dev/dray/hwsim/fault"
	"github.com/dray-dev/dray/hwsim/scenario"
	"github.com/dray-dev/dray/hwsim/state"
)

func newReboot() *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:   "reboot --dir DIR",
		Short: "Boot a machine in a folder again",
		Long: "reboot boots the machine again. It loses what real hardware loses: virtual\n" +
			"functions, drivers that were bound otherwise, MIG instances and virtual GPUs,\n" +
			"MIG mode but on Ampere, bitstreams, device nodes of IMEX channels, and what is\n" +
			"broken. What a fabric has attached stays, as does what a driver is told to do\n" +
			"wrong. The machine's file says how it is delivered, not what it boots with: its\n" +
			"virtual functions are lost as others are.",
		Args: arguments(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			f, err := openFolder(dir)
			if err != nil {
				return err
			}
			if err := f.Update((*state.Tx).Reboot); err != nil {
				return err
			}
			view, err := f.View()
			if err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "%s: boot %d, %s\n", f.Name(), view.Boot.Number, view.Boot.ID)
			return nil
		},
	}
	folderFlag(c, &dir)
	return c
}

func newReset() *cobra.Command {
	var dir, gpu string
	var whole bool
	c := &cobra.Command{
		Use:   "reset --dir DIR (--gpu GPU | --machine)",
		Short: "Reset a GPU, or the whole machine to how it was delivered",
		Long: "reset resets a GPU that nobody uses: its instances are lost, a pending MIG mode\n" +
			"takes effect, and it works again after an error that wanted a reset. With\n" +
			"--machine it makes the machine be as it was delivered, with all that its file\n" +
			"says is there.",
		Example: "  hwsim reset --dir dgx --gpu 0",
		Args:    arguments(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if whole == (gpu != "") {
				return usageError{errors.New("give either --gpu or --machine")}
			}
			f, err := openFolder(dir)
			if err != nil {
				return err
			}
			err = f.Update(func(tx *state.Tx) error {
				if whole {
					return tx.Redeliver()
				}
				return tx.Step(&scenario.Step{Reset: &scenario.Reset{GPU: gpu}})
			})
			var field *fault.FieldError
			switch {
			case errors.As(err, &field):
				return fmt.Errorf("--gpu: %w", field.Err)
			case err != nil:
				return err
			case whole:
				fmt.Fprintf(c.OutOrStdout(), "%s is as it was delivered\n", f.Name())
			default:
				fmt.Fprintf(c.OutOrStdout(), "%s: GPU %s was reset\n", f.Name(), gpu)
			}
			return nil
		},
	}
	folderFlag(c, &dir)
	c.Flags().StringVar(&gpu, "gpu", "", "the `GPU`, by its PCI address, its UUID or its minor")
	c.Flags().BoolVar(&whole, "machine", false, "the whole machine")
	return c
}
