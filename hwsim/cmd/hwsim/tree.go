package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/list"

	"github.com/dray-dev/dray/hwsim/machine"
)

// tree draws a node: NUMA nodes, the PCIe roots that have functions there, the
// functions, and what a function is divided into.
func tree(f *machine.File) string {
	l := list.NewWriter()
	l.SetStyle(list.StyleConnectedLight)
	kinds := f.Models.Kinds()
	for _, numa := range numaIDs(f) {
		l.AppendItem(numaText(f, numa))
		l.Indent()
		for _, root := range f.Roots {
			var here []machine.FunctionFile
			for _, function := range root.Functions {
				if numaOf(&root, &function) == numa {
					here = append(here, function)
				}
			}
			if len(here) == 0 {
				continue
			}
			l.AppendItem(rootText(root.Root))
			l.Indent()
			for i := range here {
				appendFunction(l, kinds[here[i].Model], &here[i])
			}
			l.UnIndent()
		}
		l.UnIndent()
	}
	return l.Render() + "\n"
}

// noNUMA sorts after every NUMA node.
const noNUMA = int(^uint(0) >> 1)

// numaOf is the NUMA node of a function, or noNUMA.
func numaOf(root *machine.RootFile, f *machine.FunctionFile) int {
	node := f.NUMA
	if node == nil {
		node = root.NUMA
	}
	if node == nil || *node < 0 {
		return noNUMA
	}
	return *node
}

// numaIDs are the NUMA nodes that there are, and noNUMA if functions are on none.
func numaIDs(f *machine.File) []int {
	var ids []int
	for _, n := range f.NUMA {
		ids = append(ids, n.ID)
	}
	for i := range f.Roots {
		for j := range f.Roots[i].Functions {
			ids = append(ids, numaOf(&f.Roots[i], &f.Roots[i].Functions[j]))
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func numaText(f *machine.File, id int) string {
	for _, n := range f.NUMA {
		if n.ID == id {
			text := fmt.Sprintf("NUMA node %d, socket %d", id, n.Socket)
			if n.CPUs != "" {
				text += ", CPUs " + n.CPUs
			}
			return text
		}
	}
	return "on no NUMA node"
}

func rootText(root string) string {
	if root == "" {
		return "below no PCIe root"
	}
	return root
}

func appendFunction(l list.Writer, kind string, f *machine.FunctionFile) {
	words := []string{f.Address.String(), kind, f.Model}
	for _, word := range []string{f.Interface, f.RDMA, f.Driver, f.Eswitch} {
		if word != "" {
			words = append(words, word)
		}
	}
	if f.Down {
		words = append(words, "down")
	}
	if f.MIG != nil && f.MIG.Enabled {
		words = append(words, "MIG on")
	}
	l.AppendItem(strings.Join(words, " "))
	l.Indent()
	defer l.UnIndent()
	if f.Management != nil {
		l.AppendItem("management function " + f.Management.String())
	}
	if vfs := f.VFs; vfs != nil {
		text := fmt.Sprintf("%d VFs", vfs.Present)
		if vfs.Total != 0 {
			text += fmt.Sprintf(" of %d", vfs.Total)
		}
		if vfs.Present > 0 {
			text += fmt.Sprintf(" from %s", vfs.First)
		}
		if len(vfs.VFIO) > 0 {
			text += fmt.Sprintf(", %d bound to vfio-pci", len(vfs.VFIO))
		}
		l.AppendItem(text)
	}
	if f.MIG != nil {
		for _, instance := range f.MIG.Instances {
			l.AppendItem(fmt.Sprintf("MIG %s at memory slice %d", instance.Profile, instance.Start))
		}
	}
	for i, region := range f.Regions {
		l.AppendItem(fmt.Sprintf("region %d for %s", i, region.Interface))
	}
}
