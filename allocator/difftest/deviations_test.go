package difftest

import (
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/dynamic-resource-allocation/structured/schedulerapi"
	"k8s.io/utils/ptr"

	"github.com/dray-dev/dray/allocator/allocatortest"
)

// deviation is an entry of docs/deviations.md, or, without a number, another
// reason for which two answers cannot be compared as they are.
type deviation string

const (
	allOverUnusablePool         deviation = "1 all-over-unusable-pool"
	sliceCountDisagreement      deviation = "2 slice-count-disagreement"
	adminAccessTakesNoCounters  deviation = "3 admin-access-takes-no-counters"
	liveShareBlocksExclusiveUse deviation = "4 live-share-blocks-exclusive-use"
	newestGenerationOnly        deviation = "5 newest-generation-only"

	// Where no scenario of upstream says exactly what ours must answer. Of
	// admin access two say it from both sides (expectation.between): what fits
	// although everybody draws counters must fit, and what does not fit although
	// nobody does must not. Of a device with a live share ours may report an
	// error, because it asks selectors of it that upstream then does not ask.
	adminAccessByBounds deviation = "3 answer lies between upstream's strict and lax one"
	liveShareByDeviceID deviation = "4 an error about the device with the live share"

	incubatingIgnoresSkippedOperations deviation = "incubating ignores skipNodeOperations"
	textDependsOnOrder                 deviation = "upstream's error text depends on map or list order"
	holdersExcludeEachOther            deviation = "upstream's order of slices on other nodes decides"
	searchTooLong                      deviation = "upstream's search was given up"
)

// expectation is what ours must answer for one node, put as questions to
// upstream: the outcome for one of the alternatives. Each is a scenario that
// upstream answers as ours answers the original.
type expectation struct {
	applied      []deviation
	alternatives []alternative
	// between is set where no scenario says it exactly: what fits in the first
	// must fit, and what does not fit in the second must not.
	between *[2]*allocatortest.Scenario
	// faultyAnyway are devices on which ours may err: it asks selectors of
	// them that no alternative asks.
	faultyAnyway []schedulerapi.DeviceID
	// anyOrder is set where upstream's answer depends on the order in which
	// slices are listed, so that each of its answers is right.
	anyOrder bool
}

type alternative struct {
	scenario   *allocatortest.Scenario
	onlyErrors bool // the outcome counts only if it is an error
}

// option is a way to change an alternative; a nil change keeps it.
type option struct {
	change     func(*allocatortest.Scenario)
	onlyErrors bool
}

// fork replaces every alternative by one for each option.
func (e *expectation) fork(options ...option) {
	var forked []alternative
	for _, o := range options {
		for _, a := range e.alternatives {
			if o.change != nil {
				a.scenario = changed(a.scenario, o.change)
			}
			a.onlyErrors = a.onlyErrors || o.onlyErrors
			forked = append(forked, a)
		}
	}
	e.alternatives = forked
}

func changed(s *allocatortest.Scenario, change func(*allocatortest.Scenario)) *allocatortest.Scenario {
	s = s.Clone()
	change(s)
	s.Stamp()
	return s
}

// question is a scenario on a node as the predicates see it.
type question struct {
	scenario *allocatortest.Scenario
	node     *corev1.Node
	pools    []*allocatortest.PoolView
}

// expect applies the predicates to a scenario on a node. Mostly none applies,
// and the only alternative is the scenario itself.
func expect(s *allocatortest.Scenario, node *corev1.Node) expectation {
	q := question{s, node, allocatortest.View(s, node)}
	e := expectation{alternatives: []alternative{{scenario: s}}}
	for _, rule := range []struct {
		deviation deviation
		apply     func(*expectation) bool
	}{
		{newestGenerationOnly, q.dropObsolete},
		{sliceCountDisagreement, q.invalidateDisagreeing},
		{liveShareBlocksExclusiveUse, q.reserveShared},
		{adminAccessTakesNoCounters, q.freeAdminOfCounters},
		{holdersExcludeEachOther, q.acceptAnyOrder},
	} {
		if rule.apply(&e) {
			e.applied = append(e.applied, rule.deviation)
		}
	}
	return e
}

