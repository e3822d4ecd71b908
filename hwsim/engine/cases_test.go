package engine_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/dray-dev/dray/hwsim/engine"
	"github.com/dray-dev/dray/hwsim/machine"
	"github.com/dray-dev/dray/hwsim/numbering"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// The text cases tell what a GPU does with a list of calls, one a line, on the
// first GPU of a machine that was just delivered:
//
//	gpu machine=NAME
//
// Each call is printed with its result; those of a GPU in the machine's later
// state go on with "then". The calls are the cases of script.call.
func TestCasesOfPartitioning(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no cases: %v", err)
	}
	for _, path := range files {
		s := &script{t: t, clock: newClock()}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "gpu":
				var name string
				d.ScanArgs(t, "machine", &name)
				m, err := machine.Load(name)
				if err != nil {
					d.Fatalf(t, "%v", err)
				}
				node := m.Instantiate(machine.Identity{Name: "node-a", Seed: 1}).Nodes[0].Hardware
				s.engine, s.gpu = open(t, node, engine.New(node), s.clock), &node.GPUs[0]
			case "then":
			default:
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			var out strings.Builder
			for line := range strings.Lines(d.Input) {
				line = strings.TrimSpace(line)
				if result := s.call(strings.Fields(line)); result != "" {
					line += ": " + result
				}
				fmt.Fprintln(&out, line)
			}
			return out.String()
		})
	}
}

type script struct {
	t      *testing.T
	clock  *clock
	engine *engine.Engine
	gpu    *hardware.GPU
}

// word is an optional argument after a keyword.
func word(words []string, key string) (string, bool) {
	i := slices.Index(words, key)
	if i < 0 || i+1 == len(words) {
		return "", false
	}
	return words[i+1], true
}

func (s *script) number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func (s *script) profile(name string) *hardware.MIGProfile {
	for i := range s.gpu.MIG.Profiles {
		if p := &s.gpu.MIG.Profiles[i]; p.Name == name {
			return p
		}
	}
	s.t.Fatalf("there is no profile %s", name)
	return nil
}

func (s *script) vgpuType(name string) int {
	for _, kind := range s.gpu.VGPU.Types {
		if strings.TrimPrefix(kind.Name, "NVIDIA ") == name {
			return kind.ID
		}
	}
	s.t.Fatalf("there is no type %s", name)
	return 0
}

func result(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}

func (s *script) call(words []string) string {
	gpu := s.gpu.Address
	switch words[0] {
	case "mig": // mig on, mig off
		return result(s.engine.SetMIGMode(gpu, words[1] == "on"))
	case "mixed": // mixed on, mixed off
		return result(s.engine.SetMixedSizeVGPUs(gpu, words[1] == "on"))
	case "create": // create PROFILE [at START] [compute], with a compute instance that is all of it
		return s.create(words)
	case "compute": // compute INSTANCE SLICES
		id, ok := numbering.ComputeProfileID(s.number(words[2]))
		if !ok {
			id = 99
		}
		made, err := s.engine.CreateComputeInstance(gpu, s.number(words[1]), id)
		if err != nil {
			return err.Error()
		}
		return strconv.Itoa(made)
	case "destroy": // destroy INSTANCE [COMPUTE]
		if len(words) == 3 {
			return result(s.engine.DestroyComputeInstance(gpu, s.number(words[1]), s.number(words[2])))
		}
		_, err := s.engine.DestroyGPUInstance(gpu, s.number(words[1]))
		return result(err)
	case "processes": // processes COUNT [on INSTANCE COMPUTE]
		if len(words) == 5 {
			return result(s.engine.SetMIGProcesses(gpu, s.number(words[3]), s.number(words[4]), s.number(words[1])))
		}
		return result(s.engine.SetProcesses(gpu, s.number(words[1])))
	case "vgpu": // vgpu TYPE vf NUMBER [slot NUMBER]
		vf, _ := word(words, "vf")
		slot := engine.AnySlot
		if text, ok := word(words, "slot"); ok {
			slot = s.number(text)
		}
		return result(s.engine.CreateVGPU(gpu, s.number(vf), s.vgpuType(words[1]), slot))
	case "remove": // remove VF
		return result(s.engine.DestroyVGPU(gpu, s.number(words[1])))
	case "wait": // wait DURATION
		d, err := time.ParseDuration(words[1])
		if err != nil {
			s.t.Fatal(err)
		}
		s.clock.now = s.clock.now.Add(d)
		return ""
	case "reset":
		return result(s.engine.Reset(gpu))
	case "reboot":
		s.engine.Reboot()
		return ""
	}
	return s.fault(words)
}

