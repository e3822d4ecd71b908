package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dray-dev/dray/hwsim/fault"
	"github.com/dray-dev/dray/hwsim/state"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// migOptions are the flags of hwsim mig and of the commands below it.
type migOptions struct {
	dir, gpu, output string
	at, in           int
	bare, all        bool
}

func newMIG() *cobra.Command {
	var o migOptions
	c := &cobra.Command{
		Use:   "mig --dir DIR",
		Short: "Partition the GPUs of a machine in a folder",
		Long: "mig does what nvidia-smi mig does: it switches the MIG mode of GPUs and makes,\n" +
			"lists and destroys GPU instances and compute instances. Without a command it\n" +
			"lists them. GPUs refuse what real ones refuse; what the slices of the machine's\n" +
			"driver show of it is the driver's.\n\n" +
			"A GPU is named by its PCI address, its UUID or its minor.",
		Example: "  hwsim mig on --dir dgx --gpu 0\n" +
			"  hwsim mig create 3g.40gb 1g.10gb --dir dgx --gpu 0\n" +
			"  hwsim mig --dir dgx\n" +
			"  hwsim mig destroy --all --dir dgx --gpu 0",
		Args: arguments(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return o.list(c.OutOrStdout()) },
	}
	c.PersistentFlags().StringVarP(&o.dir, "dir", "d", "", "the machine's folder `DIR`")
	c.PersistentFlags().StringVar(&o.gpu, "gpu", "", "the `GPU`; all of them are listed without")
	c.Flags().StringVarP(&o.output, "output", "o", "", "print as `yaml|json`")
	c.AddCommand(newMIGMode(&o, true), newMIGMode(&o, false), newMIGProfiles(&o), newMIGCreate(&o), newMIGDestroy(&o))
	return c
}

func newMIGMode(o *migOptions, on bool) *cobra.Command {
	word := map[bool]string{true: "on", false: "off"}[on]
	return &cobra.Command{
		Use:   word + " --dir DIR --gpu GPU",
		Short: "Switch the MIG mode of a GPU " + word,
		Long: "The mode of an A100 or A30 waits for the next reset of the GPU; others change it\n" +
			"at once. A GPU that is in use keeps its mode, as does one with instances.",
		Args: arguments(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return o.switchMode(c.OutOrStdout(), on) },
	}
}

func newMIGProfiles(o *migOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "profiles --dir DIR --gpu GPU",
		Short: "List what a GPU can be divided into, and what of it fits now",
		Args:  arguments(cobra.NoArgs),
		RunE:  func(c *cobra.Command, _ []string) error { return o.profiles(c.OutOrStdout()) },
	}
}

func newMIGCreate(o *migOptions) *cobra.Command {
	c := &cobra.Command{
		Use:   "create PROFILE... --dir DIR --gpu GPU",
		Short: "Make GPU instances, or compute instances in one",
		Long: "create makes a GPU instance of each profile, by its name or its ID, and in it a\n" +
			"compute instance of the same size. Where it lies is chosen so that most of the\n" +
			"GPU stays free, unless --at says where. With --in, it makes compute instances in\n" +
			"a GPU instance; their profiles are 1c, 2c and so on. All are made, or none.",
		Example: "  hwsim mig create 3g.40gb --at 4 --dir dgx --gpu 0\n" +
			"  hwsim mig create 4g.40gb --bare --dir dgx --gpu 0\n" +
			"  hwsim mig create 1c 3c --in 1 --dir dgx --gpu 0",
		Args: arguments(cobra.MinimumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error { return o.create(c.OutOrStdout(), args) },
	}
	o.at, o.in = anywhere, nowhere
	c.Flags().Var((*natural)(&o.at), "at", "the first memory `SLICE` of the only instance")
	c.Flags().Var((*natural)(&o.in), "in", "make compute instances in the GPU `INSTANCE`")
	c.Flags().BoolVar(&o.bare, "bare", false, "make GPU instances without a compute instance")
	return c
}

func newMIGDestroy(o *migOptions) *cobra.Command {
	c := &cobra.Command{
		Use:   "destroy INSTANCE[/COMPUTE]... --dir DIR --gpu GPU",
		Short: "Destroy GPU instances, or compute instances in them",
		Long: "destroy destroys GPU instances and the compute instances in them, or with\n" +
			"INSTANCE/COMPUTE a compute instance alone. What a process uses stays, and then\n" +
			"all stays. It takes about a second, as on a GPU.",
		Example: "  hwsim mig destroy 1 2/0 --dir dgx --gpu 0\n" +
			"  hwsim mig destroy --all --dir dgx --gpu 0",
		RunE: func(c *cobra.Command, args []string) error { return o.destroy(c.OutOrStdout(), args) },
	}
	c.Flags().BoolVar(&o.all, "all", false, "all GPU instances of the GPU")
	return c
}

// Values of --at and --in that stand for none, which nobody can give.
const (
	anywhere = -1
	nowhere  = -1
)

// natural is a flag from 0 on.
type natural int

func (n *natural) Set(text string) error {
	parsed, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return errors.New("it must be a number from 0 on")
	}
	*n = natural(parsed)
	return nil
}

