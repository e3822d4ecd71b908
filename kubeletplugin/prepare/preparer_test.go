package prepare_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"tags.cncf.io/container-device-interface/specs-go"

	"github.com/dray-dev/dray/kubeletplugin/cdi"
	"github.com/dray-dev/dray/kubeletplugin/checkpoint"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
	"github.com/dray-dev/dray/kubeletplugin/prepare"
)

// lamp is a kind whose devices are lamps: "lamp-1" is on while a claim has it.
type lamp struct {
	mu sync.Mutex
	on map[string]bool
	// apply, if set, runs before a lamp is switched on.
	apply func(name string) error
	// undo, if set, runs before a lamp is switched off.
	undo func(name string)
	// find, if set, says which lamp a device is.
	find func(device string) (string, error)
	// others that Plan was given, by lamp.
	others map[string][]lampPlan
}

type lampPlan struct{ Name string }

type lampOutcome struct{ On bool }

func (l *lamp) Name() string { return "lamp" }

func (l *lamp) Match(device string) bool { return strings.HasPrefix(device, "lamp-") }

func (l *lamp) Find(_ context.Context, device string) (string, error) {
	if l.find != nil {
		return l.find(device)
	}
	return device, nil
}

func (l *lamp) Lock(plan *lampPlan) string { return plan.Name }

func (l *lamp) Holds(r *prepare.Request) ([]string, error) {
	name, err := l.Find(context.Background(), r.Device)
	return []string{name}, err
}

func (l *lamp) Plan(r *prepare.Request, others []lampPlan) (*lampPlan, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.others == nil {
		l.others = map[string][]lampPlan{}
	}
	l.others[r.Device] = others
	name, err := l.Find(context.Background(), r.Device)
	return &lampPlan{name}, err
}

