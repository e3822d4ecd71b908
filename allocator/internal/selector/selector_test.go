package selector

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/dynamic-resource-allocation/cel"
)

// fleet are devices of one pool for a test.
type fleet []resourceapi.Device

func (f fleet) Len() int                          { return len(f) }
func (f fleet) DriverName() string                { return "gpu.example.com" }
func (f fleet) At(device int) *resourceapi.Device { return &f[device] }

// models has one device for each model; an empty one has no attribute, "broken"
// is a version that does not parse.
func models(names ...string) fleet {
	var f fleet
	for _, name := range names {
		device := resourceapi.Device{Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{}}
		switch name {
		case "":
		case "broken":
			device.Attributes["model"] = resourceapi.DeviceAttribute{VersionValue: &name}
		default:
			device.Attributes["model"] = resourceapi.DeviceAttribute{StringValue: &name}
		}
		f = append(f, device)
	}
	return f
}

const (
	isA = `device.attributes["gpu.example.com"].model == "a"`
	// slow takes so many steps that the evaluation looks at its context.
	slow = `[0,1,2,3,4,5,6,7,8,9].all(a, [0,1,2,3,4,5,6,7,8,9].all(b, [0,1,2,3,4,5,6,7,8,9].all(c, a + b + c >= 0)))`
)

func newEvaluator() *Evaluator { return &Evaluator{Cache: cel.NewCache(10, cel.Features{})} }

