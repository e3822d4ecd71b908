package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dray-dev/dray/hwsim/fleet"
	"github.com/dray-dev/dray/hwsim/machine"
	"github.com/dray-dev/dray/kubeletplugin/publish"
)

// fleetFlags are what the command line says about a fleet.
type fleetFlags struct {
	machines, files, zones []string
	labels, capacity       pairs
	seed                   uint64
	shuffle                bool
	name                   string
	publish                publishFlags
	output, out, only      string
}

func newFleet() *cobra.Command {
	flags := &fleetFlags{}
	c := &cobra.Command{
		Use:   "fleet --machine NAME=COUNT...",
		Short: "Write the nodes, slices and classes of thousands of machines",
		Long: "fleet writes DeviceClasses, Node objects and ResourceSlices of a cluster of\n" +
			"simulated machines, in the form that kubectl apply reads. The same flags write\n" +
			"the same bytes. All is checked before the first of them: an error leaves nothing\n" +
			"behind.\n\n" +
			"Zones, names and labels are templates of Go's text/template with .Machine,\n" +
			".Index (of the machine, from 0) and .Number (in the fleet); names and labels\n" +
			"also with .Zone, labels with .Node, .Instance, .Member (place in a rack) and\n" +
			".Clique.",
		Example: "  # 4,000 DGX H100 and 50 racks, with all MIG placements\n" +
			"  hwsim fleet --machine dgx-h100=4000 --machine gb200-nvl72=50 --mig dynamic -o json --out fleet.json\n\n" +
			"  # names, zones and labels\n" +
			"  hwsim fleet --machine l40s=6 --name 'gpu-{{.Number}}' --zone a --zone b --label team='t{{.Index}}'\n\n" +
			"  # slices as NVIDIA's driver and dranet would publish them\n" +
			"  hwsim fleet --machine dgx-a100-40=2 --drivers peers --only slices",
		Args: arguments(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return flags.run(c.OutOrStdout(), c.ErrOrStderr()) },
	}
	f := c.Flags()
	f.StringArrayVarP(&flags.machines, "machine", "m", nil, "machine and how many of it, `NAME[=COUNT]`, one without COUNT; can be repeated")
	f.StringArrayVarP(&flags.files, "file", "f", nil, "machine `FILE` of your own, whose name --machine can use; can be repeated")
	f.Uint64Var(&flags.seed, "seed", 1, "sets UUIDs, serial numbers and hardware addresses apart")
	f.BoolVar(&flags.shuffle, "shuffle", false, "mix the machines, by the seed, instead of keeping their order")
	f.StringVar(&flags.name, "name", fleet.DefaultName, "`TEMPLATE` of the names of nodes and racks")
	f.StringArrayVar(&flags.zones, "zone", nil, "`TEMPLATE` of a zone to deal machines to in turn; can be repeated")
	f.Var(&flags.labels, "label", "label of nodes, `KEY=TEMPLATE`; can be repeated")
	f.Var(&flags.capacity, "capacity", "capacity of nodes besides CPUs, memory and pods, or instead of the machine's, `RESOURCE=QUANTITY`; can be repeated")
	flags.publish.add(f)
	f.StringVarP(&flags.output, "output", "o", string(fleet.YAML), "format, `yaml|json`: documents, or one object a line")
	f.StringVar(&flags.out, "out", "", "`FILE` to write instead of the standard output; it appears when it is complete")
	f.StringVar(&flags.only, "only", "", "write only `classes|nodes|slices`")
	return c
}

func (flags *fleetFlags) run(stdout, stderr io.Writer) error {
	objects, err := flags.objects()
	if err != nil {
		return usageError{err}
	}
	format := fleet.Format(flags.output)
	if format != fleet.YAML && format != fleet.JSON {
		return usageError{fmt.Errorf("--output is %q: it can be yaml or json", flags.output)}
	}
	spec, err := flags.spec()
	if err != nil {
		return err
	}
	made, err := fleet.New(spec)
	if errors.Is(err, publish.ErrNotKept) {
		return fmt.Errorf("%w; --feature says what the API server keeps", err)
	}
	if err != nil {
		return err
	}
	progress := newProgress(stderr, made.NodeCount())
	if flags.out == "" {
		totals, err := made.Write(stdout, format, objects, progress.show)
		progress.end(totals, err)
		return err
	}
	return writeFile(flags.out, func(w io.Writer) error {
		totals, err := made.Write(w, format, objects, progress.show)
		progress.end(totals, err)
		return err
	})
}

