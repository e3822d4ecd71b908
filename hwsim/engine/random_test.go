package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/dray-dev/dray/hwsim/engine"
	"github.com/dray-dev/dray/hwsim/machine"
	"github.com/dray-dev/dray/hwsim/numbering"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// Random calls on the GPUs of real machines, and of made-up ones that have what no
// real one does. After each: the engine's answer is the twin's, a refused call has
// changed nothing, what State promises holds, no figure is exceeded, and nothing
// depends on whether the State has been through JSON. In the end, what was freed can
// be allocated again.
func TestRandomCallsAgreeWithTheTwin(t *testing.T) {
	nodes := map[string]*hardware.Node{}
	for _, name := range []string{"dgx-a100-40-mig", "dgx-h100", "a30", "rtx-pro-6000-vgpu", "a100-vgpu", "t4", "l40s"} {
		m, err := machine.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		node := *m.Instantiate(machine.Identity{Name: "node-a", Seed: 1}).Nodes[0].Hardware
		node.GPUs, node.NICs = node.GPUs[:1], nil
		nodes[name] = &node
	}
	rapid.Check(t, func(t *rapid.T) {
		node := madeUpNode(t)
		if name := rapid.SampledFrom([]string{"", "dgx-a100-40-mig", "dgx-h100", "a30", "rtx-pro-6000-vgpu", "a100-vgpu", "t4", "l40s"}).Draw(t, "machine"); name != "" {
			node = nodes[name]
		}
		c := &caller{T: t, node: node, clock: newClock(), gpu: &node.GPUs[0], twin: newTwin(&node.GPUs[0])}
		c.twin.pass(c.clock.now)
		c.reopen(engine.New(node))
		for range rapid.IntRange(1, 60).Draw(t, "calls") {
			c.step()
		}
		c.freeAndRepeat()
	})
}

// Of a made-up GPU one figure is scarce, so that nothing else hides it; instances come
// and go, and little else happens.
func TestNoFigureIsForgotten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gpu := hardware.GPU{UUID: "GPU-1", Architecture: "Hopper", MIG: &hardware.MIG{Enabled: true, Pending: true}}
		gpu.Address.Bus, gpu.NUMANode = 1, hardware.NoNUMANode
		scarce := rapid.IntRange(0, 9).Draw(t, "scarce")
		for n := range rapid.IntRange(1, 3).Draw(t, "profiles") {
			p := hardware.MIGProfile{Name: fmt.Sprint("profile ", n), Kind: hardware.GPUInstanceProfileKind(n), ID: n, MaxInstances: 20}
			p.MemorySlices = rapid.IntRange(1, 3).Draw(t, "memory slices") // 2 and 3 have IDs in common
			amount := rapid.IntRange(1, 3).Draw(t, "amount")
			r := &p.Resources
			if scarce < 8 {
				figures := []*int{&p.ComputeSlices, &r.Multiprocessors, &r.CopyEngines, &r.Decoders, &r.Encoders, &r.JPEGEngines, &r.OFAEngines, &p.MaxInstances}
				*figures[scarce] = amount
			} else if scarce == 8 {
				r.MemoryBytes = uint64(amount)
			}
			for start := range 12 {
				p.Placements = append(p.Placements, hardware.Placement{Start: start, Size: p.MemorySlices})
			}
			gpu.MIG.Profiles = append(gpu.MIG.Profiles, p)
		}
		node := &hardware.Node{GPUDriver: &hardware.GPUDriver{}, GPUs: []hardware.GPU{gpu}}
		c := &caller{T: t, node: node, clock: newClock(), gpu: &node.GPUs[0], twin: newTwin(&node.GPUs[0])}
		c.twin.pass(c.clock.now)
		c.reopen(engine.New(node))
		calls := []func(){c.create, c.create, c.create, c.destroy, c.wait}
		for range rapid.IntRange(1, 30).Draw(t, "calls") {
			calls[c.draw("call", 0, len(calls)-1)]()
		}
		c.freeAndRepeat()
	})
}