func verdict(t *testing.T, ev *Evaluator, m *Memo, expression string, devices Devices) Verdict {
	t.Helper()
	v, err := ev.Verdict(context.Background(), m, expression, devices)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestVerdictHasThreeOutcomes(t *testing.T) {
	for _, c := range []struct {
		name, expression string
		match, fault     string
		evaluations      int64
	}{
		{"a comparison", isA, "{0 3}", "{2 4}", 5},
		{"a guard against the missing attribute", `"model" in device.attributes["gpu.example.com"] && ` + isA, "{0 3}", "{4}", 5},
		{"a constant: the broken device fails before it is asked", "true", "{0 1 2 3}", "{4}", 5},
		{"no match at all", "false", "{}", "{4}", 5},
		{"it does not compile: all devices fail, none is evaluated", "nonsense", "{}", "{0 1 2 3 4}", 0},
	} {
		ev := newEvaluator()
		got := verdict(t, ev, &Memo{}, c.expression, models("a", "b", "", "a", "broken"))
		if got.Match.String() != c.match || got.Fault.String() != c.fault {
			t.Errorf("%s: matches %s, faults %s; want %s and %s", c.name, got.Match, got.Fault, c.match, c.fault)
		}
		if n := ev.Evaluations.Load(); n != c.evaluations {
			t.Errorf("%s: %d evaluations, want %d", c.name, n, c.evaluations)
		}
	}
}

// An expression is evaluated once for a pool that stays as it is, faults included.
func TestVerdictsAreRemembered(t *testing.T) {
	ev, m, devices := newEvaluator(), &Memo{}, models("a", "", "broken")
	first := verdict(t, ev, m, isA, devices)
	again := verdict(t, ev, m, isA, devices)
	if !first.Match.Equal(again.Match) || !first.Fault.Equal(again.Fault) || again.Fault.String() != "{1 2}" {
		t.Errorf("the second time the verdict is %v, the first time it was %v", again, first)
	}
	if n := ev.Evaluations.Load(); n != 3 {
		t.Errorf("%d evaluations of one expression on 3 devices, want 3", n)
	}
	verdict(t, ev, m, "true", devices)
	verdict(t, ev, &Memo{}, isA, devices)
	if n := ev.Evaluations.Load(); n != 9 {
		t.Errorf("%d evaluations with another expression and another pool, want 9", n)
	}
	// Another evaluator with the same cache is another pod: it has nothing to do.
	next := &Evaluator{Cache: ev.Cache}
	if got := verdict(t, next, m, isA, devices); got.Match.String() != "{0}" || next.Evaluations.Load() != 0 {
		t.Errorf("another pod evaluates %d times to %v", next.Evaluations.Load(), got)
	}
	// Another cache may know other CEL features.
	other := newEvaluator()
	if verdict(t, other, m, isA, devices); other.Evaluations.Load() != 3 {
		t.Errorf("with another cache there are %d evaluations, want 3", other.Evaluations.Load())
	}
}

// A compiler that is missing is the caller's mistake. It says so, and does not
// spoil the answer for a caller that has one.
func TestWithoutACacheEveryDeviceFails(t *testing.T) {
	ev, m, devices := &Evaluator{}, &Memo{}, models("a", "b")
	if got := verdict(t, ev, m, isA, devices); got.Fault.String() != "{0 1}" || !got.Match.Empty() {
		t.Errorf("the verdict is %v, want faults only", got)
	}
	err, compile := ev.Reason(context.Background(), isA, devices, 0)
	if err == nil || !compile || !strings.Contains(err.Error(), "no CEL cache was given to NewAllocator") {
		t.Errorf("the reason is %v (compile: %v)", err, compile)
	}
	err, compile = ev.DerivedReason(context.Background(), "1", devices, 0)
	if err == nil || !compile || !strings.Contains(err.Error(), "no CEL cache") {
		t.Errorf("the reason of a derived attribute is %v (compile: %v)", err, compile)
	}
	if got := verdict(t, newEvaluator(), m, isA, devices); got.Match.String() != "{0}" {
		t.Errorf("with a cache the verdict is %v", got)
	}
}

func TestReasonSaysWhyADeviceFails(t *testing.T) {
	ev, devices := newEvaluator(), models("a", "", "broken")
	for _, c := range []struct {
		expression string
		device     int
		want       string
		compile    bool
	}{
		{"nonsense", 0, "undeclared reference to 'nonsense'", true},
		{isA, 1, "no such key: model", false},
		{isA, 2, "attribute model: parse semantic version", false},
	} {
		err, compile := ev.Reason(context.Background(), c.expression, devices, c.device)
		if err == nil || !strings.Contains(err.Error(), c.want) || compile != c.compile {
			t.Errorf("%s on device %d fails for %v (compile: %v), want %q (%v)", c.expression, c.device, err, compile, c.want, c.compile)
		}
	}
	if err, compile := ev.Reason(context.Background(), isA, devices, 0); err != nil || compile {
		t.Errorf("a device without fault fails for %v", err)
	}
}

// A context that ends says nothing about the devices: the next caller asks anew.
func TestTheEndOfAContextIsNotRemembered(t *testing.T) {
	cause := errors.New("the pod is gone")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	ev, m, devices := newEvaluator(), &Memo{}, models("a", "b")
	if _, err := ev.Verdict(ctx, m, slow, devices); err != cause {
		t.Fatalf("the error is %v, want the context's cause", err)
	}
	if _, err := ev.Derived(ctx, m, slow, devices); err != cause {
		t.Fatalf("the error of a derived attribute is %v, want the context's cause", err)
	}
	if got := verdict(t, ev, m, slow, devices); got.Match.String() != "{0 1}" || !got.Fault.Empty() {
		t.Errorf("afterwards the verdict is %v, want two matches", got)
	}
	if got, err := ev.Derived(context.Background(), m, slow, devices); err != nil || !got.Fault.Empty() || got.Attributes[1] == nil {
		t.Errorf("afterwards the derived attribute is %v, %v", got, err)
	}
	// What is known already needs no context.
	if got, err := ev.Verdict(ctx, m, slow, devices); err != nil || got.Match.String() != "{0 1}" {
		t.Errorf("with the ended context the remembered verdict is %v, %v", got, err)
	}
}

func TestDerivedAttributes(t *testing.T) {
	ev, m, devices := newEvaluator(), &Memo{}, models("a", "", "broken", "b")
	const expression = `device.attributes["gpu.example.com"].model + "!"`
	for range 2 {
		got, err := ev.Derived(context.Background(), m, expression, devices)
		if err != nil {
			t.Fatal(err)
		}
		if got.Fault.String() != "{1 2}" || got.Attributes[1] != nil || got.Attributes[2] != nil {
			t.Errorf("faults are %s, attributes %v; want no value for devices 1 and 2", got.Fault, got.Attributes)
		}
		if *got.Attributes[0].StringValue != "a!" || *got.Attributes[3].StringValue != "b!" {
			t.Errorf("the values are %v and %v", got.Attributes[0], got.Attributes[3])
		}
	}
	if n := ev.Evaluations.Load(); n != 4 {
		t.Errorf("%d evaluations on 4 devices, want 4", n)
	}
	for _, c := range []struct {
		expression string
		device     int
		want       string
		compile    bool
	}{
		{"nonsense", 0, "undeclared reference to 'nonsense'", true},
		{expression, 1, "no such key: model", false},
		{expression, 2, "attribute model: parse semantic version", false},
	} {
		err, compile := ev.DerivedReason(context.Background(), c.expression, devices, c.device)
		if err == nil || !strings.Contains(err.Error(), c.want) || compile != c.compile {
			t.Errorf("%s on device %d fails for %v (compile: %v), want %q (%v)", c.expression, c.device, err, compile, c.want, c.compile)
		}
	}
}

// One expression can be a selector and a derived attribute; these are two answers.
func TestSelectorsAndDerivedAttributesAreKeptApart(t *testing.T) {
	ev, m, devices := newEvaluator(), &Memo{}, models("a", "b")
	verdict(t, ev, m, isA, devices)
	derived, err := ev.Derived(context.Background(), m, isA, devices)
	if err != nil || !*derived.Attributes[0].BoolValue || *derived.Attributes[1].BoolValue {
		t.Errorf("as a derived attribute %s is %v, %v; want true and false", isA, derived.Attributes, err)
	}
	if got := verdict(t, ev, m, isA, devices); got.Match.String() != "{0}" {
		t.Errorf("as a selector it matches %s, want the first device", got.Match)
	}
}

func TestWhatAnExpressionSees(t *testing.T) {
	yes := true
	devices := fleet{{
		Name:                     "gpu-0",
		AllowMultipleAllocations: &yes,
		Capacity:                 map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"memory": {Value: resource.MustParse("80Gi")}},
	}}
	ev := &Evaluator{Cache: cel.NewCache(10, cel.Features{EnableConsumableCapacity: true})}
	for expression, want := range map[string]string{
		`device.driver == "gpu.example.com"`:                                                   "{0} {}",
		`device.capacity["gpu.example.com"].memory.compareTo(quantity("80Gi")) == 0`:           "{0} {}",
		`device.allowMultipleAllocations`:                                                      "{0} {}",
		`device.attributes["gpu.example.com"].model == "a"`:                                    "{} {0}",
		`device.name == "gpu-0"`:                                                               "{} {0}", // a name is not a property
		`device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("80Gi")) && 1/0 > 0`: "{} {}",
	} {
		v := verdict(t, ev, &Memo{}, expression, devices)
		if got := fmt.Sprint(v.Match, " ", v.Fault); got != want {
			t.Errorf("%s: matches and faults are %s, want %s", expression, got, want)
		}
	}
}