func (flags *fleetFlags) objects() (fleet.Objects, error) {
	switch flags.only {
	case "":
		return fleet.Objects{Classes: true, Nodes: true, Slices: true}, nil
	case "classes":
		return fleet.Objects{Classes: true}, nil
	case "nodes":
		return fleet.Objects{Nodes: true}, nil
	case "slices":
		return fleet.Objects{Slices: true}, nil
	}
	return fleet.Objects{}, fmt.Errorf("--only is %q: it can be classes, nodes or slices", flags.only)
}

func (flags *fleetFlags) spec() (fleet.Spec, error) {
	spec := fleet.Spec{
		Seed: flags.seed, Shuffle: flags.shuffle, Zones: flags.zones, Name: flags.name, Labels: flags.labels,
	}
	if len(flags.machines) == 0 {
		return spec, usageError{errors.New("which machines? Say --machine NAME=COUNT; `hwsim machines` lists them")}
	}
	own := map[string]*machine.Machine{}
	if len(flags.files) > 0 {
		machines, err := choose(flags.files, nil)
		if err != nil {
			return spec, err
		}
		for _, m := range machines {
			own[m.Name()] = m
		}
	}
	for _, text := range flags.machines {
		name, count, err := fleet.ParseCount(text)
		if err != nil {
			return spec, usageError{fmt.Errorf("--machine %w", err)}
		}
		m := own[name]
		if m == nil {
			if m, err = machine.Load(name); err != nil {
				return spec, fmt.Errorf("--machine %s: %w", text, err)
			}
		}
		spec.Machines = append(spec.Machines, fleet.Count{Machine: m, Count: count})
	}
	var err error
	if spec.Capacity, err = parseCapacity(flags.capacity); err != nil {
		return spec, usageError{err}
	}
	if spec.Publish, err = flags.publish.options(); err != nil {
		return spec, err
	}
	spec.Publish.Bitstreams, err = flags.publish.parseBitstreams(spec.Machines)
	return spec, err
}

func parseCapacity(texts map[string]string) (corev1.ResourceList, error) {
	list := corev1.ResourceList{}
	for name, text := range texts {
		quantity, err := resource.ParseQuantity(text)
		if err != nil {
			return nil, fmt.Errorf("--capacity %s=%s: %w", name, text, err)
		}
		list[corev1.ResourceName(name)] = quantity
	}
	return list, nil
}

// progress tells a person at a terminal how far it is, and says the totals.
type progress struct {
	to       io.Writer
	total    int
	terminal bool
	percent  int
}

func newProgress(to io.Writer, total int) *progress {
	p := &progress{to: to, total: total, percent: -1}
	if file, ok := to.(*os.File); ok {
		info, err := file.Stat()
		p.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return p
}

func (p *progress) show(totals fleet.Totals) {
	if !p.terminal || p.total == 0 {
		return
	}
	if percent := 100 * totals.Nodes / p.total; percent != p.percent {
		p.percent = percent
		fmt.Fprintf(p.to, "\r%3d %%  %d of %d nodes", percent, totals.Nodes, p.total)
	}
}

func (p *progress) end(totals fleet.Totals, err error) {
	if p.percent >= 0 {
		fmt.Fprint(p.to, "\r"+strings.Repeat(" ", width-1)+"\r")
	}
	if err == nil {
		fmt.Fprintf(p.to, "%s, %s, %s, %s\n", counted(totals.Nodes, "node"), counted(totals.FabricPools, "fabric pool"),
			counted(totals.Slices, "slice"), counted(totals.Devices, "device"))
	}
}

// counted is "1 node", "2 nodes".
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
