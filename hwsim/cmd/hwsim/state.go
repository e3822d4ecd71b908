package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/dray-dev/dray/hwsim/engine"
	"github.com/dray-dev/dray/hwsim/state"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

func newState() *cobra.Command {
	var dir, output string
	c := &cobra.Command{
		Use:   "state --dir DIR",
		Short: "Show what a machine in a folder is now",
		Long: "state shows the functions of a machine and what has them, its partitions, what\n" +
			"is broken, what a driver is told to do wrong, and of a fabric pool what is\n" +
			"attached where. A folder that may not be written to is looked at as well.",
		Args: arguments(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if !slices.Contains([]string{"", "yaml", "json"}, output) {
				return usageError{fmt.Errorf("--output is %q: it can be yaml or json", output)}
			}
			f, view, err := lookAt(dir)
			if err != nil {
				return err
			}
			report := reportOf(f, view)
			if output == "" {
				return report.print(c.OutOrStdout())
			}
			return encode(c.OutOrStdout(), report, output)
		},
	}
	folderFlag(c, &dir)
	c.Flags().StringVarP(&output, "output", "o", "", "print as `yaml|json`")
	return c
}

// stateReport is what hwsim state prints.
type stateReport struct {
	Name    string     `json:"name"`
	Machine string     `json:"machine"`
	Root    string     `json:"root,omitempty"` // what a driver takes for /
	Boot    state.Boot `json:"boot"`
	// Transactions and Events count those of the folder.
	Transactions uint64              `json:"transactions"`
	Events       uint64              `json:"events"`
	Functions    []functionReport    `json:"functions,omitempty"`
	Attachments  []state.Attachment  `json:"attachments,omitempty"`
	Instructions []state.Instruction `json:"instructions,omitempty"`
	IMEXChannels []int               `json:"imexChannels,omitempty"`
	// Due is when the next thing happens by itself.
	Due time.Time `json:"due,omitzero"`
}

// functionReport is a device, or a virtual function of one.
type functionReport struct {
	Address  string `json:"address"`
	Kind     string `json:"kind"`
	Name     string `json:"name,omitempty"`
	Driver   string `json:"driver,omitempty"`
	Override string `json:"override,omitempty"`
	// VFs is how many virtual functions there are.
	VFs    int    `json:"vfs,omitempty"`
	State  string `json:"state,omitempty"`
	Health string `json:"health,omitempty"`
}

func reportOf(f *state.Folder, v *state.View) *stateReport {
	r := &stateReport{Name: v.Name, Machine: f.Machine().Name(), Boot: v.Boot, Transactions: v.Sequence, Events: v.LastEvent,
		Attachments: v.Attachments, Instructions: v.Instructions, IMEXChannels: v.IMEXChannels, Due: v.Due}
	if v.Node == nil {
		return r
	}
	r.Root = f.Root()
	add := func(pci *hardware.PCIFunction, kind, name, state, health string) {
		row := functionReport{Address: pci.Address.String(), Kind: kind, Name: name, Driver: pci.Driver,
			Override: v.Overrides[pci.Address], State: state, Health: health}
		if pci.SRIOV != nil {
			row.VFs = len(pci.SRIOV.VFs)
		}
		r.Functions = append(r.Functions, row)
	}
	for i := range v.Node.GPUs {
		gpu := &v.Node.GPUs[i]
		held := gpuState(v.GPUs, gpu.Address)
		add(&gpu.PCIFunction, "gpu", fmt.Sprint(gpu.Minor), partitionText(gpu, held), healthText(&held.Health))
	}
	for i := range v.Node.AMDGPUs {
		gpu := &v.Node.AMDGPUs[i]
		add(&gpu.PCIFunction, "amd gpu", fmt.Sprint(gpu.Card), strings.TrimSpace(gpu.Compute+" "+gpu.Memory), "")
	}
	for i := range v.Node.NICs {
		nic := &v.Node.NICs[i]
		kind := "nic"
		if nic.IsVF() {
			kind = "nic vf"
		}
		add(&nic.PCIFunction, kind, nic.Interface, linkText(nic), "")
	}
	for i := range v.Node.FPGAs {
		card := &v.Node.FPGAs[i]
		var loaded []string
		for _, region := range card.Regions {
			loaded = append(loaded, fmt.Sprintf("region %d: %s", region.ID, region.Function))
		}
		add(&card.PCIFunction, "fpga", card.Model, strings.Join(loaded, ", "), "")
	}
	return r
}