func (s *script) create(words []string) string {
	var at *hardware.Placement
	profile := s.profile(words[1])
	if start, ok := word(words, "at"); ok {
		at = &hardware.Placement{Start: s.number(start), Size: profile.MemorySlices}
	}
	id, err := s.engine.CreateGPUInstance(s.gpu.Address, profile.ID, at)
	if err != nil {
		return err.Error()
	}
	if slices.Contains(words, "compute") {
		whole, _ := numbering.ComputeProfileID(profile.ComputeSlices)
		if _, err := s.engine.CreateComputeInstance(s.gpu.Address, id, whole); err != nil {
			return err.Error()
		}
	}
	for _, instance := range s.engine.Node().GPUs[0].MIG.Instances {
		if instance.ID == id {
			return fmt.Sprintf("%d at %d:%d", id, instance.Placement.Start, instance.Placement.Size)
		}
	}
	return "it is not there"
}

// fault is a call that breaks something, or shows what there is.
func (s *script) fault(words []string) string {
	gpu := s.gpu.Address
	switch words[0] {
	case "xid": // xid CODE [on INSTANCE COMPUTE]
		where := engine.Everywhere
		if len(words) == 5 {
			where = engine.Where{GPUInstance: s.number(words[3]), ComputeInstance: s.number(words[4])}
		}
		return result(s.engine.InjectXID(gpu, s.number(words[1]), where))
	case "ecc": // ecc SINGLE DOUBLE
		return result(s.engine.InjectECC(gpu, engine.ECC{SingleBit: uint64(s.number(words[1])), DoubleBit: uint64(s.number(words[2]))}))
	case "lose":
		return result(s.engine.Lose(gpu))
	case "show":
		return s.show(words[1])
	}
	s.t.Fatalf("unknown call %v", words)
	return ""
}

// show prints "instances", "vgpus", "creatable", "mode", "capabilities", "health" or "events".
func (s *script) show(what string) string {
	var out []string
	state := &s.engine.State().GPUs[0]
	now := s.engine.Node().GPUs[0]
	switch what {
	case "instances":
		for _, i := range now.MIG.Instances {
			out = append(out, fmt.Sprintf("%d(%d:%d)", i.ID, i.Placement.Start, i.Placement.Size))
		}
	case "devices":
		for _, i := range now.MIG.Instances {
			for _, c := range i.ComputeInstances {
				out = append(out, fmt.Sprintf("%d.%d(%s)", i.ID, c.ID, c.UUID))
			}
		}
	case "vgpus":
		for _, v := range state.VGPU.Active {
			out = append(out, fmt.Sprintf("%d(type %d, slot %d, instance %d)", v.VF, v.Type, v.Slot, v.GPUInstance))
		}
	case "creatable":
		ids, err := s.engine.CreatableVGPUTypes(s.gpu.Address)
		if err != nil {
			return err.Error()
		}
		for _, kind := range s.gpu.VGPU.Types {
			if slices.Contains(ids, kind.ID) {
				out = append(out, strings.TrimPrefix(kind.Name, "NVIDIA "))
			}
		}
	case "mode":
		return fmt.Sprintf("current %t, pending %t", now.MIG.Enabled, now.MIG.Pending)
	case "capabilities":
		list, err := numbering.Capabilities(s.engine.Node().GPUs[:1])
		if err != nil {
			return err.Error()
		}
		for _, c := range list {
			out = append(out, fmt.Sprintf("%s=%d", c.Path, c.Minor))
		}
	case "health":
		h := state.Health
		out = append(out, fmt.Sprintf("lost %t, reset required %t, ecc %d %d, of its life %d %d", h.Lost, h.ResetRequired,
			h.ECC.SingleBit, h.ECC.DoubleBit, h.AggregateECC.SingleBit, h.AggregateECC.DoubleBit))
		for _, x := range h.XIDs {
			out = append(out, fmt.Sprintf("xid %d x%d", x.XID, x.Count))
		}
	case "condition":
		condition, err := s.engine.Condition(s.gpu.Address)
		out = append(out, fmt.Sprintf("recovery by %s, thermal slowdown %t%s", condition.Recovery, condition.ThermalSlowdown, result(err)))
	case "events":
		for _, e := range s.engine.State().Events {
			out = append(out, fmt.Sprintf("%d(%#x %d on %d.%d)", e.Number, uint64(e.Type), e.Data, e.GPUInstance, e.ComputeInstance))
		}
	default:
		s.t.Fatalf("show what? %s", what)
	}
	if out == nil {
		return "none"
	}
	return strings.Join(out, " ")
}