var allOverUnusable = regexp.MustCompile(`: asks for all devices, but resource pool \S+ is currently (being updated|invalid)$`)

// failsOnlyHere: upstream's error for an All request over a pool that is
// incomplete or invalid aborts scheduling of the pod. It concerns one node.
func failsOnlyHere(upstream allocatortest.Outcome) (allocatortest.Outcome, bool) {
	if upstream.Class != allocatortest.Failed || !allOverUnusable.MatchString(upstream.Text) {
		return upstream, false
	}
	upstream.Class = allocatortest.FailedOnNode
	return upstream, true
}

// dropObsolete: upstream uses an older generation where nothing of the newest
// one reaches the node and the older one looks complete from there. Without
// the obsolete slices, upstream answers as ours does with them.
func (q question) dropObsolete(e *expectation) bool {
	applies, unparsable := false, false
	for _, pool := range q.pools {
		applies = applies || len(pool.Reaching) == 0 && q.looksComplete(pool.Obsolete)
		unparsable = unparsable || slices.ContainsFunc(pool.Obsolete, allocatortest.HasBadNodeSelector)
	}
	drop := option{change: func(s *allocatortest.Scenario) {
		for _, pool := range q.pools {
			s.Slices = slices.DeleteFunc(s.Slices, func(slice *resourceapi.ResourceSlice) bool {
				return slice.Spec.Driver == pool.Driver && slice.Spec.Pool.Name == pool.Name && slice.Spec.Pool.Generation < pool.Generation
			})
		}
	}}
	switch {
	case unparsable:
		// Upstream errs on a node selector that does not count any more.
		e.fork(drop, option{onlyErrors: true})
	case applies:
		e.fork(drop)
	}
	return applies || unparsable
}

// looksComplete follows upstream: of the slices that reach the node those of
// the newest generation, and the count of whichever is listed first.
func (q question) looksComplete(obsolete []*resourceapi.ResourceSlice) bool {
	var newest int64
	var seen []*resourceapi.ResourceSlice
	for _, slice := range obsolete {
		if allocatortest.Ignores(&q.scenario.Features, slice) || !allocatortest.SliceReaches(slice, q.node) {
			continue
		}
		if generation := slice.Spec.Pool.Generation; generation > newest {
			newest, seen = generation, nil
		}
		if slice.Spec.Pool.Generation == newest {
			seen = append(seen, slice)
		}
	}
	return slices.ContainsFunc(seen, func(slice *resourceapi.ResourceSlice) bool {
		return slice.Spec.Pool.ResourceSliceCount == int64(len(seen))
	})
}

// invalidateDisagreeing: where slices of one generation announce different
// counts, upstream follows the one that is listed first. Ours finds the pool
// invalid. So does upstream with a device name or counter set that is there
// twice and a count that is right.
func (q question) invalidateDisagreeing(e *expectation) bool {
	var disagreeing []*allocatortest.PoolView
	uncounted := false
	for _, pool := range q.pools {
		if pool.CountsDisagree() && len(pool.Reaching) > 0 {
			disagreeing = append(disagreeing, pool)
			uncounted = uncounted || len(pool.Uncounted) > 0
		}
	}
	if len(disagreeing) == 0 {
		return false
	}
	forEach := func(s *allocatortest.Scenario, change func(*allocatortest.PoolView, *resourceapi.ResourceSliceSpec)) {
		for _, slice := range s.Slices {
			for _, pool := range disagreeing {
				if slice.Spec.Driver == pool.Driver && slice.Spec.Pool.Name == pool.Name && slice.Spec.Pool.Generation == pool.Generation {
					change(pool, &slice.Spec)
				}
			}
		}
	}
	options := []option{{change: func(s *allocatortest.Scenario) {
		forEach(s, func(pool *allocatortest.PoolView, spec *resourceapi.ResourceSliceSpec) {
			spec.Pool.ResourceSliceCount = int64(len(pool.All))
			if len(spec.SharedCounters) > 0 {
				spec.SharedCounters = append(spec.SharedCounters, spec.SharedCounters[0])
			} else {
				spec.Devices = append(spec.Devices, resourceapi.Device{Name: "twice"}, resourceapi.Device{Name: "twice"})
			}
		})
	}}}
	if uncounted {
		// Not settled: slices that do not count may also make it incomplete.
		options = append(options, option{change: func(s *allocatortest.Scenario) {
			forEach(s, func(pool *allocatortest.PoolView, spec *resourceapi.ResourceSliceSpec) {
				spec.Pool.ResourceSliceCount = int64(len(pool.All) + len(pool.Uncounted))
			})
		}})
	}
	e.fork(options...)
	return true
}