// gpuState is what the engine knows of a GPU.
func gpuState(s *engine.State, address hardware.PCIAddress) *engine.GPU {
	for i := range s.GPUs {
		if s.GPUs[i].Address == address {
			return &s.GPUs[i]
		}
	}
	return &engine.GPU{}
}

func linkText(nic *hardware.NIC) string {
	switch {
	case nic.Interface == "" && nic.RDMA == nil:
		return ""
	case nic.Up:
		return "up"
	}
	return "down"
}

// partitionText is "MIG: 1g.10gb at 0, 3g.40gb at 4", and the like of virtual GPUs.
func partitionText(gpu *hardware.GPU, held *engine.GPU) string {
	var parts []string
	if m := gpu.MIG; m != nil && (m.Enabled || m.Pending) {
		var instances []string
		for _, instance := range m.Instances {
			for _, profile := range m.Profiles {
				if profile.ID == instance.ProfileID {
					instances = append(instances, fmt.Sprintf("%s at %d", profile.Name, instance.Placement.Start))
				}
			}
		}
		switch {
		case m.Enabled && !m.Pending:
			parts = append(parts, "MIG until the next reset")
		case !m.Enabled:
			parts = append(parts, "MIG after the next reset")
		case len(instances) == 0:
			parts = append(parts, "MIG")
		}
		if len(instances) > 0 {
			parts = append(parts, "MIG: "+strings.Join(instances, ", "))
		}
	}
	if held.VGPU != nil {
		for _, active := range held.VGPU.Active {
			for _, kind := range gpu.VGPU.Types {
				if kind.ID == active.Type {
					parts = append(parts, fmt.Sprintf("vGPU %s on function %d", kind.Name, active.VF))
				}
			}
		}
	}
	return strings.Join(parts, "; ")
}

// healthText is what is wrong with a GPU; empty if nothing is.
func healthText(h *engine.Health) string {
	var problems []string
	for _, has := range []struct {
		text string
		is   bool
	}{{"lost", h.Lost}, {"needs a reset", h.ResetRequired}, {"too hot", h.Slowdown}} {
		if has.is {
			problems = append(problems, has.text)
		}
	}
	for _, xid := range h.XIDs {
		problems = append(problems, fmt.Sprintf("XID %d", xid.XID))
	}
	switch n := h.ECC.SingleBit + h.ECC.DoubleBit; {
	case n == 1:
		problems = append(problems, "1 memory error")
	case n > 1:
		problems = append(problems, fmt.Sprintf("%d memory errors", n))
	}
	return strings.Join(problems, ", ")
}

func (r *stateReport) print(w io.Writer) error {
	var text strings.Builder
	fmt.Fprintf(&text, "%s is a %s, boot %d, transaction %d, event %d\n", r.Name, r.Machine, r.Boot.Number, r.Transactions, r.Events)
	if len(r.Functions) > 0 {
		t := newTable()
		t.AppendHeader(table.Row{"ADDRESS", "KIND", "NAME", "DRIVER", "VFS", "STATE", "HEALTH"})
		for _, f := range r.Functions {
			driver := f.Driver
			if f.Override != "" && f.Override != driver {
				driver += " (" + f.Override + ")"
			}
			t.AppendRow(table.Row{f.Address, f.Kind, dash(f.Name), dash(strings.TrimSpace(driver)), number(f.VFs), dash(f.State), dash(f.Health)})
		}
		fmt.Fprintf(&text, "\n%s\n", t.Render())
	}
	if len(r.Attachments) > 0 {
		t := newTable()
		t.AppendHeader(table.Row{"DEVICE", "NODE", "STATE", "REASON"})
		for _, a := range r.Attachments {
			t.AppendRow(table.Row{a.Device, a.Node, a.State, dash(a.Reason)})
		}
		fmt.Fprintf(&text, "\n%s\n", t.Render())
	}
	if len(r.Instructions) > 0 {
		t := newTable()
		t.AppendHeader(table.Row{"DRIVERS DO", "DRIVER", "LEFT", "UNTIL"})
		for _, i := range r.Instructions {
			until := "-"
			if !i.Until.IsZero() {
				until = i.Until.Local().Format(time.TimeOnly)
			}
			t.AppendRow(table.Row{i.Fault.Kind(), cmp.Or(i.Driver(), "all"), number(i.Left), until})
		}
		fmt.Fprintf(&text, "\n%s\n", t.Render())
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// dash stands for nothing.
func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// encode prints a value as YAML or JSON, with the names of its json tags.
func encode(w io.Writer, v any, form string) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if form == "yaml" {
		if text, err = yaml.JSONToYAML(text); err != nil {
			return err
		}
	}
	_, err = w.Write(text)
	return err
}
