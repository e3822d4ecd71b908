package partitioning_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/structured/schedulerapi"

	"github.com/dray-dev/dray/allocator"
	"github.com/dray-dev/dray/hwsim/engine"
	"github.com/dray-dev/dray/hwsim/machine"
)

// DRAY_SEQUENCES is how many sequences there are for each machine, DRAY_SEED the
// seed of the only one.
const (
	sequencesVariable = "DRAY_SEQUENCES"
	seedVariable      = "DRAY_SEED"
)

func variable(t *testing.T, name string, otherwise uint64) (value uint64, set bool) {
	text := os.Getenv(name)
	if text == "" {
		return otherwise, false
	}
	value, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return value, true
}

// Random claims come and go on each machine: the allocator gives out devices from
// the slices that the machine publishes, and the driver prepares them on its GPUs.
// A GPU that refuses what the allocator gave out shows that the slices do not say
// what the hardware does.
func TestWhatTheAllocatorGivesOutTheHardwareAccepts(t *testing.T) {
	count, _ := variable(t, sequencesVariable, 30)
	givenSeed, only := variable(t, seedVariable, 0)
	if only {
		count = 1
	}
	var sequences, given, refused atomic.Int64
	t.Run("machines", func(t *testing.T) {
		for _, name := range machine.Names() {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				m, err := machine.Load(name)
				if err != nil {
					t.Fatal(err)
				}
				all := settingsOf(t, m)
				if len(all) == 0 {
					t.Skip("no node of it has NVIDIA GPUs")
				}
				for n := range count {
					seed := givenSeed // of this machine alone: machines run side by side
					if !only {
						seed = seedOf(name, n)
					}
					q := &sequence{random: rand.New(rand.NewPCG(seed, 1))}
					err := q.run(all[q.random.IntN(len(all))])
					sequences.Add(1)
					given.Add(int64(q.given))
					refused.Add(int64(q.refused))
					if err != nil {
						t.Fatalf("%v\nsteps:\n%s\nrun it again: %s=%d go test ./e2e/partitioning -run '%s/machines/^%s$'",
							err, strings.Join(q.steps, "\n"), seedVariable, seed, "TestWhatTheAllocatorGivesOutTheHardwareAccepts", name)
					}
				}
			})
		}
	})
	t.Logf("sequences: %d, with %d claims that were given devices and %d that did not fit", sequences.Load(), given.Load(), refused.Load())
}

// seedOf keeps machines apart.
func seedOf(name string, n uint64) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64() + n
}

