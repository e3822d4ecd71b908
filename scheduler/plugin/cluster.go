package plugin

import (
	"context"
	"errors"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/dynamic-resource-allocation/structured/schedulerapi"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/dray-dev/dray/allocator"
)

// clusterState is what a scheduling cycle has to know about the cluster's devices.
// It is asked once for each pod with claims to allocate.
type clusterState interface {
	// slices lists all ResourceSlices, with the taints of rules, in any order.
	// They are not to be modified.
	slices() ([]*resourceapi.ResourceSlice, error)
	// taken is what allocated claims hold: those in the API, those that were
	// written and not yet seen in a watch, and those in flight.
	taken(ctx context.Context) (taken, error)
}

// taken is what allocated claims hold, in one of two forms.
type taken struct {
	// held is the ledger's; state is not set then.
	held *allocator.Held
	// state is the manager's.
	state schedulerapi.AllocatedState
}

// allocated returns it in the manager's form.
func (t *taken) allocated() schedulerapi.AllocatedState {
	if t.held != nil {
		return t.held.State()
	}
	return t.state
}

// ledgerState asks the ledger, and the manager only while the ledger is not current.
type ledgerState struct {
	managerState
	ledger *ledger
}

func (s *ledgerState) taken(ctx context.Context) (taken, error) {
	if held, ok := s.ledger.held(); ok {
		s.counts.current.Add(1)
		return taken{held: &held}, nil
	}
	return s.managerState.taken(ctx)
}

// managerState asks the SharedDRAManager each time, so that the answer is right
// whoever implements it: the scheduler, the autoscaler's simulation, a test.
type managerState struct {
	manager fwk.SharedDRAManager
	shares  bool // whether devices may be shared (DRAConsumableCapacity)
	counts  *asked
}

func (m *managerState) taken(ctx context.Context) (taken, error) {
	m.counts.fallbacks.Add(1)
	state, err := m.inUse(ctx)
	return taken{state: state}, err
}

func (m *managerState) slices() ([]*resourceapi.ResourceSlice, error) {
	return m.manager.ResourceSlices().ListWithDeviceTaintRules()
}

// The scheduler's manager refuses to answer while claims change under it, with an
// error that it does not export. So any error is tried again: as often as this, which
// for one that stays takes some milliseconds, and no longer than this, because an
// attempt that a change ends can take tens of milliseconds.
const (
	gatherAttempts = 200
	gatherPause    = 10 * time.Microsecond
	gatherWithin   = 5 * time.Second
)

func (m *managerState) inUse(ctx context.Context) (schedulerapi.AllocatedState, error) {
	var state schedulerapi.AllocatedState
	var last error
	attempts := 0
	err := wait.PollUntilContextTimeout(ctx, gatherPause, gatherWithin, true, func(context.Context) (bool, error) {
		attempts++
		state, last = m.gather()
		if last != nil && attempts >= gatherAttempts {
			return false, last
		}
		return last == nil, nil
	})
	if err != nil && last != nil {
		err = last
	}
	return state, err
}

func (m *managerState) gather() (schedulerapi.AllocatedState, error) {
	claims := m.manager.ResourceClaims()
	if m.shares {
		state, err := claims.GatherAllocatedState()
		if err != nil {
			return schedulerapi.AllocatedState{}, err
		}
		if state == nil {
			return schedulerapi.AllocatedState{}, errors.New("the manager of claims knows no allocated state")
		}
		return *state, nil
	}
	devices, err := claims.ListAllAllocatedDevices()
	if err != nil {
		return schedulerapi.AllocatedState{}, err
	}
	return schedulerapi.AllocatedState{
		AllocatedDevices:         devices,
		AllocatedSharedDeviceIDs: sets.New[schedulerapi.SharedDeviceID](),
		AggregatedCapacity:       schedulerapi.ConsumedCapacityCollection{},
	}, nil
}
