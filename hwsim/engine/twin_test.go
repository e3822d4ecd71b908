package engine_test

import (
	"slices"
	"time"

	"github.com/dray-dev/dray/hwsim/engine"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// twin is another reading of the rules, slow and obvious: it paints memory slices
// and pieces of the GPU, and adds up figures one by one. It says which error a
// call must have, nil for none, and is told what the engine chose.
type twin struct {
	gpu              *hardware.GPU
	current, pending bool
	parts            map[int]*twinPart // by ID
	mixed            bool
	virtual          map[int]twinVGPU // by virtual function
	lost, needsReset bool
	processes        int
	now              time.Time
}

type twinPart struct {
	profile    *hardware.MIGProfile
	start      int
	compute    map[int]*twinCompute // by ID
	busy, gone time.Time            // zero for not
}

type twinCompute struct{ slices, processes int }

type twinVGPU struct {
	kind *hardware.VGPUType
	slot int
	part int // -1 without
}

func newTwin(gpu *hardware.GPU) *twin {
	t := &twin{gpu: gpu, parts: map[int]*twinPart{}, virtual: map[int]twinVGPU{}}
	if gpu.MIG != nil {
		t.current, t.pending = gpu.MIG.Enabled, gpu.MIG.Pending
	}
	if gpu.VGPU != nil {
		t.mixed = gpu.VGPU.MixedSize
	}
	return t
}

// pass lets time pass.
func (t *twin) pass(now time.Time) {
	t.now = now
	for id, part := range t.parts {
		if !part.gone.IsZero() && !part.gone.After(now) {
			delete(t.parts, id)
		}
	}
}

// usable is the error of every call of the library, whatever it wants.
func (t *twin) usable() error {
	switch {
	case t.lost:
		return hardware.ErrGPULost
	case t.needsReset:
		return hardware.ErrGPUResetRequired
	}
	return nil
}

func (t *twin) setMIG(on bool) error {
	if err := t.usable(); err != nil {
		return err
	}
	if t.gpu.MIG == nil {
		return hardware.ErrGPUNotSupported
	}
	changes := on != t.current || on != t.pending
	if changes && (t.processes > 0 || on && len(t.virtual) > 0 || !on && len(t.parts) > 0) {
		return hardware.ErrGPUInUse
	}
	t.pending = on
	if t.gpu.Architecture != "Ampere" {
		t.current = on
	}
	return nil
}

// figures of a profile that instances share, by name.
func figures(p *hardware.MIGProfile) map[string]uint64 {
	return map[string]uint64{
		"compute slices": uint64(p.ComputeSlices), "multiprocessors": uint64(p.Resources.Multiprocessors),
		"copy engines": uint64(p.Resources.CopyEngines), "decoders": uint64(p.Resources.Decoders),
		"encoders": uint64(p.Resources.Encoders), "JPEG engines": uint64(p.Resources.JPEGEngines),
		"OFA engines": uint64(p.Resources.OFAEngines), "memory": p.Resources.MemoryBytes,
	}
}

// exceeded is a figure of which instances of the profiles have more than the GPU,
// or which memory slice two have; empty if all is well.
func exceeded(gpu *hardware.GPU, profiles []*hardware.MIGProfile, starts []int) string {
	whole, used, count := map[string]uint64{}, map[string]uint64{}, map[int]int{}
	for i := range gpu.MIG.Profiles {
		for name, amount := range figures(&gpu.MIG.Profiles[i]) {
			whole[name] = max(whole[name], amount)
		}
	}
	var painted [200]bool
	for i, p := range profiles {
		if count[p.ID]++; count[p.ID] > p.MaxInstances {
			return "maximum of " + p.Name
		}
		for name, amount := range figures(p) {
			if used[name] += amount; used[name] > whole[name] {
				return name
			}
		}
		at := slices.IndexFunc(p.Placements, func(at hardware.Placement) bool { return at.Start == starts[i] })
		if at < 0 {
			return "placement of " + p.Name
		}
		for n := range p.Placements[at].Size {
			if painted[starts[i]+n] {
				return "memory slice"
			}
			painted[starts[i]+n] = true
		}
	}
	return ""
}

// fits says whether one more instance fits.
func (t *twin) fits(p *hardware.MIGProfile, start int) bool {
	profiles, starts := []*hardware.MIGProfile{p}, []int{start}
	for _, part := range t.parts {
		profiles, starts = append(profiles, part.profile), append(starts, part.start)
	}
	return exceeded(t.gpu, profiles, starts) == ""
}

func (t *twin) partitioned() error {
	if err := t.usable(); err != nil {
		return err
	}
	if t.gpu.MIG == nil || !t.current {
		return hardware.ErrGPUNotSupported
	}
	return nil
}

// create has a nil profile for one that there is not, and a nil placement for any.
func (t *twin) create(p *hardware.MIGProfile, at *hardware.Placement) error {
	if err := t.partitioned(); err != nil {
		return err
	}
	if p == nil || at != nil && !slices.Contains(p.Placements, *at) {
		return hardware.ErrGPUInvalidArgument
	}
	for _, candidate := range p.Placements {
		if (at == nil || candidate == *at) && t.fits(p, candidate.Start) && len(t.parts) < 15 {
			return nil
		}
	}
	return hardware.ErrGPUInsufficientResources
}

// part is one that can be changed, or why it cannot.
func (t *twin) part(id int) (*twinPart, error) {
	if err := t.partitioned(); err != nil {
		return nil, err
	}
	part := t.parts[id]
	if part == nil {
		return nil, hardware.ErrGPUNotFound
	}
	if !part.gone.IsZero() {
		return nil, hardware.ErrGPUInUse
	}
	for _, v := range t.virtual {
		if v.part == id {
			return nil, hardware.ErrGPUInUse
		}
	}
	return part, nil
}

func (t *twin) destroy(id int) error {
	part, err := t.part(id)
	if err != nil {
		return err
	}
	if len(part.compute) > 0 || t.now.Before(part.busy) {
		return hardware.ErrGPUInUse
	}
	part.gone = t.now.Add(time.Second)
	return nil
}

func (t *twin) createCompute(id, count int) error {
	part, err := t.part(id)
	if err != nil {
		return err
	}
	if count == 0 || count > part.profile.ComputeSlices {
		return hardware.ErrGPUNotSupported
	}
	for _, other := range part.compute {
		count += other.slices
	}
	if count > part.profile.ComputeSlices || len(part.compute) == 8 {
		return hardware.ErrGPUInsufficientResources
	}
	return nil
}

func (t *twin) destroyCompute(id, compute int) error {
	part, err := t.part(id)
	if err != nil {
		return err
	}
	c := part.compute[compute]
	if c == nil {
		return hardware.ErrGPUNotFound
	}
	if c.processes > 0 {
		return hardware.ErrGPUInUse
	}
	delete(part.compute, compute)
	part.busy = t.now.Add(200 * time.Millisecond)
	return nil
}

// createVGPU has a nil type for one that there is not. It fills in what it can of
// the virtual GPU: the slot, if only one is admitted.
func (t *twin) createVGPU(vf int, kind *hardware.VGPUType, slot int) error {
	if err := t.usable(); err != nil {
		return err
	}
	if t.gpu.VGPU == nil {
		return hardware.ErrGPUNotSupported
	}
	if kind == nil || vf < 0 || slot < engine.AnySlot || slot > 0 && (kind.MIGProfileID >= 0 || !t.mixed) {
		return hardware.ErrGPUInvalidArgument
	}
	if _, taken := t.virtual[vf]; taken {
		return hardware.ErrGPUInUse
	}
	if (kind.MIGProfileID >= 0) != t.current {
		return hardware.ErrGPUNotSupported
	}
	switch {
	case kind.MIGProfileID >= 0:
		if len(t.backers(kind)) == 0 {
			return hardware.ErrGPUInsufficientResources
		}
	case t.mixed:
		if kind.MaxMixed == 0 {
			return hardware.ErrGPUNotSupported
		}
		if slot >= kind.MaxMixed {
			return hardware.ErrGPUInvalidArgument
		}
		if slot >= 0 && !t.slotFree(kind, slot) || slot < 0 && len(t.freeSlots(kind)) == 0 {
			return hardware.ErrGPUInsufficientResources
		}
	default:
		return t.admitsEqual(kind)
	}
	return nil
}

// backers are the GPU instances that can back the type.
func (t *twin) backers(kind *hardware.VGPUType) []int {
	var ids []int
	for id, part := range t.parts {
		free := part.profile.ID == kind.MIGProfileID && part.gone.IsZero()
		for _, c := range part.compute {
			free = free && c.processes == 0
		}
		for _, v := range t.virtual {
			free = free && v.part != id
		}
		if free {
			ids = append(ids, id)
		}
	}
	return ids
}

// pieces is a number that the maxima of all types divide.
func (t *twin) pieces(most func(*hardware.VGPUType) int) int {
	n := 1
	for {
		divides := true
		for i := range t.gpu.VGPU.Types {
			m := most(&t.gpu.VGPU.Types[i])
			divides = divides && (m == 0 || n%m == 0)
		}
		if divides {
			return n
		}
		n++
	}
}

func (t *twin) slotFree(kind *hardware.VGPUType, slot int) bool {
	n := t.pieces(func(k *hardware.VGPUType) int { return k.MaxMixed })
	painted := make([]bool, n)
	for _, v := range t.virtual {
		size := n / v.kind.MaxMixed
		for i := range size {
			painted[v.slot*size+i] = true
		}
	}
	size := n / kind.MaxMixed
	return !slices.Contains(painted[slot*size:(slot+1)*size], true)
}

func (t *twin) freeSlots(kind *hardware.VGPUType) (free []int) {
	for slot := range kind.MaxMixed {
		if t.slotFree(kind, slot) {
			free = append(free, slot)
		}
	}
	return free
}

func (t *twin) admitsEqual(kind *hardware.VGPUType) error {
	if kind.MaxInstances == 0 {
		return hardware.ErrGPUNotSupported
	}
	n := t.pieces(func(k *hardware.VGPUType) int { return k.MaxInstances })
	used := n / kind.MaxInstances
	for _, v := range t.virtual {
		if v.kind.FramebufferBytes != kind.FramebufferBytes {
			return hardware.ErrGPUInsufficientResources
		}
		used += n / v.kind.MaxInstances
	}
	if used > n {
		return hardware.ErrGPUInsufficientResources
	}
	return nil
}

func (t *twin) destroyVGPU(vf int) error {
	if err := t.usable(); err != nil {
		return err
	}
	if t.gpu.VGPU == nil {
		return hardware.ErrGPUNotSupported
	}
	if _, ok := t.virtual[vf]; !ok {
		return hardware.ErrGPUNotFound
	}
	delete(t.virtual, vf)
	return nil
}

func (t *twin) setMixed(on bool) error {
	if err := t.usable(); err != nil {
		return err
	}
	can := false
	if t.gpu.VGPU != nil {
		for _, kind := range t.gpu.VGPU.Types {
			can = can || kind.MaxMixed > 0
		}
	}
	switch {
	case t.gpu.VGPU == nil || on && !can || t.current:
		return hardware.ErrGPUNotSupported
	case len(t.virtual) > 0:
		return hardware.ErrGPUInUse
	}
	t.mixed = on
	return nil
}

func (t *twin) setProcesses(id, compute, count int) error {
	if id < 0 {
		t.processes = count
		return nil
	}
	// It is no call of the library, and does not need a GPU that answers.
	lost, needsReset := t.lost, t.needsReset
	t.lost, t.needsReset = false, false
	part, err := t.part(id)
	t.lost, t.needsReset = lost, needsReset
	if err != nil {
		return err
	}
	c := part.compute[compute]
	if c == nil {
		return hardware.ErrGPUNotFound
	}
	c.processes = count
	return nil
}

func (t *twin) xid(code int) error {
	if t.lost {
		return hardware.ErrGPULost
	}
	switch code {
	case 79:
		t.lost = true
	case 95:
		t.needsReset = true
	}
	return nil
}

func (t *twin) reset() error {
	processes := t.processes
	for _, part := range t.parts {
		for _, c := range part.compute {
			processes += c.processes
		}
	}
	switch {
	case t.lost:
		return hardware.ErrGPULost
	case processes > 0 || len(t.virtual) > 0:
		return hardware.ErrGPUInUse
	}
	t.current, t.parts, t.needsReset = t.pending, map[int]*twinPart{}, false
	return nil
}

func (t *twin) reboot() {
	t.current = t.pending && t.gpu.Architecture == "Ampere"
	t.pending = t.current
	t.parts, t.virtual, t.mixed = map[int]*twinPart{}, map[int]twinVGPU{}, false
	t.lost, t.needsReset, t.processes = false, false, 0
}