// reserveShared: upstream gives a device with a live share to one claim alone.
// Ours does not; neither does upstream for a device that is allocated. But
// then it does not ask the selectors of the device, and ours does. So errors of
// the original count, too, as do those that name the device.
func (q question) reserveShared(e *expectation) bool {
	state := q.scenario.AllocatedState()
	shared := make(map[schedulerapi.DeviceID]bool)
	for share := range state.AllocatedSharedDeviceIDs {
		shared[share.GetDeviceID()] = true
	}
	for id := range state.AggregatedCapacity {
		shared[id] = true
	}
	var results []resourceapi.DeviceRequestAllocationResult
	q.eachDevice(func(pool *allocatortest.PoolView, device *resourceapi.Device) {
		exclusive := !q.scenario.Features.ConsumableCapacity || !ptr.Deref(device.AllowMultipleAllocations, false)
		id := schedulerapi.MakeDeviceID(pool.Driver, pool.Name, device.Name)
		if exclusive && shared[id] && !state.AllocatedDevices.Has(id) {
			results = append(results, resourceapi.DeviceRequestAllocationResult{Driver: pool.Driver, Pool: pool.Name, Device: device.Name})
			e.faultyAnyway = append(e.faultyAnyway, id)
		}
	})
	if len(results) == 0 {
		return false
	}
	e.fork(option{change: func(s *allocatortest.Scenario) {
		holder := &resourceapi.ResourceClaim{}
		holder.Namespace, holder.Name = "default", "holder-of-shared"
		holder.Status.Allocation = &resourceapi.AllocationResult{Devices: resourceapi.DeviceAllocationResult{Results: results}}
		s.Allocated = append(s.Allocated, holder)
	}}, option{onlyErrors: true})
	return true
}

// eachDevice visits the devices in slices that reach the node.
func (q question) eachDevice(visit func(*allocatortest.PoolView, *resourceapi.Device)) {
	for _, pool := range q.pools {
		for _, slice := range pool.Reaching {
			for i := range slice.Spec.Devices {
				visit(pool, &slice.Spec.Devices[i])
			}
		}
	}
}

// freeAdminOfCounters: upstream charges counters for admin access. Where a
// pool is for requests with admin access only, devices that consume nothing
// give the same answer. Where others want counters of the pool as well, the
// truth lies between charging all requests and charging none.
func (q question) freeAdminOfCounters(e *expectation) bool {
	if !q.scenario.Features.PartitionableDevices || !q.scenario.Features.AdminAccess {
		return false
	}
	admin, others := q.driversInDemand()
	onlyAdmin, mixed := make(map[string]bool), false
	q.eachDevice(func(pool *allocatortest.PoolView, device *resourceapi.Device) {
		if len(device.ConsumesCounters) == 0 || !admin.has(pool.Driver) {
			return
		}
		onlyAdmin[pool.Driver] = !others.has(pool.Driver)
		mixed = mixed || others.has(pool.Driver)
	})
	if len(onlyAdmin) == 0 {
		return false
	}
	free := func(charged func(driver string) bool) func(*allocatortest.Scenario) {
		return func(s *allocatortest.Scenario) {
			for _, slice := range s.Slices {
				if !charged(slice.Spec.Driver) {
					consumeNothing(slice)
				}
			}
		}
	}
	e.fork(option{change: free(func(driver string) bool { return !onlyAdmin[driver] })})
	if mixed {
		strict := e.alternatives[0].scenario
		e.between = &[2]*allocatortest.Scenario{strict, changed(strict, free(admin.lacks))}
	}
	return true
}

