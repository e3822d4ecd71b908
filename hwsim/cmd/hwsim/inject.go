package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dray-dev/dray/hwsim/fault"
	"github.com/dray-dev/dray/hwsim/scenario"
	"github.com/dray-dev/dray/hwsim/state"
)

func newInject() *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:   "inject FAULT --dir DIR",
		Short: "Break a machine in a folder",
		Long: "inject lets a fault happen now, and says what a driver must show of it. The\n" +
			"fault is a line of YAML, as in a step of a scenario. There are\n\n" +
			"  xid: {gpu: 0, code: 79}                        an error of a GPU by its XID\n" +
			"  ecc: {gpu: 0, kind: double}                    a memory error; or single\n" +
			"  gpuLost: {gpu: 0}                              a GPU falls off the bus\n" +
			"  thermal: {gpu: 0, for: 30s}                    a GPU is too hot\n" +
			"  link: {nic: ens1np0, down: 3s}                 a link flaps\n" +
			"  driverLate: {driver: gpu, for: 20s}            a pool has no devices yet\n" +
			"  halfPublished: {driver: gpu, for: 20s}         slices are missing\n" +
			"  poolVanished: {driver: gpu, for: 20s}          a pool has no slices\n" +
			"  slowPrepare: {driver: gpu, takes: 30s, times: 1}\n" +
			"                                                 claims take long to prepare\n" +
			"  attachFailure: {device: l40s-0}                a fabric refuses a device\n" +
			"  attachTimeout: {device: l40s-0}                a device never arrives\n\n" +
			"A GPU is named by its PCI address, its UUID or its minor, a NIC by its address,\n" +
			"its interface or its RDMA device; any is the first that there is.",
		Example: "  hwsim inject --dir dgx 'xid: {gpu: 0, code: 79}'",
		Args:    arguments(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			f, err := openFolder(dir)
			if err != nil {
				return err
			}
			broken, err := scenario.ParseFault("FAULT", []byte(args[0]))
			if err != nil {
				return err
			}
			if err := f.Update(func(tx *state.Tx) error { return tx.Inject(broken) }); err != nil {
				return placed(err)
			}
			signs := broken.Signs()
			if len(signs) == 0 {
				fmt.Fprintln(c.OutOrStdout(), "a driver must show nothing of it")
			}
			for i := range signs {
				fmt.Fprintf(c.OutOrStdout(), "a driver must show %s\n", signText(&signs[i]))
			}
			return nil
		},
	}
	folderFlag(c, &dir)
	return c
}

// placed says where the fault stands that is wrong for this machine.
func placed(err error) error {
	var field *fault.FieldError
	if errors.As(err, &field) {
		return fmt.Errorf("FAULT: %w", err)
	}
	return err
}

// signText is a sign in words: "the taint gpu.nvidia.com/xid=79:NoSchedule on devices
// of the GPU, until the driver starts anew".
func signText(s *fault.Sign) string {
	what := s.Name
	if s.Value != "" {
		what += "=" + s.Value
	}
	if s.Effect != "" {
		what += ":" + s.Effect
	}
	kind := "the " + string(s.Kind) + " "
	if s.Kind == fault.SlicesSign {
		kind = ""
	}
	return strings.TrimSpace(fmt.Sprintf("%s%s on the %s, until %s (%s)", kind, what, s.On, s.Until, s.Source))
}
