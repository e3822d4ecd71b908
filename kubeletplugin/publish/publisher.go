package publish

import (
	"errors"
	"fmt"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// Publisher makes slices by one set of options. Nodes of a fleet share one, from
// one goroutine. What it returns shares memory, with itself and with later
// results, and must not be changed.
type Publisher struct {
	options Options
	limits  limits
	check   *checker
	models  map[gpuModelKey][]*gpuModel
}

// New fails if the options contradict themselves or ask for what the API server
// does not keep (ErrNotKept).
func New(options Options) (*Publisher, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	l := limitsOf(options.Minor)
	return &Publisher{options: options, limits: l, check: newChecker(l), models: map[gpuModelKey][]*gpuModel{}}, nil
}

// Pool is all slices of one pool of one driver, in the order of their names. It
// has none if everything in it is withdrawn or left out: then the pool is to be
// deleted.
type Pool struct {
	Driver, Name string
	Slices       []resourceapi.ResourceSlice
}

// Node returns the pools of a node, one for each driver that has devices there.
// Their name is the node's, a DNS subdomain. The node must be valid
// (hardware.Node.Validate).
//
// One device that cannot be published does not hide the others: it is left out,
// and the error is of type *Error, or several of them joined, beside pools that a
// driver can go on with. A counter set that cannot be published takes all who
// consume it with it. Of a driver whose pool itself is wrong, by its generation,
// there is no pool. With an error of the node's name there are none.
func (p *Publisher) Node(name string, node *hardware.Node, state State) ([]Pool, error) {
	if name == "" {
		return nil, &Error{Field: "name", Err: errNoNodeName}
	}
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return nil, &Error{Node: name, Field: "name", Err: errors.New(problems[0])}
	}
	drivers := p.options.Drivers
	sources := [...]struct {
		driver string
		groups func(*hardware.Node) ([]group, error)
	}{
		{drivers.GPU, p.nvidiaGPUs},
		{drivers.AMDGPU, p.amdGPUs},
		{drivers.NIC, p.nics},
		{drivers.FPGA, p.fpgas},
		{drivers.ComputeDomain, p.computeDomain},
	}
	pools := make([]*pool, 0, len(sources))
	var errs []error
	for _, source := range sources {
		groups, err := source.groups(node)
		for _, err := range each(err) {
			errs = append(errs, inNode(name, source.driver, err))
		}
		if len(groups) > 0 || err != nil { // with all left out the pool has no slices
			pools = addTo(pools, source.driver, name, groups)
		}
	}
	result := make([]Pool, 0, len(pools))
	for _, pool := range pools {
		pool.nodeName = name
		finished, err := p.finish(pool, &state)
		for _, err := range each(err) {
			errs = append(errs, inNode(name, pool.driver, err))
		}
		if finished != nil {
			result = append(result, *finished)
		}
	}
	return result, errors.Join(errs...)
}

// each is the errors that were joined.
func each(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

// addTo adds to the driver's pool, or starts one.
func addTo(pools []*pool, driver, name string, groups []group) []*pool {
	for _, pool := range pools {
		if pool.driver == driver {
			pool.groups = append(pool.groups, groups...)
			return pools
		}
	}
	return append(pools, &pool{driver: driver, name: name, groups: groups})
}

// finish applies the state and divides the pool, which is nil if nothing can be
// said of it; what is left out of it is an error, or several of them joined.
func (p *Publisher) finish(pool *pool, state *State) (*Pool, error) {
	pool.generation = state.Generations[pool.driver]
	for i := range pool.groups {
		pool.groups[i].devices = state.apply(pool.driver, pool.groups[i].devices, p.options.Minor, p.options.Features.DeviceTaints)
	}
	if err := checkPool(pool); err != nil {
		return nil, err
	}
	slices, err := pool.slices(&p.limits, p.check)
	return &Pool{Driver: pool.driver, Name: pool.name, Slices: slices}, err
}

// inNode adds where an error happened.
func inNode(name, driver string, err error) error {
	e := &Error{}
	if !errors.As(err, &e) {
		e = &Error{Err: err}
	}
	e.Node, e.Pool, e.Driver = name, "", driver
	return e
}

// fieldError is an error of a device's field that a source found itself.
func fieldError(device, field string, format string, arguments ...any) error {
	return &Error{Device: device, Field: field, Err: fmt.Errorf(format, arguments...)}
}
