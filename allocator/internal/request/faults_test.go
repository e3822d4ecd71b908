package request

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"

	"github.com/dray-dev/dray/allocator/internal/search"
)

// The sentence for each way in which a search, or the preparation of one, ends
// at a fault, and the objects that it names.
func TestFaultSentences(t *testing.T) {
	strict := classes{"any": class("any"), "strict": class("strict", "true", isA), "nonsense": class("nonsense", "nonsense")}
	ofClass := func(name string) func(*resourceapi.ExactDeviceRequest) {
		return func(r *resourceapi.ExactDeviceRequest) { r.DeviceClassName = name }
	}
	derive := func(expression string) func(*resourceapi.ExactDeviceRequest) {
		return func(r *resourceapi.ExactDeviceRequest) {
			r.DerivedAttributes = []resourceapi.DeviceDerivedAttribute{{Name: "driver/model", Expression: expression}}
		}
	}
	nowhere := func(d *resourceapi.Device) {
		d.NodeSelector = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "k", Operator: "Near"}}}}}
	}
	here := func(d *resourceapi.Device) { n := "n"; d.NodeName = &n }
	choosy := slice("p", device("a", model("a"), here), device("b", nowhere))
	yes := true
	choosy.Spec.NodeName, choosy.Spec.PerDeviceNodeSelection = nil, &yes
	plain := slice("p", device("a", model("a")), device("b"))
	negative := slice("p", device("a", capacity("memory", "-1")))
	optional := sub("s")
	optional.Selectors = selectors(isA)

	type fields struct{ request, class, device string }
	for _, c := range []struct {
		name       string
		slice      *resourceapi.ResourceSlice
		request    resourceapi.DeviceRequest
		constraint []resourceapi.DeviceConstraint
		want       string // the beginning of the sentence
		end        string // and what is in the rest
		fields     fields
	}{
		{name: "the claim's selector at run time", slice: plain, request: exactly("r", count(2), that("true", isA)),
			want: "claim ns/c: selector #1 on device driver/p/b: CEL runtime error: no such key: model", fields: fields{"r", "", "driver/p/b"}},
		{name: "the class's selector at run time", slice: plain, request: exactly("r", count(2), ofClass("strict")),
			want: "class strict: selector #1 on device driver/p/b: CEL runtime error: no such key: model", fields: fields{"r", "strict", "driver/p/b"}},
		{name: "the claim's selector does not compile", slice: plain, request: exactly("r", that("nonsense")),
			want: "claim ns/c: selector #0: CEL compile error: ", end: "undeclared reference to 'nonsense'", fields: fields{"r", "", ""}},
		{name: "the class's selector does not compile", slice: plain, request: exactly("r", ofClass("nonsense")),
			want: "class nonsense: selector #0: CEL compile error: ", end: "undeclared reference", fields: fields{"r", "nonsense", ""}},
		{name: "a subrequest's selector", slice: plain, request: firstAvailable("r", func() resourceapi.DeviceSubRequest { s := optional; s.Count = 2; return s }()),
			want: "claim ns/c: selector #0 on device driver/p/b: CEL runtime error", fields: fields{"r/s", "", "driver/p/b"}},
		{name: "of two faults the earlier selector's", slice: plain, request: exactly("r", count(2), that(`device.attributes["driver"].size == 1 || true`, isA)),
			want: "claim ns/c: selector #1 on device driver/p/b", fields: fields{"r", "", "driver/p/b"}},
		{name: "all: while it is bound", slice: plain, request: exactly("r", allDevices, that(isA)),
			want: "claim ns/c: selector #0 on device driver/p/b: CEL runtime error", fields: fields{"r", "", "driver/p/b"}},

		{name: "the device's node selector", slice: choosy, request: exactly("r", count(2)),
			want: "failed to parse node selector ", end: `Unsupported value: "Near"`, fields: fields{"r", "", "driver/p/b"}},
		{name: "selectors come before it", slice: choosy, request: exactly("r", count(2), that(isA)),
			want: "claim ns/c: selector #0 on device driver/p/b", fields: fields{"r", "", "driver/p/b"}},

		{name: "capacity", slice: negative, request: exactly("r"),
			want: `claim ns/c, request r: checking capacity for device driver/p/a: capacity "memory": capacity value is negative`, fields: fields{"r", "", "driver/p/a"}},
		{name: "capacity that no computer holds", slice: slice("p", device("a", capacity("memory", "1e2000"))), request: exactly("r", needs("memory", "1")),
			want: `claim ns/c, request r: checking capacity for device driver/p/a: capacity "memory": exponent 2000 is outside ±1000`, fields: fields{"r", "", "driver/p/a"}},
		{name: "capacity of all: by the short name", slice: negative, request: exactly("r", allDevices),
			want: `claim ns/c, request r: checking capacity for device a: capacity "memory": capacity value is negative`, fields: fields{"r", "", "driver/p/a"}},

		{name: "all under a constraint", slice: slice("p", device("a", model("x")), device("b", model("y"))), request: exactly("r", allDevices), constraint: []resourceapi.DeviceConstraint{match("driver/model")},
			want: "claim ns/c, request r: cannot add device driver/p/b because a claim constraint would not be satisfied", fields: fields{"r", "", "driver/p/b"}},
		{name: "a derived attribute at run time", slice: plain, request: exactly("r", count(2), derive(`device.attributes["driver"].model`)), constraint: []resourceapi.DeviceConstraint{match("driver/model")},
			want: "evaluate derived attribute driver/model on device driver/p/b failed: no such key: model", fields: fields{"r", "", "driver/p/b"}},
		{name: "a derived attribute does not compile", slice: plain, request: exactly("r", derive("nonsense")), constraint: []resourceapi.DeviceConstraint{match("driver/model")},
			want: "compile derived attribute driver/model failed: ", end: "undeclared reference", fields: fields{"r", "", ""}},
	} {
		s := on(c.slice)
		s.classes = strict
		api := claim("c", c.request)
		api.Spec.Devices.Constraints = c.constraint
		b, err := s.bind(t, api)
		if err == nil {
			outcome := search.Run(context.Background(), &b.Problem)
			if outcome.Fault == nil {
				t.Errorf("%s: the search ends with %+v, want a fault", c.name, outcome)
				continue
			}
			err = b.FaultError(context.Background(), outcome.Fault)
		}
		var input *InputError
		if !errors.As(err, &input) || !strings.HasPrefix(err.Error(), c.want) || !strings.Contains(err.Error(), c.end) {
			t.Errorf("%s: the error is\n%v, want\n%s…%s", c.name, err, c.want, c.end)
			continue
		}
		if got := (fields{input.Request, input.Class, input.Device}); got != c.fields || input.Claim != "ns/c" {
			t.Errorf("%s: the error is of claim %s, %+v, want %+v", c.name, input.Claim, got, c.fields)
		}
	}
}

// The sentence needs a second look at the device; a context that ends meanwhile
// is the answer then.
func TestAContextThatEndsBeforeTheSentence(t *testing.T) {
	cause := errors.New("the pod is gone")
	for _, c := range []struct {
		edit       func(*resourceapi.ExactDeviceRequest)
		constraint []resourceapi.DeviceConstraint
	}{
		{that(isA), nil},
		{func(r *resourceapi.ExactDeviceRequest) {
			r.DerivedAttributes = []resourceapi.DeviceDerivedAttribute{{Name: "driver/model", Expression: `device.attributes["driver"].model`}}
		}, []resourceapi.DeviceConstraint{match("driver/model")}},
	} {
		api := claim("c", exactly("r", c.edit))
		api.Spec.Devices.Constraints = c.constraint
		b := on(slice("p", device("a"))).mustBind(t, api)
		outcome := search.Run(context.Background(), &b.Problem)
		if outcome.Fault == nil {
			t.Fatalf("the search ends with %+v", outcome)
		}
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(cause)
		if err := b.FaultError(ctx, outcome.Fault); err != cause {
			t.Errorf("the error is %v, want the context's cause", err)
		}
	}
}