// madeUpNode has one GPU with a random table of profiles and of virtual GPUs.
func madeUpNode(t *rapid.T) *hardware.Node {
	draw := func(what string, least, most int) int { return rapid.IntRange(least, most).Draw(t, what) }
	gpu := hardware.GPU{UUID: "GPU-1", Architecture: rapid.SampledFrom([]string{"Ampere", "Hopper"}).Draw(t, "architecture")}
	gpu.Address.Bus, gpu.NUMANode = 1, hardware.NoNUMANode
	if draw("partitionable", 0, 3) > 0 {
		gpu.MIG = &hardware.MIG{}
		for n := range draw("profiles", 1, 5) {
			p := hardware.MIGProfile{Name: fmt.Sprint("profile ", n), Kind: hardware.GPUInstanceProfileKind(n), ID: n,
				MaxInstances: draw("maximum", 1, 8), ComputeSlices: draw("compute slices", 1, 8), MemorySlices: draw("memory slices", 1, 4)}
			p.Resources = hardware.MIGResources{MemoryBytes: uint64(draw("memory", 0, 9)), Multiprocessors: draw("multiprocessors", 0, 9),
				CopyEngines: draw("copy engines", 0, 3), Decoders: draw("decoders", 0, 3), Encoders: draw("encoders", 0, 3),
				JPEGEngines: draw("JPEG engines", 0, 2), OFAEngines: draw("OFA engines", 0, 2)}
			for start := range draw("starts", 1, 12) {
				if start == 0 || draw("start", 0, 2) > 0 {
					p.Placements = append(p.Placements, hardware.Placement{Start: start, Size: p.MemorySlices})
				}
			}
			gpu.MIG.Profiles = append(gpu.MIG.Profiles, p)
		}
		gpu.MIG.Enabled = draw("MIG", 0, 1) == 1
		gpu.MIG.Pending = gpu.MIG.Enabled
	}
	if draw("vGPU host", 0, 1) > 0 {
		gpu.VGPU = &hardware.VGPU{}
		for n := range draw("types", 1, 5) {
			kind := hardware.VGPUType{ID: n, Name: fmt.Sprint("type ", n), FramebufferBytes: uint64(draw("framebuffer", 1, 2)),
				MaxInstances: draw("most", 1, 6), MIGProfileID: -1}
			kind.MaxMixed = draw("most mixed", 0, kind.MaxInstances)
			if gpu.MIG != nil && draw("backed", 0, 2) == 0 {
				kind.MIGProfileID, kind.MaxMixed = draw("profile", 0, len(gpu.MIG.Profiles)-1), 0
			}
			gpu.VGPU.Types = append(gpu.VGPU.Types, kind)
		}
	}
	return &hardware.Node{GPUDriver: &hardware.GPUDriver{Version: "580.126.20", CUDAVersion: 13000}, GPUs: []hardware.GPU{gpu}}
}

// caller makes calls on an engine and asks the twin what to expect.
type caller struct {
	*rapid.T
	node   *hardware.Node
	gpu    *hardware.GPU
	clock  *clock
	engine *engine.Engine
	twin   *twin
}

func (c *caller) reopen(state *engine.State) {
	e, err := engine.Open(c.node, state, c.clock)
	if err != nil {
		c.Fatal(err)
	}
	c.engine = e
}

func (c *caller) draw(what string, least, most int) int {
	return rapid.IntRange(least, most).Draw(c.T, what)
}

// expect compares an error with what the twin said, and checks all that must hold.
func (c *caller) expect(call string, got, want error, before *engine.State) {
	if !errors.Is(got, want) || (got == nil) != (want == nil) {
		c.Fatalf("%s: %v, and the twin says %v", call, got, want)
	}
	if got != nil {
		if diff := cmp.Diff(before, c.engine.State()); diff != "" {
			c.Fatalf("%s failed with %v and changed something (-before +after):\n%s", call, got, diff)
		}
	}
	if err := c.engine.State().Validate(c.node); err != nil {
		c.Fatalf("after %s: %v", call, err)
	}
	now := c.engine.Node()
	if err := now.Validate(); err != nil {
		c.Fatalf("after %s: %v", call, err)
	}
	if mig := now.GPUs[0].MIG; mig != nil {
		var profiles []*hardware.MIGProfile
		var starts []int
		for _, instance := range mig.Instances {
			i := slices.IndexFunc(mig.Profiles, func(p hardware.MIGProfile) bool { return p.ID == instance.ProfileID })
			profiles, starts = append(profiles, &mig.Profiles[i]), append(starts, instance.Placement.Start)
		}
		if what := exceeded(c.gpu, profiles, starts); what != "" {
			c.Fatalf("after %s: exceeded: %s", call, what)
		}
		if mig.Enabled != c.twin.current || mig.Pending != c.twin.pending || len(mig.Instances) != len(c.twin.parts) {
			c.Fatalf("after %s: MIG is %t, pending %t, with %d instances, and the twin says %t, %t, %d", call,
				mig.Enabled, mig.Pending, len(mig.Instances), c.twin.current, c.twin.pending, len(c.twin.parts))
		}
	}
	if vgpu := c.engine.State().GPUs[0].VGPU; vgpu != nil && (vgpu.MixedSize != c.twin.mixed || len(vgpu.Active) != len(c.twin.virtual)) {
		c.Fatalf("after %s: %+v, and the twin says mixed sizes %t, %d virtual GPUs", call, vgpu, c.twin.mixed, len(c.twin.virtual))
	}
	if c.draw("through JSON", 0, 9) == 0 {
		state := throughJSON(c, c.engine.State())
		if diff := cmp.Diff(c.engine.State(), state, cmpopts.EquateEmpty()); diff != "" {
			c.Fatalf("after %s: JSON changes the State (-before +after):\n%s", call, diff)
		}
		c.reopen(state)
	}
}

