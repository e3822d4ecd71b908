package state_test

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/dray-dev/dray/hwsim/machine"
	"github.com/dray-dev/dray/hwsim/scenario"
	"github.com/dray-dev/dray/hwsim/state"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// small is a folder of the small machine.
func small(t testing.TB, options ...state.Option) (*state.Folder, *fakeClock) {
	t.Helper()
	m, err := machine.ReadFile("testdata/small.yaml")
	if err != nil {
		t.Fatal(err)
	}
	clock := newClock()
	f, err := state.Create(filepath.Join(t.TempDir(), "hw"), m, machine.Identity{Name: "n"}, append([]state.Option{state.WithClock(clock)}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	return f, clock
}

// caseRun is what the cases of one file share.
type caseRun struct {
	folder *state.Folder
	clock  *fakeClock
	events uint64
}

// TestCases runs the text cases. Each command answers with what it returned, and
// with the events since the one before:
//
//	machine small|NAME      a new folder
//	write FILE              the input, with its last newline
//	program IFACE FUNCTION  writes a bitstream for region 0 of the card
//	read FILE, list DIR, link FILE
//	node                    the functions and what has them
//	gpu ADDRESS             MIG: on, off, instance PROFILE START, compute ID
//	pass 5s                 lets time pass
//	inject                  a fault, as in a scenario
//	reset ADDRESS, reboot, redeliver
//	attach DEVICE NODE, detach DEVICE, attachments
//	imex N                  makes the node of a channel
func TestCases(t *testing.T) {
	datadriven.Walk(t, "testdata/cases", func(t *testing.T, path string) {
		c := &caseRun{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			out := c.run(t, d)
			if c.folder == nil {
				return out
			}
			for event, err := range c.folder.Events(c.events) {
				if err != nil {
					t.Fatal(err)
				}
				c.events = event.Number
				out += strings.TrimSpace(fmt.Sprintf("# %s %s: %s", event.Kind, event.Device, event.Message)) + "\n"
				for _, s := range event.Signs {
					out += fmt.Sprintf("#   %s %s on %s\n", s.Kind, strings.TrimSpace(strings.Join([]string{s.Name, s.Value, s.Effect}, " ")), s.On)
				}
			}
			if c.folder.Machine().Kind() != machine.PoolKind {
				discovered(t, c.folder)
			}
			return out
		})
	})
}

func (c *caseRun) run(t *testing.T, d *datadriven.TestData) string {
	arg := func(i int) string {
		if i >= len(d.CmdArgs) {
			d.Fatalf(t, "%s needs more arguments", d.Cmd)
		}
		return d.CmdArgs[i].Key
	}
	switch d.Cmd {
	case "machine":
		if arg(0) == "small" {
			c.folder, c.clock = small(t)
		} else {
			c.folder, c.clock = folderOf(t, arg(0))
		}
		c.events = view(t, c.folder).LastEvent
		return ""
	case "write":
		return answer(c.folder.Host().WriteFile(arg(0), []byte(d.Input+"\n")))
	case "program":
		file, err := state.NewBitstream(arg(0), arg(1))
		if err != nil {
			t.Fatal(err)
		}
		return answer(c.folder.Host().WriteFile("dev/dfl-fme.0", state.RegionWrite(0, file)))
	case "read":
		text, err := fs.ReadFile(c.folder.Host(), arg(0))
		if err != nil {
			return answer(err)
		}
		return string(text)
	case "list":
		entries, err := fs.ReadDir(c.folder.Host(), arg(0))
		if err != nil {
			return answer(err)
		}
		var names []string
		for _, entry := range entries {
			names = append(names, entry.Name())
		}
		return strings.Join(names, " ") + "\n"
	case "node":
		return showNode(view(t, c.folder))
	case "pass":
		d, err := time.ParseDuration(arg(0))
		if err != nil {
			t.Fatal(err)
		}
		c.clock.pass(d)
		return ""
	case "inject":
		return answer(c.inject(d.Input))
	case "instructions":
		var out strings.Builder
		for _, i := range view(t, c.folder).Instructions {
			fmt.Fprintf(&out, "%s left %d until %s\n", i.Fault.Kind(), i.Left, i.Until.Format(time.TimeOnly))
		}
		return out.String()
	case "gpu":
		return c.gpu(t, arg(0), d)
	case "reset":
		return answer(c.folder.Update(func(tx *state.Tx) error { return tx.Reset(address(t, arg(0))) }))
	case "reboot":
		return answer(c.folder.Update((*state.Tx).Reboot))
	case "redeliver":
		return answer(c.folder.Update((*state.Tx).Redeliver))
	case "attach":
		return answer(c.folder.Update(func(tx *state.Tx) error { return tx.Attach(arg(0), arg(1)) }))
	case "detach":
		return answer(c.folder.Update(func(tx *state.Tx) error { return tx.Detach(arg(0)) }))
	case "attachments":
		var out strings.Builder
		for _, a := range view(t, c.folder).Attachments {
			fmt.Fprintf(&out, "%s %s %s %s\n", a.Device, a.Node, a.State, a.Reason)
		}
		return out.String()
	case "imex":
		name := "dev/nvidia-caps-imex-channels/channel" + arg(0)
		node, err := c.folder.Host().DeviceNode("dev/nvidia-caps-imex-channels/channel0")
		if err != nil {
			return answer(err)
		}
		if _, err := fmt.Sscan(arg(0), &node.Minor); err != nil {
			t.Fatal(err)
		}
		return answer(c.folder.Host().MakeDeviceNode(name, node))
	}
	d.Fatalf(t, "unknown command %s", d.Cmd)
	return ""
}

// answer is ok, or an errno by its name, or the error.
func answer(err error) string {
	names := map[syscall.Errno]string{syscall.EBUSY: "EBUSY", syscall.ERANGE: "ERANGE", syscall.EINVAL: "EINVAL", syscall.ENOENT: "ENOENT",
		syscall.ENODEV: "ENODEV", syscall.EACCES: "EACCES", syscall.EIO: "EIO", syscall.EISDIR: "EISDIR", syscall.EROFS: "EROFS",
		syscall.ENOMEM: "ENOMEM", syscall.ENOSPC: "ENOSPC", syscall.EEXIST: "EEXIST", syscall.EPERM: "EPERM", syscall.ENXIO: "ENXIO"}
	var errno syscall.Errno
	switch {
	case err == nil:
		return "ok\n"
	case errors.As(err, &errno):
		return names[errno] + "\n"
	}
	return err.Error() + "\n"
}

func (c *caseRun) inject(text string) error {
	fault, err := scenario.ParseFault("input", []byte(text))
	if err != nil {
		return err
	}
	return c.folder.Update(func(tx *state.Tx) error { return tx.Inject(fault) })
}

func address(t testing.TB, text string) hardware.PCIAddress {
	t.Helper()
	a, err := hardware.ParsePCIAddress(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// gpu makes a call of the GPU library for a GPU.
func (c *caseRun) gpu(t *testing.T, name string, d *datadriven.TestData) string {
	library := c.folder.GPULibrary()
	if err := library.Init(); err != nil {
		return answer(err)
	}
	defer library.Shutdown()
	gpu, err := library.DeviceByPCIAddress(address(t, name))
	if err != nil {
		return answer(err)
	}
	var profile, start int
	var destroy int
	switch {
	case d.HasArg("on"):
		return answer(gpu.SetMIGMode(true))
	case d.HasArg("off"):
		return answer(gpu.SetMIGMode(false))
	case d.HasArg("profile"):
		d.ScanArgs(t, "profile", &profile)
		d.ScanArgs(t, "start", &start)
		return answer(instance(gpu, profile, start))
	case d.HasArg("destroy"):
		d.ScanArgs(t, "destroy", &destroy)
		i, err := gpu.GPUInstanceByID(destroy)
		if err != nil {
			return answer(err)
		}
		return answer(i.Destroy())
	}
	return ""
}

// instance makes a GPU instance at a start.
func instance(gpu hardware.GPUDevice, profile, start int) error {
	for kind := range hardware.GPUInstanceProfileKinds {
		p, err := gpu.GPUInstanceProfile(kind)
		if err != nil || p.ID != profile {
			continue
		}
		i := slices.IndexFunc(p.Placements, func(at hardware.Placement) bool { return at.Start == start })
		if i < 0 {
			return fmt.Errorf("no placement at %d", start)
		}
		_, err = gpu.CreateGPUInstanceAt(profile, p.Placements[i])
		return err
	}
	return fmt.Errorf("no profile %d", profile)
}

// showNode has a line for each function.
func showNode(v *state.View) string {
	var out strings.Builder
	for _, g := range v.Node.GPUs {
		fmt.Fprintf(&out, "%s gpu%d", g.Address, g.Minor)
		if m := g.MIG; m != nil {
			fmt.Fprintf(&out, " mig %v/%v", m.Enabled, m.Pending)
			for _, i := range m.Instances {
				fmt.Fprintf(&out, " %d:%d@%d", i.ID, i.ProfileID, i.Placement.Start)
			}
		}
		if g.SRIOV != nil {
			fmt.Fprintf(&out, " vfs %d/%d", len(g.SRIOV.VFs), g.SRIOV.TotalVFs)
		}
		out.WriteString("\n")
	}
	for _, n := range v.Node.NICs {
		fmt.Fprintf(&out, "%s nic driver=%s group=%d", n.Address, n.Driver, n.IOMMUGroup)
		if n.Interface != "" {
			fmt.Fprintf(&out, " %s mtu=%d up=%v %s", n.Interface, n.MTU, n.Up, n.Eswitch)
		}
		if n.RDMA != nil {
			fmt.Fprintf(&out, " %s uverbs%d", n.RDMA.Device, n.RDMA.Uverbs)
		}
		out.WriteString("\n")
	}
	for _, f := range v.Node.FPGAs {
		fmt.Fprintf(&out, "%s fpga", f.Address)
		for _, r := range f.Regions {
			fmt.Fprintf(&out, " %d:%s", r.ID, r.Function)
		}
		out.WriteString("\n")
	}
	return out.String()
}
