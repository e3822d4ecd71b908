package main

import (
	"fmt"
	"io"
	"strconv"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/dray-dev/dray/hwsim/machine"
)

// legend explains the marks below a table.
const legend = "CONFIDENCE has a mark for each way in which the figures are known:\n" +
	"S read in a source, D derived, K known in general, ? doubtful.\n"

func printSummary(w io.Writer, machines []*machine.Machine) error {
	t := newTable()
	t.AppendHeader(table.Row{"NAME", "KIND", "GPUS", "NICS", "OTHER", "NUMA", "CONFIDENCE"})
	for _, m := range machines {
		file := m.Resolved()
		c := count(file)
		t.AppendRow(table.Row{file.Name, file.Kind, c.gpuText(), c.nicText(), c.fpgaText(), number(c.numa),
			machine.Marks(file.AllEvidence())})
	}
	_, err := fmt.Fprintf(w, "%s\n\n%s", t.Render(), legend)
	return err
}

// newTable is a table without lines.
func newTable() table.Writer {
	t := table.NewWriter()
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	t.SetStyle(style)
	t.SuppressTrailingSpaces()
	return t
}

// counts is how many devices a machine has.
type counts struct {
	gpus, nics, vfs, fpgas, numa int
	// gpuModel is the model of the GPUs; mixed says that there are several.
	gpuModel string
	mixed    bool
}

func count(f *machine.File) counts {
	var c counts
	if f.Kind == machine.RackKind {
		for _, member := range f.Members {
			for i := range f.Machines {
				if f.Machines[i].Name == member.Machine {
					c.addTimes(count(&f.Machines[i]), member.Count)
				}
			}
		}
		return c
	}
	kinds := f.Models.Kinds()
	for _, root := range f.Roots {
		for _, function := range root.Functions {
			c.add(kinds[function.Model], function.Model, 1)
			if function.VFs != nil {
				c.vfs += function.VFs.Present
			}
		}
	}
	for _, device := range f.Devices {
		c.add(kinds[device.Model], device.Model, device.Count)
	}
	c.numa = len(f.NUMA)
	return c
}

func (c *counts) add(kind, model string, n int) {
	switch kind {
	case "GPU", "AMD GPU":
		c.addGPUs(model, n)
	case "NIC":
		c.nics += n
	case "FPGA":
		c.fpgas += n
	}
}

func (c *counts) addGPUs(model string, n int) {
	c.mixed = c.mixed || c.gpuModel != "" && model != c.gpuModel
	c.gpuModel = model
	c.gpus += n
}

func (c *counts) addTimes(other counts, n int) {
	if other.gpus > 0 {
		c.addGPUs(other.gpuModel, n*other.gpus)
		c.mixed = c.mixed || other.mixed
	}
	c.nics += n * other.nics
	c.vfs += n * other.vfs
	c.fpgas += n * other.fpgas
	c.numa += n * other.numa
}

func (c *counts) gpuText() string {
	switch {
	case c.gpus == 0:
		return "-"
	case c.mixed:
		return fmt.Sprintf("%d of several", c.gpus)
	}
	return fmt.Sprintf("%d %s", c.gpus, c.gpuModel)
}

func (c *counts) nicText() string {
	if c.vfs > 0 {
		return fmt.Sprintf("%d+%d VF", c.nics, c.vfs)
	}
	return number(c.nics)
}

func (c *counts) fpgaText() string {
	if c.fpgas == 0 {
		return "-"
	}
	return fmt.Sprintf("%d FPGA", c.fpgas)
}

// number is a count, with a dash for nothing.
func number(n int) string {
	if n == 0 {
		return "-"
	}
	return strconv.Itoa(n)
}