// consumeNothing keeps the names of counters and groups, which other checks
// look at.
func consumeNothing(slice *resourceapi.ResourceSlice) {
	for i := range slice.Spec.Devices {
		for _, consumption := range slice.Spec.Devices[i].ConsumesCounters {
			for name := range consumption.Counters {
				consumption.Counters[name] = resourceapi.Counter{Value: resource.MustParse("0")}
			}
		}
	}
}

// driverSet is a set of drivers; the empty name stands for all of them.
type driverSet map[string]bool

func (d driverSet) has(driver string) bool   { return d[driver] || d[""] }
func (d driverSet) lacks(driver string) bool { return !d.has(driver) }

// driversInDemand are those that classes of requests with and without admin
// access may select.
func (q question) driversInDemand() (admin, others driverSet) {
	admin, others = make(driverSet), make(driverSet)
	add := func(to driverSet, className string) {
		if class, err := q.scenario.ClassLister().Get(className); err == nil {
			to[allocatortest.ClassDriver(class)] = true
		}
	}
	for _, claim := range q.scenario.Claims {
		for _, request := range claim.Spec.Devices.Requests {
			for _, alternative := range request.FirstAvailable {
				add(others, alternative.DeviceClassName)
			}
			switch {
			case request.Exactly == nil:
			case ptr.Deref(request.Exactly.AdminAccess, false):
				add(admin, request.Exactly.DeviceClassName)
			default:
				add(others, request.Exactly.DeviceClassName)
			}
		}
	}
	return admin, others
}

// acceptAnyOrder: of the allocated devices on a counter set the first one says
// whether all have compatibility groups or none has. They agree, unless a
// driver has changed its mind. For slices that do not reach the node, upstream
// takes the order of the list, ours that of the names.
func (q question) acceptAnyOrder(e *expectation) bool {
	if !q.scenario.Features.CompatibilityGroups || !q.scenario.Features.PartitionableDevices {
		return false
	}
	state := q.scenario.AllocatedState()
	for _, pool := range q.pools {
		grouped, ungrouped := make(map[string]bool), make(map[string]bool)
		for _, slice := range pool.All {
			if len(pool.Reaching) == 0 || slices.Contains(pool.Reaching, slice) {
				continue
			}
			for _, device := range slice.Spec.Devices {
				id := schedulerapi.MakeDeviceID(pool.Driver, pool.Name, device.Name)
				if !structured.IsDeviceAllocated(id, &state) {
					continue
				}
				for _, consumption := range device.ConsumesCounters {
					grouped[consumption.CounterSet] = grouped[consumption.CounterSet] || len(consumption.CompatibilityGroups) > 0
					ungrouped[consumption.CounterSet] = ungrouped[consumption.CounterSet] || len(consumption.CompatibilityGroups) == 0
				}
			}
		}
		for set := range grouped {
			e.anyOrder = e.anyOrder || grouped[set] && ungrouped[set]
		}
	}
	return e.anyOrder
}

// incubatingDiffers: the incubating allocator does not know skipNodeOperations
// and uses devices that the experimental one refuses.
func incubatingDiffers(s *allocatortest.Scenario, node *corev1.Node) bool {
	for _, pool := range allocatortest.View(s, node) {
		for _, slice := range slices.Concat(pool.Reaching, pool.Obsolete) {
			if len(slice.Spec.SkipNodeOperations) > 0 {
				return true
			}
		}
	}
	return false
}