// step makes a random call.
func (c *caller) step() {
	calls := []func(){c.mode, c.create, c.create, c.create, c.destroy, c.destroy, c.compute, c.compute, c.destroyCompute,
		c.vgpu, c.vgpu, c.vgpu, c.destroyVGPU, c.mixed, c.processes, c.wait, c.wait, c.reset, c.fault}
	calls[c.draw("call", 0, len(calls)-1)]()
}

func (c *caller) mode() {
	on, before := c.draw("on", 0, 2) > 0, c.engine.State().Clone()
	c.expect(fmt.Sprint("set MIG mode ", on), c.engine.SetMIGMode(c.gpu.Address, on), c.twin.setMIG(on), before)
}

func (c *caller) mixed() {
	on, before := c.draw("on", 0, 1) > 0, c.engine.State().Clone()
	c.expect(fmt.Sprint("set mixed sizes ", on), c.engine.SetMixedSizeVGPUs(c.gpu.Address, on), c.twin.setMixed(on), before)
}

func (c *caller) create() {
	var profile *hardware.MIGProfile
	id := 99
	var at *hardware.Placement
	if c.gpu.MIG != nil && c.draw("known", 0, 19) > 0 {
		profile = &c.gpu.MIG.Profiles[c.draw("profile", 0, len(c.gpu.MIG.Profiles)-1)]
		id = profile.ID
		if c.draw("anywhere", 0, 1) == 0 {
			at = &hardware.Placement{Start: c.draw("start", 0, 12), Size: profile.MemorySlices}
			if n := c.draw("placement", -1, len(profile.Placements)-1); n >= 0 {
				*at = profile.Placements[n]
			}
		}
	}
	c.createAt(profile, id, at)
}

func (c *caller) createAt(profile *hardware.MIGProfile, id int, at *hardware.Placement) {
	before := c.engine.State().Clone()
	made, err := c.engine.CreateGPUInstance(c.gpu.Address, id, at)
	want := c.twin.create(profile, at)
	if err == nil && want == nil {
		if made < 0 || made >= numbering.GPUInstancesPerGPU || c.twin.parts[made] != nil {
			c.Fatalf("a new instance has the ID %d", made)
		}
		i := slices.IndexFunc(c.engine.Node().GPUs[0].MIG.Instances, func(s hardware.GPUInstanceState) bool { return s.ID == made })
		if i < 0 {
			c.Fatalf("the new instance %d is not there", made)
		}
		chosen := c.engine.Node().GPUs[0].MIG.Instances[i].Placement
		if at != nil && chosen != *at || !c.twin.fits(profile, chosen.Start) {
			c.Fatalf("a new instance of %s lies at %v", profile.Name, chosen)
		}
		c.twin.parts[made] = &twinPart{profile: profile, start: chosen.Start, compute: map[int]*twinCompute{}}
	}
	c.expect(fmt.Sprintf("create %d at %v", id, at), err, want, before)
}

// anyPart is the ID of a GPU instance, or rarely of none.
func (c *caller) anyPart() int {
	ids := []int{c.draw("ID", 0, 14)}
	for id := range numbering.GPUInstancesPerGPU {
		if c.twin.parts[id] != nil {
			ids = append(ids, id, id)
		}
	}
	return ids[c.draw("instance", 0, len(ids)-1)]
}

func (c *caller) destroy() { c.destroyPart(c.anyPart()) }

func (c *caller) destroyPart(id int) {
	before := c.engine.State().Clone()
	gone, err := c.engine.DestroyGPUInstance(c.gpu.Address, id)
	want := c.twin.destroy(id)
	if err == nil && want == nil && !gone.Equal(c.twin.parts[id].gone) {
		c.Fatalf("instance %d is gone at %s, not %s", id, gone, c.twin.parts[id].gone)
	}
	c.expect(fmt.Sprint("destroy ", id), err, want, before)
}

