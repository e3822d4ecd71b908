package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/dray-dev/dray/hwsim/state"
)

func newWrite() *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:   "write FILE TEXT --dir DIR",
		Short: "Write to a file of a machine, as to a kernel's",
		Long: "write writes a line to a file of the machine, and the machine does what a kernel\n" +
			"does of it, or refuses it with the kernel's error: a number of virtual functions\n" +
			"to sriov_numvfs, an address to the bind of a driver, a type to\n" +
			"current_vgpu_type. A shell that writes below DIR/root changes no more than the\n" +
			"file. FILE is as on the machine, with or without the first slash.",
		Example: "  hwsim write --dir node /sys/class/net/ens1f1np1/device/sriov_numvfs 0",
		Args:    arguments(cobra.ExactArgs(2)),
		RunE: func(_ *cobra.Command, args []string) error {
			f, err := openFolder(dir)
			if err != nil {
				return err
			}
			name := strings.TrimPrefix(args[0], "/")
			err = f.Host().WriteFile(name, []byte(args[1]+"\n"))
			if errors.Is(err, state.ErrBehind) {
				return err
			}
			var errno syscall.Errno
			if errors.As(err, &errno) {
				return fmt.Errorf("%s: %w", args[0], errno)
			}
			if path := (*fs.PathError)(nil); errors.As(err, &path) {
				return fmt.Errorf("%s: %w", args[0], path.Err)
			}
			return err
		},
	}
	folderFlag(c, &dir)
	return c
}
