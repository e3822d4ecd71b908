package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/dray-dev/dray/hwsim/fault"
	"github.com/dray-dev/dray/hwsim/machine"
	"github.com/dray-dev/dray/hwsim/scenario"
	"github.com/dray-dev/dray/hwsim/state"
)

// runOptions are the flags of hwsim run.
type runOptions struct {
	dir, scenario, output string
	files, connect        []string
	id                    machine.Identity
	untilDone             bool
}

func newRun() *cobra.Command {
	var o runOptions
	c := &cobra.Command{
		Use:   "run [NAME] --dir DIR",
		Short: "Make a machine in a folder, and let things happen to it",
		Long: "run makes a folder with a machine that is booted, or opens one, and prints what\n" +
			"happens to it until it is interrupted. What a driver takes for / is DIR/root.\n" +
			"The machine stays when run ends, and drivers and other commands can use the\n" +
			"folder meanwhile; run itself is needed only to play a scenario. Of a rack, each\n" +
			"node is in a folder of its name below DIR.\n\n" +
			"With --scenario, the steps of a file happen at their times. A file that names\n" +
			"what is not there is an error with file and line, and nothing happens. hwsim\n" +
			"has the scenarios\n" + wrapped(scenario.Names()),
		Example: "  # a DGX H100 below dgx/, which GPUs fall out of\n" +
			"  hwsim run dgx-h100 --dir dgx --scenario gpu-lost\n\n" +
			"  # the same machine again, as it was left\n" +
			"  hwsim run --dir dgx",
		Args: arguments(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			return o.run(c.OutOrStdout(), c.ErrOrStderr(), args)
		},
	}
	c.Flags().StringVarP(&o.dir, "dir", "d", "", "the machine's folder `DIR`, made if it is missing")
	c.Flags().StringVar(&o.id.Name, "name", "", "`NAME` of the node or rack, if not the machine's")
	c.Flags().Uint64Var(&o.id.Seed, "seed", 0, "`NUMBER` that sets UUIDs of equal names apart")
	c.Flags().StringArrayVarP(&o.files, "file", "f", nil, "take the machine of a `FILE`")
	c.Flags().StringVarP(&o.scenario, "scenario", "s", "", "play a scenario: a `FILE`, or one that hwsim has")
	c.Flags().BoolVar(&o.untilDone, "until-done", false, "end when nothing more will happen by itself")
	c.Flags().StringArrayVar(&o.connect, "connect", nil, "attach to the node in this folder; can be repeated")
	c.Flags().StringVarP(&o.output, "output", "o", "", "print events as `json`, one a line")
	return c
}

// wrapped is a list in lines that fit a terminal.
func wrapped(names []string) string {
	text, line := "", ""
	for _, name := range names {
		if len(line)+len(name)+2 > width {
			text, line = text+strings.TrimSuffix(line, " ")+"\n", ""
		}
		line += name + ", "
	}
	return text + strings.TrimSuffix(line, ", ") + "."
}

func (o *runOptions) run(out, errOut io.Writer, args []string) error {
	if o.dir == "" {
		return usageError{errors.New("--dir is missing: the folder of the machine")}
	}
	if o.output != "" && o.output != "json" {
		return usageError{fmt.Errorf("--output is %q: it can be json", o.output)}
	}
	var m *machine.Machine
	if len(args)+len(o.files) > 0 {
		machines, err := choose(o.files, args)
		if err != nil {
			return err
		}
		if len(machines) != 1 {
			return usageError{errors.New("give one machine")}
		}
		m = machines[0]
	}
	played, err := loadScenario(o.scenario)
	if err != nil {
		return err
	}
	if played != nil && m != nil && m.Kind() == machine.RackKind {
		return usageError{fmt.Errorf("a scenario is of one node: give the folder of one below %s", o.dir)}
	}
	if m == nil && o.id != (machine.Identity{}) {
		return usageError{errors.New("--name and --seed are for a machine that is made: name it, or leave them out")}
	}
	nodes := make([]*state.Folder, len(o.connect))
	for i, dir := range o.connect {
		if nodes[i], err = state.Open(dir); err != nil {
			return err
		}
	}
	if err := o.playable(m, played); err != nil {
		return err
	}
	folders, err := openOrCreate(o.dir, m, o.id)
	if err != nil {
		return err
	}
	cables := &cables{nodes: nodes, errOut: errOut, told: map[string]bool{}}
	if err := cables.connect(folders[0]); err != nil {
		return err
	}
	interrupted, stop := untilInterrupted()
	defer stop()
	return o.serve(interrupted, out, folders, cables, played)
}