func (c *caller) compute() {
	id, count, profileID := c.anyPart(), c.draw("slices", 0, 8), 99
	if found, ok := numbering.ComputeProfileID(count); ok {
		profileID = found
	} else {
		count = 0
	}
	before := c.engine.State().Clone()
	made, err := c.engine.CreateComputeInstance(c.gpu.Address, id, profileID)
	want := c.twin.createCompute(id, count)
	if err == nil && want == nil {
		if c.twin.parts[id].compute[made] != nil || made < 0 || made >= numbering.ComputeInstancesPerGPUInstance {
			c.Fatalf("a new compute instance has the ID %d", made)
		}
		c.twin.parts[id].compute[made] = &twinCompute{slices: count}
	}
	c.expect(fmt.Sprintf("create compute instance of %d in %d", count, id), err, want, before)
}

func (c *caller) destroyCompute() {
	id, compute, before := c.anyPart(), c.draw("compute instance", 0, 2), c.engine.State().Clone()
	c.expect(fmt.Sprintf("destroy compute instance %d in %d", compute, id),
		c.engine.DestroyComputeInstance(c.gpu.Address, id, compute), c.twin.destroyCompute(id, compute), before)
}

func (c *caller) vgpu() {
	vf, slot, typeID := c.draw("virtual function", -1, 9), c.draw("slot", -2, 7), 99
	if c.draw("any slot", 0, 1) == 0 {
		slot = engine.AnySlot
	}
	var kind *hardware.VGPUType
	if c.gpu.VGPU != nil && c.draw("known", 0, 19) > 0 {
		kind = &c.gpu.VGPU.Types[c.draw("type", 0, len(c.gpu.VGPU.Types)-1)]
		typeID = kind.ID
	}
	c.checkCreatable()
	c.createVGPU(vf, kind, typeID, slot)
}

// checkCreatable compares the list of types with what would be admitted.
func (c *caller) checkCreatable() {
	ids, err := c.engine.CreatableVGPUTypes(c.gpu.Address)
	if c.gpu.VGPU == nil {
		if !errors.Is(err, hardware.ErrGPUNotSupported) {
			c.Fatalf("creatable types of no host: %v", err)
		}
		return
	}
	lost, needsReset := c.twin.lost, c.twin.needsReset
	c.twin.lost, c.twin.needsReset = false, false
	for i := range c.gpu.VGPU.Types {
		kind := &c.gpu.VGPU.Types[i]
		if listed := slices.Contains(ids, kind.ID); listed != (c.twin.createVGPU(1000, kind, engine.AnySlot) == nil) || err != nil {
			c.Fatalf("%s: creatable is %t (%v), and the twin disagrees", kind.Name, listed, err)
		}
	}
	c.twin.lost, c.twin.needsReset = lost, needsReset
}

func (c *caller) createVGPU(vf int, kind *hardware.VGPUType, typeID, slot int) {
	before := c.engine.State().Clone()
	err := c.engine.CreateVGPU(c.gpu.Address, vf, typeID, slot)
	want := c.twin.createVGPU(vf, kind, slot)
	if err == nil && want == nil {
		active := c.engine.State().GPUs[0].VGPU.Active
		made := active[slices.IndexFunc(active, func(v engine.VirtualGPU) bool { return v.VF == vf })]
		switch {
		case kind.MIGProfileID >= 0 && !slices.Contains(c.twin.backers(kind), made.GPUInstance),
			kind.MIGProfileID < 0 && c.twin.mixed && (!c.twin.slotFree(kind, made.Slot) || slot >= 0 && made.Slot != slot),
			kind.MIGProfileID < 0 && made.GPUInstance != -1:
			c.Fatalf("a new virtual GPU of %s with slot %d is %+v", kind.Name, slot, made)
		}
		c.twin.virtual[vf] = twinVGPU{kind, made.Slot, made.GPUInstance}
	}
	c.expect(fmt.Sprintf("create virtual GPU of type %d on %d at %d", typeID, vf, slot), err, want, before)
}

func (c *caller) destroyVGPU() {
	vf, before := c.draw("virtual function", 0, 9), c.engine.State().Clone()
	c.expect(fmt.Sprint("destroy virtual GPU ", vf), c.engine.DestroyVGPU(c.gpu.Address, vf), c.twin.destroyVGPU(vf), before)
}

