package main

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/dray-dev/dray/hwsim/machine"
)

// describe prints a machine for people.
func describe(f *machine.File) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: %s\n", f.Name, f.Description)
	evidence(&b, f.Evidence)
	switch f.Kind {
	case machine.RackKind:
		members(&b, f)
	case machine.PoolKind:
		pool(&b, f)
	default:
		settings(&b, f)
		b.WriteString("\n" + tree(f))
	}
	if f.Models != nil {
		models(&b, f.Models, f.HostsVGPUs())
	}
	return b.Bytes(), nil
}

// evidence prints a line per entry, "  S  read: what, where from", wrapped.
func evidence(b *bytes.Buffer, list []machine.Evidence) {
	for _, e := range list {
		line := e.Source
		switch {
		case e.Of != "":
			line = e.Of + ": " + e.Source
		case len(list) > 1:
			line = "all else: " + e.Source
		}
		const indent = 5
		wrapped := strings.Split(text.WrapSoft(line, width-indent), "\n")
		fmt.Fprintf(b, "  %s  %s\n", e.Confidence, strings.TrimRight(wrapped[0], " "))
		for _, more := range wrapped[1:] {
			fmt.Fprintf(b, "%*s%s\n", indent, "", strings.TrimRight(more, " "))
		}
	}
}

// settings prints what holds for all devices of a node.
func settings(b *bytes.Buffer, f *machine.File) {
	if f.MemoryGiB > 0 {
		fmt.Fprintf(b, "\n%d GiB of memory\n", f.MemoryGiB)
	}
	if n := f.NVIDIA; n != nil {
		fmt.Fprintf(b, "\nNVIDIA driver %s, CUDA %s", n.Version, n.CUDA)
		if n.IMEXChannels > 0 {
			fmt.Fprintf(b, ", %d IMEX channels", n.IMEXChannels)
		}
		if n.Clique > 0 {
			fmt.Fprintf(b, ", clique %d", n.Clique)
		}
		if n.MIG {
			b.WriteString(", MIG on")
		}
		if n.VGPU != nil {
			b.WriteString(", host of virtual GPUs")
		}
		b.WriteString("\n")
	}
	if a := f.AMD; a != nil {
		fmt.Fprintf(b, "\namdgpu driver %s", a.Version)
		if a.Compute != "" {
			fmt.Fprintf(b, ", compute mode %s, memory mode %s", a.Compute, a.Memory)
		}
		b.WriteString("\n")
	}
}

func members(b *bytes.Buffer, f *machine.File) {
	b.WriteString("\n")
	for _, m := range f.Members {
		fmt.Fprintf(b, "%d × %s", m.Count, m.Machine)
		if m.Clique > 0 {
			fmt.Fprintf(b, ", clique %d", m.Clique)
		}
		if m.NodeName != "" {
			fmt.Fprintf(b, ", named %s", m.NodeName)
		}
		b.WriteString("\n")
	}
	for i := range f.Machines {
		b.WriteString("\n")
		text, _ := describe(&f.Machines[i]) // it does not fail
		b.Write(text)
	}
}

func pool(b *bytes.Buffer, f *machine.File) {
	b.WriteString("\n")
	for _, key := range slices.Sorted(maps.Keys(f.NodeLabels)) {
		fmt.Fprintf(b, "for nodes with the label %s=%s\n", key, f.NodeLabels[key])
	}
	for _, d := range f.Devices {
		fmt.Fprintf(b, "%d × %s\n", d.Count, d.Model)
	}
}