// settingsOf a machine: of its first node with GPUs, because those of racks are alike.
func settingsOf(t *testing.T, m *machine.Machine) []*setting {
	for _, node := range m.Instantiate(machine.Identity{Name: "node-a", Seed: 1}).Nodes {
		if len(node.Hardware.GPUs) == 0 {
			continue
		}
		all, err := settings(node.Hardware)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	return nil
}

// sequence is a random history of one node.
type sequence struct {
	random *rand.Rand
	*setting
	driver *driver
	held   sets.Set[schedulerapi.DeviceID]
	claims [][]string // the devices of each
	steps  []string
	// given and refused count the claims.
	given, refused int
}

const maxSteps = 24

func (q *sequence) run(s *setting) (err error) {
	q.setting, q.held = s, sets.New[schedulerapi.DeviceID]()
	q.steps = append(q.steps, "setting "+s.name)
	if q.driver, err = newDriver(s.node, s.state.Clone(), &clock{begin}); err != nil {
		return err
	}
	for range 1 + q.random.IntN(maxSteps) {
		if len(q.claims) > 0 && q.random.IntN(3) == 0 {
			err = q.free(q.random.IntN(len(q.claims)))
		} else {
			err = q.claim()
		}
		if err != nil {
			return err
		}
	}
	for len(q.claims) > 0 {
		if err := q.free(len(q.claims) - 1); err != nil {
			return err
		}
	}
	return q.checkEmpty()
}

// checkEmpty fails unless everything that was made is gone.
func (q *sequence) checkEmpty() error {
	return q.driver.store.View(func(e *engine.Engine) error {
		for _, gpu := range e.State().GPUs {
			if gpu.Processes != 0 || gpu.MIG != nil && len(gpu.MIG.Instances) > 0 || gpu.VGPU != nil && len(gpu.VGPU.Active) > 0 {
				return fmt.Errorf("gpu %s is not empty: %+v", gpu.Address, gpu)
			}
		}
		return e.State().Validate(q.node)
	})
}

// claim allocates a random claim and prepares what it is given. Sometimes it asks
// for one device where none has a taint: if there is none, the hardware has none.
func (q *sequence) claim() error {
	claim, text := q.randomClaim()
	v := q.views[q.random.IntN(len(q.views))]
	single := q.random.IntN(8) == 0
	var profile string
	if single {
		v, profile = q.views[0], q.profiles[q.random.IntN(len(q.profiles))]
		claim, text = newClaim(), "one of "+profile
		addRequest(claim, 1, selector("profile", profile))
	}
	ctx := context.Background()
	state := schedulerapi.AllocatedState{AllocatedDevices: q.held}
	a, err := v.inventory.NewAllocator(ctx, features, state, anyClass{}, v.slices, celCache)
	if err != nil {
		return fmt.Errorf("%s: %w", text, err)
	}
	results, err := a.Allocate(ctx, node, []*resourceapi.ResourceClaim{claim})
	if err != nil && !errors.Is(err, allocator.ErrFailedOnNode) {
		return fmt.Errorf("%s: %w", text, err)
	}
	if results == nil {
		q.refused++
		if single {
			return q.checkNoneFits(profile)
		}
		return nil
	}
	var given []string
	for _, result := range results[0].Devices.Results {
		given = append(given, result.Device)
	}
	q.steps = append(q.steps, fmt.Sprintf("claim %s: %s", text, strings.Join(given, " ")))
	for _, name := range given {
		q.held = q.held.Clone().Insert(deviceID(name))
		if err := q.driver.prepare(q.devices[name]); err != nil {
			return fmt.Errorf("the hardware refuses %s: %w", name, err)
		}
	}
	q.claims = append(q.claims, given)
	q.given++
	return nil
}

// checkNoneFits fails if the hardware would accept a device of the profile after
// all: then the slices are stricter than it.
func (q *sequence) checkNoneFits(profile string) error {
	var state *engine.State
	if err := q.driver.store.View(func(e *engine.Engine) error {
		state = e.State().Clone()
		return nil
	}); err != nil {
		return err
	}
	for _, name := range q.names {
		d := q.devices[name]
		if d.attribute != profile || q.held.Has(deviceID(name)) || q.held.Has(deviceID(d.whole)) {
			continue // the engine does not know that nobody else may use a GPU that is held as a whole
		}
		now := *q.driver.clock
		other, err := newDriver(q.node, state.Clone(), &now)
		if err != nil {
			return err
		}
		if other.prepare(d) == nil {
			return fmt.Errorf("the hardware accepts %s, and the allocator says that none of %q is free", name, profile)
		}
	}
	return nil
}

// free gives a claim's devices back, in random order.
func (q *sequence) free(i int) error {
	devices := q.claims[i]
	q.claims = slices.Delete(q.claims, i, i+1)
	q.random.Shuffle(len(devices), func(i, j int) { devices[i], devices[j] = devices[j], devices[i] })
	q.steps = append(q.steps, "free "+strings.Join(devices, " "))
	q.held = q.held.Clone()
	for _, name := range devices {
		if err := q.driver.unprepare(name); err != nil {
			return fmt.Errorf("%s is not given back: %w", name, err)
		}
		q.held.Delete(deviceID(name))
	}
	return nil
}

// randomClaim asks for devices of one to three profiles, or of any.
func (q *sequence) randomClaim() (*resourceapi.ResourceClaim, string) {
	claim := newClaim()
	var text []string
	for range 1 + q.random.IntN(5)/3*(1+q.random.IntN(2)) { // mostly one
		var selectors []resourceapi.DeviceSelector
		what := "anything"
		if q.random.IntN(8) > 0 {
			profile := q.profiles[q.random.IntN(len(q.profiles))]
			selectors = append(selectors, selector("profile", profile))
			what = profile
			if profile == "" {
				what = "a whole GPU"
			}
		}
		if gpu := q.random.IntN(3 * len(q.uuids)); gpu < len(q.uuids) {
			selectors = append(selectors, selector("parentUUID", q.uuids[gpu]))
			what += fmt.Sprintf(" on GPU %d", gpu)
		}
		count := 1 + q.random.IntN(4)/3
		addRequest(claim, count, selectors...)
		text = append(text, fmt.Sprintf("%d of %s", count, what))
	}
	return claim, strings.Join(text, ", ")
}

func newClaim() *resourceapi.ResourceClaim {
	return &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: "claim", Namespace: "default", UID: "claim"}}
}

func addRequest(claim *resourceapi.ResourceClaim, count int, selectors ...resourceapi.DeviceSelector) {
	claim.Spec.Devices.Requests = append(claim.Spec.Devices.Requests, resourceapi.DeviceRequest{
		Name: fmt.Sprintf("r%d", len(claim.Spec.Devices.Requests)),
		Exactly: &resourceapi.ExactDeviceRequest{DeviceClassName: "any", Selectors: selectors,
			AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: int64(count)},
	})
}

// selector is for a value of an attribute that not every device has.
func selector(attribute, value string) resourceapi.DeviceSelector {
	return resourceapi.DeviceSelector{CEL: &resourceapi.CELDeviceSelector{
		Expression: fmt.Sprintf(`device.attributes[%q].?%s.orValue("") == %q`, driverName, attribute, value)}}
}

var node = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-a"}}

// anyClass is the only class: everything.
type anyClass struct{}

func (anyClass) Get(name string) (*resourceapi.DeviceClass, error) {
	return &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}}, nil
}

func (c anyClass) List() ([]*resourceapi.DeviceClass, error) {
	class, err := c.Get("any")
	return []*resourceapi.DeviceClass{class}, err
}