func (c *caller) processes() {
	id, compute, count, before := -1, 0, c.draw("processes", 0, 1), c.engine.State().Clone()
	var err error
	if c.draw("whole", 0, 3) == 0 {
		err = c.engine.SetProcesses(c.gpu.Address, count)
	} else {
		id, compute = c.anyPart(), c.draw("compute instance", 0, 2)
		err = c.engine.SetMIGProcesses(c.gpu.Address, id, compute, count)
	}
	c.expect(fmt.Sprintf("%d processes on %d %d", count, id, compute), err, c.twin.setProcesses(id, compute, count), before)
}

func (c *caller) wait() {
	d := rapid.SampledFrom([]time.Duration{199 * time.Millisecond, 200 * time.Millisecond, time.Second - 1, time.Second}).Draw(c.T, "duration")
	c.pass(d)
	c.expect(fmt.Sprint("wait ", d), nil, nil, nil)
	if c.draw("settle", 0, 3) == 0 {
		c.engine.Settle()
		c.expect("settle", nil, nil, nil)
	}
}

func (c *caller) pass(d time.Duration) {
	c.clock.now = c.clock.now.Add(d)
	c.twin.pass(c.clock.now)
}

func (c *caller) reset() {
	before := c.engine.State().Clone()
	if c.draw("reboot", 0, 3) == 0 {
		c.engine.Reboot()
		c.twin.reboot()
		c.expect("reboot", nil, nil, nil)
		return
	}
	c.expect("reset", c.engine.Reset(c.gpu.Address), c.twin.reset(), before)
}

func (c *caller) fault() {
	code := rapid.SampledFrom([]int{13, 13, 13, 95, 79}).Draw(c.T, "XID")
	if c.draw("fault", 0, 2) > 0 {
		return
	}
	before := c.engine.State().Clone()
	c.expect(fmt.Sprint("XID ", code), c.engine.InjectXID(c.gpu.Address, code, engine.Everywhere), c.twin.xid(code), before)
}

// freeAndRepeat destroys everything, and makes again what there was, in another
// order: instances where they were, virtual GPUs at their slots.
func (c *caller) freeAndRepeat() {
	if c.twin.lost || c.twin.needsReset {
		return
	}
	var parts []*twinPart
	var virtual []twinVGPU
	c.expect("end processes", c.engine.SetProcesses(c.gpu.Address, 0), c.twin.setProcesses(-1, 0, 0), nil)
	for vf := range 10 {
		if v, ok := c.twin.virtual[vf]; ok {
			virtual = append(virtual, v)
			c.expect("destroy virtual GPU", c.engine.DestroyVGPU(c.gpu.Address, vf), c.twin.destroyVGPU(vf), nil)
		}
	}
	for id := range numbering.GPUInstancesPerGPU {
		part := c.twin.parts[id]
		if part == nil || !part.gone.IsZero() {
			continue
		}
		parts = append(parts, part)
		for compute := range numbering.ComputeInstancesPerGPUInstance {
			if part.compute[compute] != nil {
				c.expect("end processes", c.engine.SetMIGProcesses(c.gpu.Address, id, compute, 0), c.twin.setProcesses(id, compute, 0), nil)
				c.expect("destroy compute instance", c.engine.DestroyComputeInstance(c.gpu.Address, id, compute), c.twin.destroyCompute(id, compute), nil)
			}
		}
		c.pass(200 * time.Millisecond)
		c.destroyPart(id)
	}
	c.pass(time.Second)
	if len(c.twin.parts) > 0 {
		c.Fatalf("%d instances are left", len(c.twin.parts))
	}
	for len(parts) > 0 {
		i := c.draw("next", 0, len(parts)-1)
		at := hardware.Placement{Start: parts[i].start, Size: parts[i].profile.MemorySlices}
		if !c.twin.fits(parts[i].profile, at.Start) {
			c.Fatal("what was there does not fit any more")
		}
		c.createAt(parts[i].profile, parts[i].profile.ID, &at)
		parts = slices.Delete(parts, i, i+1)
	}
	for vf, v := range virtual {
		slot := engine.AnySlot
		if c.twin.mixed && v.kind.MIGProfileID < 0 {
			slot = v.slot
		}
		if err := c.twin.createVGPU(vf, v.kind, slot); err != nil {
			c.Fatalf("virtual GPU %s was there and is refused: %v", v.kind.Name, err)
		}
		c.createVGPU(vf, v.kind, v.kind.ID, slot)
	}
}