// complete lists the verdicts of a memo that do not change any more.
func complete(m *Memo) (verdicts []*knownVerdict) {
	for known := m.verdicts.Load(); known != nil; known = known.next {
		verdicts = append(verdicts, known)
	}
	return verdicts
}

func TestMemoryIsBounded(t *testing.T) {
	ev, m, devices := &Evaluator{}, &Memo{}, models("a")
	for i := range 3 * maxEntries {
		verdict(t, ev, m, fmt.Sprint(i), devices)
		if _, err := ev.Derived(context.Background(), m, fmt.Sprint(i), devices); err != nil {
			t.Fatal(err)
		}
		entries := 0
		for e := m.entries; e != nil; e = e.next {
			entries++
		}
		if n := max(len(complete(m)), entries); n > maxEntries {
			t.Fatalf("after %d expressions %d are remembered, the bound is %d", i+1, n, maxEntries)
		}
	}
	if got := verdict(t, newEvaluator(), m, isA, devices); got.Match.String() != "{0}" {
		t.Errorf("after many expressions the verdict is %v", got)
	}
}

// What is kept of a verdict is its sets alone.
func TestACompleteVerdictLeavesNoEntry(t *testing.T) {
	ev, m := newEvaluator(), &Memo{}
	first := verdict(t, ev, m, isA, models("a", "b"))
	if known := complete(m); m.entries != nil || len(known) != 1 {
		t.Errorf("%d verdicts and an entry %v are kept, want 1 and none", len(known), m.entries)
	}
	if again := verdict(t, ev, m, isA, models("a", "b")); &again.Match[0] != &first.Match[0] {
		t.Error("a complete verdict was made again")
	}
}