// playable is an error for a scenario that names what is not there on a machine that
// is still to be made: then it is not made. On one that is there, serve looks.
func (o *runOptions) playable(m *machine.Machine, played *scenario.Scenario) error {
	if m == nil || played == nil {
		return nil
	}
	if _, err := state.Open(o.dir); !errors.Is(err, state.ErrNotFolder) {
		return err
	}
	id := o.id
	id.Name = cmp.Or(id.Name, m.Name()) // UUIDs follow from it
	instance := m.Instantiate(id)
	devices := fault.Devices{Pool: instance.Pool}
	if len(instance.Nodes) > 0 {
		devices.Node = instance.Nodes[0].Hardware
	}
	_, err := played.Plan(devices)
	return err
}

// loadScenario reads a scenario by its name or from a file; nil without either.
func loadScenario(name string) (*scenario.Scenario, error) {
	if name == "" {
		return nil, nil
	}
	if slices.Contains(scenario.Names(), name) {
		return scenario.Load(name)
	}
	played, err := scenario.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w; hwsim has %s", err, strings.Join(scenario.Names(), ", "))
	}
	return played, err
}

// serve prints what happens to the folders, and plays the scenario on the only one,
// until it is interrupted or everything is done.
func (o *runOptions) serve(interrupted context.Context, out io.Writer, folders []*state.Folder, cables *cables, played *scenario.Scenario) error {
	ctx, end := context.WithCancelCause(interrupted)
	defer end(nil)
	var printing sync.Mutex
	var group sync.WaitGroup
	for _, f := range folders {
		view, err := f.View()
		if err != nil {
			return err
		}
		if played != nil { // before anything else is said or done
			if _, err := played.Plan(view.Devices()); err != nil {
				return err
			}
		}
		if o.output == "" {
			fmt.Fprintf(out, "%s: %s, a %s, boot %d\n", f.Dir(), f.Name(), f.Machine().Name(), view.Boot.Number)
		}
		show := func(event *state.Event) error {
			printing.Lock()
			defer printing.Unlock()
			err := o.print(out, event, len(folders) > 1, f.Name())
			if err == nil {
				err = cables.connect(f)
			}
			return err
		}
		group.Go(func() {
			if err := follow(ctx, f, view.LastEvent, show); err != nil {
				end(err)
			}
		})
	}
	if played != nil {
		if err := folders[0].Play(ctx, played); err != nil && ctx.Err() == nil {
			end(err)
		}
	}
	if o.untilDone {
		waitUntilDone(ctx, folders, end)
	}
	<-ctx.Done()
	group.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) && !errors.Is(err, errDone) {
		return err
	}
	return nil
}

// cables are what connects a pool with nodes. What cannot be plugged is told once, and
// all else goes on.
type cables struct {
	nodes  []*state.Folder
	errOut io.Writer
	told   map[string]bool
}

func (c *cables) connect(pool *state.Folder) error {
	for _, node := range c.nodes {
		err := state.Connect(pool, node)
		var refused *state.PlugError
		if err != nil && !errors.As(err, &refused) {
			return err
		}
		if err != nil && !c.told[err.Error()] {
			c.told[err.Error()] = true
			fmt.Fprintln(c.errOut, err)
		}
	}
	return nil
}

// errDone ends a run whose scenario is over.
var errDone = errors.New("done")

// waitUntilDone waits until nothing will happen by itself, and what has is printed.
func waitUntilDone(ctx context.Context, folders []*state.Folder, end func(error)) {
	for _, f := range folders {
		for ctx.Err() == nil {
			view, err := f.View()
			if err != nil {
				end(err)
				return
			}
			if view.Due.IsZero() {
				break
			}
			select {
			case <-ctx.Done():
			case <-f.Clock().After(view.Due.Sub(f.Clock().Now())):
			}
		}
	}
	end(errDone)
}

// follow shows what happens to a folder until the context is done, and then what had
// happened by then.
func follow(ctx context.Context, f *state.Folder, after uint64, show func(*state.Event) error) error {
	for _, events := range []iter.Seq2[state.Event, error]{f.Follow(ctx, after), func(yield func(state.Event, error) bool) { f.Events(after)(yield) }} {
		for event, err := range events {
			if err == nil {
				err = show(&event)
			}
			if err != nil {
				return err
			}
			after = event.Number
		}
	}
	return nil
}

func (o *runOptions) print(out io.Writer, event *state.Event, several bool, name string) error {
	if o.output == "json" {
		return json.NewEncoder(out).Encode(event)
	}
	if several {
		name += " "
	} else {
		name = ""
	}
	device := event.Device
	if device != "" {
		device += ": "
	}
	_, err := fmt.Fprintf(out, "%s %s%s %s%s\n", event.Time.Local().Format(time.TimeOnly), name, event.Kind, device, event.Message)
	for i := range event.Signs {
		if err == nil {
			_, err = fmt.Fprintf(out, "         a driver must show %s\n", signText(&event.Signs[i]))
		}
	}
	return err
}
