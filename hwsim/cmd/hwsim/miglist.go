package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/dray-dev/dray/hwsim/gpulib"
	"github.com/dray-dev/dray/hwsim/numbering"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// migReport is what hwsim mig prints of one GPU.
type migReport struct {
	GPU     int    `json:"gpu"`
	Address string `json:"address"`
	UUID    string `json:"uuid"`
	// Mode is absent for a GPU that cannot be partitioned.
	Mode      string           `json:"mode,omitempty"`
	Instances []instanceReport `json:"instances,omitempty"`
}

// instanceReport is a GPU instance.
type instanceReport struct {
	ID      int    `json:"id"`
	Profile string `json:"profile"`
	// Start and Size are its memory slices.
	Start   int             `json:"start"`
	Size    int             `json:"size"`
	Compute []computeReport `json:"compute,omitempty"`
}

// computeReport is a compute instance: with its GPU instance a MIG device.
type computeReport struct {
	ID      int    `json:"id"`
	Profile string `json:"profile"`
	UUID    string `json:"uuid"`
}

func (o *migOptions) list(out io.Writer) error {
	if !slices.Contains([]string{"", "yaml", "json"}, o.output) {
		return usageError{fmt.Errorf("--output is %q: it can be yaml or json", o.output)}
	}
	_, view, err := lookAt(o.dir)
	if err != nil {
		return err
	}
	if view.Node == nil {
		return fmt.Errorf("%s is a fabric pool: the nodes that its devices are attached to partition them", view.Name)
	}
	gpus := view.Node.GPUs
	if o.gpu != "" {
		gpu, err := findGPU(view, o.gpu)
		if err != nil {
			return err
		}
		gpus = []hardware.GPU{*gpu}
	}
	if len(gpus) == 0 {
		return fmt.Errorf("%s has no GPUs that NVIDIA's driver has", view.Name)
	}
	reports := make([]migReport, len(gpus))
	for i := range gpus {
		reports[i] = migReportOf(&gpus[i])
	}
	if o.output != "" {
		return encode(out, reports, o.output)
	}
	_, err = io.WriteString(out, migTable(reports)+"\n")
	return err
}

func migReportOf(gpu *hardware.GPU) migReport {
	r := migReport{GPU: gpu.Minor, Address: gpu.Address.String(), UUID: gpu.UUID}
	if gpu.MIG == nil {
		return r
	}
	r.Mode = migMode(gpu.MIG)
	for _, instance := range gpu.MIG.Instances {
		profile := profileOf(gpu.MIG, instance.ProfileID)
		report := instanceReport{ID: instance.ID, Profile: profile.Name, Start: instance.Placement.Start, Size: instance.Placement.Size}
		for _, compute := range instance.ComputeInstances {
			report.Compute = append(report.Compute, computeReport{compute.ID, computeName(profile, compute.ProfileID), compute.UUID})
		}
		r.Instances = append(r.Instances, report)
	}
	return r
}

// computeName is "1c.3g.40gb", and that of the GPU instance for one that is all of it.
func computeName(profile *hardware.MIGProfile, id int) string {
	if n, ok := numbering.ComputeSlices(id); ok && n != profile.ComputeSlices {
		return fmt.Sprintf("%dc.%s", n, profile.Name)
	}
	return profile.Name
}

// migTable has a line for each compute instance, and for what has none.
func migTable(reports []migReport) string {
	t := newTable()
	t.AppendHeader(table.Row{"GPU", "MIG", "INSTANCE", "SLICES", "COMPUTE", "UUID"})
	for i := range reports {
		r := &reports[i]
		mode := r.Mode
		if mode == "" {
			mode = "-"
		}
		if len(r.Instances) == 0 {
			t.AppendRow(table.Row{r.GPU, mode, "-", "-", "-", r.UUID})
		}
		for _, instance := range r.Instances {
			name := fmt.Sprintf("%d %s", instance.ID, instance.Profile)
			slices := slicesText(hardware.Placement{Start: instance.Start, Size: instance.Size})
			if len(instance.Compute) == 0 {
				t.AppendRow(table.Row{r.GPU, mode, name, slices, "-", "-"})
			}
			for _, compute := range instance.Compute {
				t.AppendRow(table.Row{r.GPU, mode, name, slices, fmt.Sprintf("%d %s", compute.ID, compute.Profile), compute.UUID})
			}
		}
	}
	return t.Render()
}

// profiles prints what the GPU can be divided into. Unless it is in MIG mode,
// nothing is said of what fits.
func (o *migOptions) profiles(out io.Writer) error {
	t, err := o.targetOf(lookAt)
	if err != nil {
		return err
	}
	mig := t.gpu.MIG
	w := newTable()
	w.AppendHeader(table.Row{"PROFILE", "ID", "MAX", "FREE AT", "SLICES", "MIB", "SM"})
	for i := range mig.Profiles {
		p := &mig.Profiles[i]
		free := "-"
		if mig.Enabled {
			var starts []string
			for _, at := range gpulib.FreePlacements(mig, p) {
				starts = append(starts, fmt.Sprint(at.Start))
			}
			free = strings.Join(starts, ",")
			if free == "" {
				free = "none"
			}
		}
		w.AppendRow(table.Row{p.Name, p.ID, p.MaxInstances, free, p.MemorySlices, p.Resources.MemoryBytes >> 20, p.Resources.Multiprocessors})
	}
	fmt.Fprintf(out, "GPU %d: %s, MIG is %s\n\n%s\n", t.gpu.Minor, t.gpu.ProductName, migMode(mig), w.Render())
	return nil
}
