package request

import (
	"context"

	"github.com/dray-dev/dray/allocator/internal/bitset"
	"github.com/dray-dev/dray/allocator/internal/index"
)

// Stage is one of the checks that a device has to pass before any search, in the
// order in which a person would go through them. Bind goes through the same
// checks in upstream's order, which matters for errors only: what passes all of
// them is the same.
type Stage int

const (
	// InPools: the device is in a pool that can be used.
	InPools Stage = iota
	// Supported: the cluster has the feature that the device needs.
	Supported
	// OfClass: the selectors of the class match.
	OfClass
	// Selected: the selectors of the request match.
	Selected
	// OnNode: the device is for this node, and the node can do what it takes.
	OnNode
	// Untainted: every taint is tolerated.
	Untainted
	// Free: no other claim has it, unless the request has admin access.
	Free
	// WithCapacity: enough capacity is left for the request.
	WithCapacity
	// NumStages is the number of stages.
	NumStages
)

// Progress is how far the devices of a node come for one alternative. Its sets
// are over the node's domain.
type Progress struct {
	// Left are the devices that passed the stage and all before; each is a
	// subset of the one before.
	Left [NumStages]bitset.Set
	// Faulty are the devices that left at the stage because nobody can say
	// whether they pass: an expression, a node selector or a quantity is wrong.
	Faulty [NumStages]bitset.Set
	// AfterSelector are the devices left after each of the alternative's selectors.
	AfterSelector []bitset.Set
	// Members are the devices that a request for all wants; nil for others.
	Members bitset.Set
}

// Examination looks at claims on a target without making a problem of them.
// Unlike Bind it can tell something about claims that contain errors.
type Examination struct {
	*binder
}

// Examine prepares an examination; it does not look at any device.
func Examine(ctx context.Context, claims *Claims, target Target) *Examination {
	x := &Examination{binder: &binder{Bound: &Bound{Claims: claims, Target: target}, scratch: new(Scratch), ctx: ctx}}
	x.bindNode()
	return x
}

// Progress follows the devices through the stages. The alternative must have no
// error of its own (see Sound). The error is the context's.
func (x *Examination) Progress(a *Alternative) (*Progress, error) {
	p := &Progress{AfterSelector: make([]bitset.Set, len(a.Selectors))}
	for stage := range p.Left {
		p.Left[stage], p.Faulty[stage] = x.Node.NewSet(), x.Node.NewSet()
	}
	for i := range p.AfterSelector {
		p.AfterSelector[i] = x.Node.NewSet()
	}
	if a.All {
		p.Members = x.Node.NewSet()
	}
	for number, pool := range x.Node.Pools {
		if pool.Status != index.Usable {
			continue
		}
		t := track{Examination: x, alternative: a, progress: p, number: number,
			left: bitset.Full(pool.Devices), faulty: bitset.New(pool.Devices)}
		if err := t.run(); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Sound says whether the alternative contains no error that Bind would report.
func (a *Alternative) Sound() bool { return a.err == nil }

// track follows the devices of one pool.
type track struct {
	*Examination
	alternative  *Alternative
	progress     *Progress
	number       int
	left, faulty bitset.Set
}

// pass notes what is left after a stage.
func (t *track) pass(stage Stage) {
	t.Node.Part(t.progress.Left[stage], t.number).Or(t.left)
	t.Node.Part(t.progress.Faulty[stage], t.number).Or(t.faulty)
	clear(t.faulty)
}

func (t *track) run() error {
	a := t.alternative
	t.pass(InPools)
	t.dropBinding(t.number, t.left)
	t.pass(Supported)
	for i, s := range a.Selectors {
		if !s.OfClass && (i == 0 || a.Selectors[i-1].OfClass) {
			t.pass(OfClass)
		}
		if err := t.ask(t.number, s, t.left, t.faulty); err != nil {
			return err
		}
		t.Node.Part(t.progress.AfterSelector[i], t.number).Or(t.left)
	}
	if n := len(a.Selectors); n == 0 || a.Selectors[n-1].OfClass {
		t.pass(OfClass)
	}
	t.pass(Selected)
	t.dropUnreached(t.number, t.left, t.faulty)
	if a.All {
		members := t.Node.Part(t.progress.Members, t.number)
		members.Or(t.left)
		t.dropFull(members, nil, true)
	}
	t.dropSkipping(t.number, t.left)
	t.pass(OnNode)
	t.dropTainted(t.number, a, t.left)
	t.pass(Untainted)
	t.dropShared(t.number, a, t.left)
	if !a.Admin {
		t.left.AndNot(t.usage[t.number].InUse)
	}
	t.pass(Free)
	t.dropFull(t.left, t.faulty, false)
	t.pass(WithCapacity)
	return nil
}

// dropFull removes the devices whose capacity is too small for the request: as
// if nothing were allocated where empty is set, as things are otherwise. Where
// that cannot be computed the device moves to faulty, if there is such a set.
func (t *track) dropFull(left, faulty bitset.Set, empty bool) {
	if !t.Claims.Features.ConsumableCapacity {
		return
	}
	for w := range left {
		for device := range (bitset.Set{left[w] & t.metered(t.number, t.alternative, w)}).All {
			device += w * bitset.WordBits
			fits, err := t.hasRoom(t.number, device, t.alternative, empty)
			if err == nil && fits {
				continue
			}
			left.Remove(device)
			if err != nil && faulty != nil {
				faulty.Add(device)
			}
		}
	}
}

func (x *Examination) hasRoom(number, device int, a *Alternative, empty bool) (bool, error) {
	pool := x.Node.Pools[number]
	taken, ok, err := consume(pool.At(device), a.Capacity, x.Claims.Features.FractionalCapacityRange)
	if err != nil || !ok {
		return false, err
	}
	value, consumed, amounts, err := x.exact(pool, device, taken)
	if err != nil {
		return false, err
	}
	if empty {
		consumed = nil
	}
	return covers(value, consumed, amounts), nil
}