// models prints the models with their tables, a GPU's below it.
func models(b *bytes.Buffer, m *machine.Models, vgpus bool) {
	for i := range m.GPUs {
		g := &m.GPUs[i]
		heading(b, "GPU", &g.PCIModel, fmt.Sprintf("%s, compute capability %s, %d MiB", g.Architecture, g.ComputeCapability, g.MemoryMiB))
		for j := range m.MIGTables {
			if m.MIGTables[j].Name == g.MIG {
				profiles(b, &m.MIGTables[j], m.MIGGeometries)
			}
		}
		for j := range m.VGPUTables {
			if vgpus && m.VGPUTables[j].Name == g.VGPU {
				virtualGPUs(b, &m.VGPUTables[j])
			}
		}
	}
	for i := range m.AMDGPUs {
		g := &m.AMDGPUs[i]
		var modes []string
		for _, mode := range g.Modes {
			modes = append(modes, fmt.Sprintf("%s/%s %d", mode.Compute, mode.Memory, mode.Partitions))
		}
		heading(b, "AMD GPU", &g.PCIModel, fmt.Sprintf("%d compute units, %d MiB", g.ComputeUnits, g.MemoryMiB),
			"partitions by mode: "+strings.Join(modes, ", "))
	}
	for i := range m.NICs {
		n := &m.NICs[i]
		lines := []string{fmt.Sprintf("%s, %s, MTU %d", n.Link, speed(n.SpeedMbps), n.MTU)}
		if n.VF != nil {
			lines = append(lines, fmt.Sprintf("up to %d VFs, %s", n.VF.Max, n.VF.IDs))
		}
		heading(b, "NIC", &n.PCIModel, lines...)
	}
	for i := range m.FPGAs {
		a := &m.FPGAs[i]
		lines := []string{fmt.Sprintf("%d MiB, regions: %d", a.MemoryMiB, len(a.Regions))}
		if a.Shell != "" {
			lines = append(lines, "shell "+a.Shell)
		}
		heading(b, "FPGA", &a.PCIModel, lines...)
	}
}

func heading(b *bytes.Buffer, kind string, m *machine.PCIModel, lines ...string) {
	fmt.Fprintf(b, "\n%s %s: %s\n", kind, m.Name, m.Product)
	lines[0] = m.IDs.String() + ", " + lines[0]
	for _, line := range lines {
		fmt.Fprintf(b, "  %s\n", line)
	}
	evidence(b, m.Evidence)
}

func speed(mbps int) string {
	if mbps == 0 {
		return "unknown speed"
	}
	return fmt.Sprintf("%d Gbit/s", mbps/1000)
}

// profiles prints a table of MIG profiles with where they fit.
func profiles(b *bytes.Buffer, m *machine.MIGTable, geometries []machine.MIGGeometry) {
	n := slices.IndexFunc(geometries, func(g machine.MIGGeometry) bool { return g.Name == m.Geometry })
	geometry := &geometries[n]
	sizes := map[string]*machine.MIGSize{}
	for i := range geometry.Sizes {
		sizes[geometry.Sizes[i].Size] = &geometry.Sizes[i]
	}
	t := newTable()
	t.AppendHeader(table.Row{"PROFILE", "ID", "MAX", "SLICES", "STARTS", "MIB", "SM", "CE", "DEC", "ENC", "JPG", "OFA", ""})
	for _, p := range m.Profiles {
		s := sizes[p.Size]
		t.AppendRow(table.Row{p.Profile, s.ID, s.Max, s.Memory, starts(s.Starts), p.MemoryMiB, p.SMs, p.Copy, p.Decoders,
			p.Encoders, p.JPEG, p.OFA, string(p.Confidence)})
	}
	fmt.Fprintf(b, "\n  MIG profiles of %d memory slices\n", geometry.MemorySlices)
	indented(b, t.Render())
	evidence(b, m.Evidence)
	evidence(b, geometry.Evidence)
}

// starts writes a run as its ends: "0-6", and others one by one: "0,2,4".
func starts(list []int) string {
	if len(list) > 2 && list[len(list)-1]-list[0] == len(list)-1 {
		return fmt.Sprintf("%d-%d", list[0], list[len(list)-1])
	}
	var words []string
	for _, n := range list {
		words = append(words, fmt.Sprint(n))
	}
	return strings.Join(words, ",")
}

func virtualGPUs(b *bytes.Buffer, v *machine.VGPUTable) {
	t := newTable()
	t.AppendHeader(table.Row{"TYPE", "ID", "MIB", "MAX", "MAX MIXED", "MIG PROFILE"})
	for _, row := range v.Types {
		t.AppendRow(table.Row{row.Name, row.ID, row.MemoryMiB, row.Max, row.MaxMixed, row.Profile})
	}
	b.WriteString("\n  virtual GPUs\n")
	indented(b, t.Render())
	evidence(b, v.Evidence)
}

func indented(b *bytes.Buffer, block string) {
	for line := range strings.SplitSeq(block, "\n") {
		fmt.Fprintf(b, "  %s\n", line)
	}
}