// String is empty where nothing was given: then help shows no default.
func (n *natural) String() string {
	if *n < 0 {
		return ""
	}
	return strconv.Itoa(int(*n))
}

func (*natural) Type() string { return "int" }

// migTarget is a GPU of a machine in a folder, as it was when it was found.
type migTarget struct {
	folder *state.Folder
	gpu    *hardware.GPU
}

// target finds the GPU of --gpu, which must be one that can be partitioned, to change
// it.
func (o *migOptions) target() (*migTarget, error) {
	return o.targetOf(func(dir string) (*state.Folder, *state.View, error) {
		f, err := openFolder(dir)
		if err != nil {
			return nil, nil, err
		}
		view, err := f.View()
		return f, view, err
	})
}

// targetOf is target with another way to open the folder.
func (o *migOptions) targetOf(open func(dir string) (*state.Folder, *state.View, error)) (*migTarget, error) {
	if o.gpu == "" {
		return nil, usageError{errors.New("--gpu is missing: which GPU")}
	}
	f, view, err := open(o.dir)
	if err != nil {
		return nil, err
	}
	gpu, err := findGPU(view, o.gpu)
	if err != nil {
		return nil, err
	}
	if gpu.MIG == nil {
		return nil, fmt.Errorf("GPU %d, a %s, cannot be partitioned here", gpu.Minor, gpu.ProductName)
	}
	return &migTarget{f, gpu}, nil
}

func findGPU(view *state.View, name string) (*hardware.GPU, error) {
	if name == fault.Any { // which a scenario's seed chooses, and here nobody
		return nil, usageError{fmt.Errorf("--gpu is %q: name one GPU", name)}
	}
	address, err := view.Devices().Find("gpu", name)
	if err != nil {
		return nil, fmt.Errorf("--gpu: %w", err)
	}
	i := slices.IndexFunc(view.Node.GPUs, func(g hardware.GPU) bool { return g.Address.String() == address })
	return &view.Node.GPUs[i], nil
}

// inMode says why instances cannot be made or destroyed: the GPU is not in MIG mode.
func (t *migTarget) inMode(dir string) error {
	switch mig := t.gpu.MIG; {
	case mig.Enabled:
		return nil
	case mig.Pending:
		return fmt.Errorf("GPU %d gets into MIG mode when it is reset: hwsim reset --dir %s --gpu %d", t.gpu.Minor, dir, t.gpu.Minor)
	}
	return fmt.Errorf("GPU %d is not in MIG mode: hwsim mig on --dir %s --gpu %d", t.gpu.Minor, dir, t.gpu.Minor)
}

// again looks at the GPU anew.
func (t *migTarget) again() error {
	view, err := t.folder.View()
	if err != nil {
		return err
	}
	t.gpu, err = findGPU(view, t.gpu.Address.String())
	return err
}

func (o *migOptions) switchMode(out io.Writer, on bool) error {
	t, err := o.target()
	if err != nil {
		return err
	}
	library := t.folder.GPULibrary()
	if err := library.Init(); err != nil {
		return err
	}
	defer library.Shutdown()
	gpu, err := library.DeviceByPCIAddress(t.gpu.Address)
	if err == nil {
		err = gpu.SetMIGMode(on)
	}
	if err == nil {
		err = t.again()
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "GPU %d: MIG is %s\n", t.gpu.Minor, migMode(t.gpu.MIG))
	if t.gpu.MIG.Enabled != t.gpu.MIG.Pending {
		fmt.Fprintf(out, "It is reset by: hwsim reset --dir %s --gpu %d\n", o.dir, t.gpu.Minor)
	}
	return nil
}

// migMode is "on", or "off, on after a reset".
func migMode(mig *hardware.MIG) string {
	words := map[bool]string{true: "on", false: "off"}
	if mig.Enabled == mig.Pending {
		return words[mig.Enabled]
	}
	return words[mig.Enabled] + ", " + words[mig.Pending] + " after a reset"
}

// profileOf an instance; every instance has one of the GPU's.
func profileOf(mig *hardware.MIG, id int) *hardware.MIGProfile {
	i := slices.IndexFunc(mig.Profiles, func(p hardware.MIGProfile) bool { return p.ID == id })
	return &mig.Profiles[i]
}

// slicesText is "4" or "4-7".
func slicesText(at hardware.Placement) string {
	if at.Size == 1 {
		return fmt.Sprint(at.Start)
	}
	return fmt.Sprintf("%d-%d", at.Start, at.Start+at.Size-1)
}

// profileNames are those of a GPU, for errors.
func profileNames(mig *hardware.MIG) string {
	var names []string
	for i := range mig.Profiles {
		names = append(names, mig.Profiles[i].Name)
	}
	return strings.Join(names, ", ")
}