func (l *lamp) Apply(_ context.Context, plan *lampPlan) (*lampOutcome, error) {
	if l.apply != nil {
		if err := l.apply(plan.Name); err != nil {
			return &lampOutcome{}, err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.on == nil {
		l.on = map[string]bool{}
	}
	l.on[plan.Name] = true
	return &lampOutcome{true}, nil
}

func (l *lamp) Verify(_ context.Context, plan *lampPlan, _ *lampOutcome) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.on[plan.Name] {
		return prepare.ErrNotAsLeft
	}
	return nil
}

func (l *lamp) Undo(_ context.Context, plan *lampPlan, _ *lampOutcome, _ bool, _ []lampPlan) error {
	if l.undo != nil {
		l.undo(plan.Name)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.on, plan.Name)
	return nil
}

func (l *lamp) Content(context.Context, *lampPlan, *lampOutcome) (*prepare.Content, error) {
	return &prepare.Content{Edits: specs.ContainerEdits{Env: []string{"LAMP=1"}}}, nil
}

func options(t *testing.T, dir string, kinds ...prepare.Kind) prepare.Options {
	t.Helper()
	store, err := checkpoint.NewStore(filepath.Join(dir, "checkpoint.json"), checkpoint.Options{Driver: "lamps.dray.dev", Node: "node-1"})
	if err != nil {
		t.Fatal(err)
	}
	files, err := cdi.NewDir(cdi.Options{Driver: "lamps.dray.dev", Dir: filepath.Join(dir, "cdi")})
	if err != nil {
		t.Fatal(err)
	}
	return prepare.Options{Driver: "lamps.dray.dev", Pool: "node-1", Kinds: kinds, Store: store, CDI: files, BootID: "boot-1",
		Hardware: func(context.Context) (*hardware.Node, error) { return &hardware.Node{}, nil }}
}

func newPreparer(t *testing.T, dir string, kinds ...prepare.Kind) *prepare.Preparer {
	t.Helper()
	p, err := prepare.New(options(t, dir, kinds...))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func claim(uid string, devices ...string) *resourceapi.ResourceClaim {
	c := &resourceapi.ResourceClaim{}
	c.Name, c.Namespace, c.UID = "claim-"+uid, "default", types.UID(uid)
	c.Status.Allocation = &resourceapi.AllocationResult{}
	for _, device := range devices {
		c.Status.Allocation.Devices.Results = append(c.Status.Allocation.Devices.Results,
			resourceapi.DeviceRequestAllocationResult{Driver: "lamps.dray.dev", Pool: "node-1", Request: "main", Device: device})
	}
	return c
}

func TestClaimsThatAreNotForThisNodeAreRefused(t *testing.T) {
	p := newPreparer(t, t.TempDir(), prepare.Typed(&lamp{}))
	notAllocated := claim("a")
	notAllocated.Status.Allocation = nil
	elsewhere := claim("a", "lamp-1")
	elsewhere.Status.Allocation.Devices.Results[0].Pool = "node-2"
	for _, c := range []struct {
		name  string
		claim *resourceapi.ResourceClaim
		says  string
	}{
		{"not allocated", notAllocated, "not allocated"},
		{"without a UID", claim("", "lamp-1"), "metadata.uid"},
		{"of another pool", elsewhere, `devices.results[0].pool: "node-2" is not this node's`},
		{"of another kind", claim("a", "lamp-1", "door-1"), `devices.results[1].device: "door-1"`},
	} {
		if _, err := p.Prepare(t.Context(), c.claim); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	other := claim("a", "lamp-1")
	other.Status.Allocation.Devices.Results[0].Driver = "doors.dray.dev"
	if devices, err := p.Prepare(t.Context(), other); err != nil || len(devices) > 0 {
		t.Errorf("of another driver: %v, %v", devices, err)
	}
	if claims, err := p.Claims(t.Context()); err != nil || len(claims) > 0 {
		t.Errorf("left behind: %v, %v", claims, err)
	}
}

// The allocation changes, which takes an unprepare that the kubelet did not get to.
func TestAClaimThatIsAllocatedAnewLosesWhatItHad(t *testing.T) {
	l := &lamp{}
	p := newPreparer(t, t.TempDir(), prepare.Typed(l))
	for _, devices := range [][]string{{"lamp-1", "lamp-2"}, {"lamp-2", "lamp-3"}} {
		if _, err := p.Prepare(t.Context(), claim("a", devices...)); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(map[string]bool{"lamp-2": true, "lamp-3": true}, l.on); diff != "" {
		t.Error(diff)
	}
}

func TestInputsAreNotModified(t *testing.T) {
	p := newPreparer(t, t.TempDir(), prepare.Typed(&lamp{}))
	id := types.UID("s")
	c := claim("a", "lamp-1")
	c.Status.Allocation.Devices.Results[0].ShareID = &id
	before := c.DeepCopy()
	devices, err := p.Prepare(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	*devices[0].ShareID = "x"
	if diff := cmp.Diff(before, c); diff != "" {
		t.Error(diff)
	}
}

func TestCallsAboutOtherHardwareRunSideBySide(t *testing.T) {
	dir := t.TempDir()
	l, reached := &lamp{}, make(chan string)
	proceed := map[string]chan struct{}{"lamp-1": make(chan struct{}), "lamp-2": make(chan struct{})}
	l.apply = func(name string) error {
		reached <- name
		<-proceed[name]
		return nil
	}
	p := newPreparer(t, dir, prepare.Typed(l))
	results := make(chan error)
	run := func(c *resourceapi.ResourceClaim) {
		go func() {
			_, err := p.Prepare(t.Context(), c)
			results <- err
		}()
	}
	run(claim("a", "lamp-1"))
	<-reached
	run(claim("b", "lamp-2"))
	<-reached // while a's call is not over
	// c is for a's lamp, and d for b's as well: c waits until a has it.
	run(claim("c", "lamp-1"))
	close(proceed["lamp-2"])
	if err := <-results; err != nil {
		t.Errorf("b: %v", err)
	}
	select {
	case err := <-results:
		t.Errorf("c did not wait for a: %v", err)
	default:
	}
	close(proceed["lamp-1"])
	var held *prepare.HeldError
	for range 2 {
		if err := <-results; err != nil && (!errors.As(err, &held) || held.Claim != "c" || held.Holder != "a") {
			t.Errorf("a or c: %v", err)
		}
	}
	if held == nil {
		t.Error("both a and c were given the lamp")
	}
	if diff := cmp.Diff(map[string]bool{"lamp-1": true, "lamp-2": true}, l.on); diff != "" {
		t.Error(diff)
	}
}

func TestAWaitingCallEndsWithItsContext(t *testing.T) {
	l, reached, proceed := &lamp{}, make(chan struct{}), make(chan struct{})
	l.apply = func(string) error {
		close(reached)
		<-proceed
		return nil
	}
	p := newPreparer(t, t.TempDir(), prepare.Typed(l))
	done := make(chan error)
	go func() {
		_, err := p.Prepare(t.Context(), claim("a", "lamp-1"))
		done <- err
	}()
	<-reached
	ctx, cancel := context.WithCancelCause(t.Context())
	gaveUp := errors.New("gave up")
	cancel(gaveUp)
	for _, c := range []*resourceapi.ResourceClaim{claim("a", "lamp-1"), claim("b", "lamp-1")} {
		if _, err := p.Prepare(ctx, c); !errors.Is(err, gaveUp) {
			t.Errorf("claim %s: %v", c.UID, err)
		}
	}
	if err := p.Unprepare(ctx, "a"); !errors.Is(err, gaveUp) {
		t.Errorf("unprepare: %v", err)
	}
	close(proceed)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A release before did not know lamps: it says so, and keeps them.
func TestDevicesOfAnUnknownKindAreKept(t *testing.T) {
	dir := t.TempDir()
	if _, err := newPreparer(t, dir, prepare.Typed(&lamp{})).Prepare(t.Context(), claim("a", "lamp-1")); err != nil {
		t.Fatal(err)
	}
	older := newPreparer(t, dir, prepare.Typed(&door{}))
	if err := older.Unprepare(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), `kind "lamp"`) {
		t.Errorf("unprepare: %v", err)
	}
	claims, err := older.Claims(t.Context())
	if err != nil || len(claims) != 1 || len(claims[0].Devices) != 1 {
		t.Errorf("left: %v, %v", claims, err)
	}
}

type door struct{ lamp }

func (*door) Name() string { return "door" }

func TestFilesOfClaimsThatNobodyKnowsGo(t *testing.T) {
	dir := t.TempDir()
	o := options(t, dir, prepare.Typed(&lamp{}))
	orphan := func(uid types.UID) {
		t.Helper()
		if err := o.CDI.Write(&cdi.Claim{UID: uid, Devices: []cdi.Device{{Name: "lamp-1", Edits: specs.ContainerEdits{Env: []string{"LAMP=1"}}}}}); err != nil {
			t.Fatal(err)
		}
	}
	p, err := prepare.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Prepare(t.Context(), claim("a", "lamp-1")); err != nil {
		t.Fatal(err)
	}
	orphan("b")
	orphan("c")
	if err := p.Unprepare(t.Context(), "c"); err != nil {
		t.Fatal(err)
	}
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if files, err := o.CDI.List(); err != nil || !cmp.Equal(files, []types.UID{"a"}) {
		t.Errorf("left: %v, %v", files, err)
	}
}

func TestAPreparerNeedsItsOptions(t *testing.T) {
	o := options(t, t.TempDir(), prepare.Typed(&lamp{}))
	o.BootID = ""
	if _, err := prepare.New(o); err == nil {
		t.Error("without a boot ID a reboot cannot be seen")
	}
}