// Goroutines that need the same verdict wait for the first of them instead of
// evaluating it again.
func TestConcurrentCallersEvaluateOnce(t *testing.T) {
	ev, m, devices := newEvaluator(), &Memo{}, models("a", "b", "a")
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			expression := []string{isA, "true"}[i%2]
			got, err := ev.Verdict(context.Background(), m, expression, devices)
			if want := []string{"{0 2}", "{0 1 2}"}[i%2]; err != nil || got.Match.String() != want {
				t.Errorf("%s matches %s, %v; want %s", expression, got.Match, err, want)
			}
		})
	}
	group.Wait()
	if n := ev.Evaluations.Load(); n != 6 {
		t.Errorf("%d evaluations of two expressions on 3 devices, want 6", n)
	}
}

func TestAPoolWithoutDevices(t *testing.T) {
	ev := newEvaluator()
	got := verdict(t, ev, &Memo{}, "nonsense", fleet{})
	if !got.Match.Empty() || !got.Fault.Empty() || ev.Evaluations.Load() != 0 {
		t.Errorf("the verdict on no devices is %v after %d evaluations", got, ev.Evaluations.Load())
	}
}

// Where several attributes cannot be converted, the text is the same each time:
// the first by name.
func TestTheFirstBrokenAttributeByNameIsReported(t *testing.T) {
	broken := "not a version"
	device := resourceapi.Device{Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{}}
	for _, name := range []resourceapi.QualifiedName{"d", "b", "c", "a"} {
		device.Attributes[name] = resourceapi.DeviceAttribute{VersionValue: &broken}
	}
	fine := "x"
	device.Attributes["a"] = resourceapi.DeviceAttribute{StringValue: &fine}
	ev := newEvaluator()
	for range 20 {
		err, _ := ev.Reason(context.Background(), "true", fleet{device}, 0)
		derived, _ := ev.DerivedReason(context.Background(), "1", fleet{device}, 0)
		for _, err := range []error{err, derived} {
			if err == nil || !strings.HasPrefix(err.Error(), "attribute b: parse semantic version") {
				t.Fatalf("the reason is %v, want attribute b", err)
			}
		}
	}
}

// An expression that does not compile is compiled once for a pool, not once for
// each device: failures are not kept by the cache.
func TestADerivedAttributeThatDoesNotCompile(t *testing.T) {
	ev := newEvaluator()
	got, err := ev.Derived(context.Background(), &Memo{}, "nonsense", models("a", "b"))
	if err != nil || got.Fault.String() != "{0 1}" || ev.Evaluations.Load() != 0 {
		t.Errorf("the derived attribute is %v, %v after %d evaluations; want two faults and none", got, err, ev.Evaluations.Load())
	}
}
