package request

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dray-dev/dray/allocator/internal/inventory"
	"github.com/dray-dev/dray/allocator/internal/search"
	"github.com/dray-dev/dray/allocator/internal/selector"
)

// Nodes of all widths, with and without shares, sound claims and wrong ones come
// by in one memory, and each is bound as in a memory of its own.
func TestWhatWasBoundBeforeDoesNotShow(t *testing.T) {
	const seed, rounds = 1, 200
	rng := rand.New(rand.NewPCG(seed, 0))
	pools := func() (slices []*resourceapi.ResourceSlice) {
		for pool := range 1 + rng.IntN(3) {
			var devices []resourceapi.Device
			for i := range 1 + rng.IntN([]int{3, 70, 130}[rng.IntN(3)]) {
				edits := []func(*resourceapi.Device){capacity("memory", fmt.Sprint(1+rng.IntN(9)))}
				if rng.IntN(3) == 0 {
					edits = append(edits, multi)
				}
				devices = append(devices, device(fmt.Sprint("d", i), edits...))
			}
			slices = append(slices, slice(fmt.Sprint("p", pool), devices...))
		}
		return slices
	}
	requests := func() (list []resourceapi.DeviceRequest) {
		for i := range 1 + rng.IntN(3) {
			edits := []func(*resourceapi.ExactDeviceRequest){needs("memory", fmt.Sprint(rng.IntN(9)))}
			switch rng.IntN(6) {
			case 0:
				edits = append(edits, allDevices)
			case 1:
				edits = append(edits, count(-1)) // An error.
			case 2:
				edits = append(edits, that("true"))
			}
			list = append(list, exactly(fmt.Sprint("r", i), edits...))
		}
		return list
	}
	scratch := new(Scratch)
	shared, failed := 0, 0
	for round := range rounds {
		s, c := on(pools()...), claim("c", requests()...)
		s.features.ConsumableCapacity = rng.IntN(4) > 0
		want, wantErr := s.bind(t, c)
		got, err := s.bindIn(t, scratch, c)
		if fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Fatalf("seed %d, round %d: got error %v, want %v", seed, round, err, wantErr)
		}
		if err != nil {
			failed++
			continue
		}
		shared += len(want.shareNames())
		if diff := cmp.Diff(want.shareNames(), got.shareNames()); diff != "" {
			t.Fatalf("seed %d, round %d: shares differ (-want +got)\n%s", seed, round, diff)
		}
		for i := range want.Problem.Claims[0].Requests {
			w, g := &want.Problem.Claims[0].Requests[i].Alternatives[0], &got.Problem.Claims[0].Requests[i].Alternatives[0]
			if want.deviceNames(w.Candidates) != got.deviceNames(g.Candidates) || w.Count != g.Count || !cmp.Equal(w.Demands, g.Demands) {
				t.Fatalf("seed %d, round %d, request %d: got %+v, want %+v", seed, round, i, g, w)
			}
		}
	}
	if shared < rounds || failed < rounds/10 {
		t.Errorf("%d shares and %d errors in %d rounds: too few to prove anything", shared, failed, rounds)
	}
}

// shareNames says of each position that has a share how much is left there.
func (b *Bound) shareNames() map[int]string {
	names := make(map[int]string)
	for position, share := range b.Problem.ShareOf {
		if share >= 0 {
			names[position] = fmt.Sprint(b.Problem.Shares[share])
		}
	}
	return names
}

// What an ask takes of a pool's devices is remembered between nodes that share the
// pool. Nodes with different numbers of pools do not mix up the asks.
func TestNodesThatShareAPoolDoNotMixUpTheAsks(t *testing.T) {
	shared := slice("shared", device("d", capacity("slots", "3")))
	everywhere := true
	shared.Spec.NodeName, shared.Spec.AllNodes = nil, &everywhere
	s := on(slice("local", device("l", capacity("slots", "3"))), shared)
	snapshot, err := inventory.New().Sync(s.slices)
	if err != nil {
		t.Fatal(err)
	}
	scratch := new(Scratch)
	compiled, err := scratch.Compile(s.features, s.classes, []*resourceapi.ResourceClaim{
		claim("c", exactly("little", needs("slots", "2")), exactly("much", needs("slots", "4"))),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, turn := range []struct{ node, little string }{{"n", "l d"}, {"other", "d"}, {"n", "l d"}} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: turn.node}}
		view, err := snapshot.Node(node, inventory.Variant{})
		if err != nil {
			t.Fatal(err)
		}
		bound, err := scratch.Bind(context.Background(), compiled, Target{API: node, Node: view, Usage: inventory.NewUsage(s.state), Evaluator: &selector.Evaluator{}})
		if err != nil {
			t.Fatal(err)
		}
		requests := bound.Problem.Claims[0].Requests
		little, much := bound.deviceNames(requests[0].Alternatives[0].Candidates), bound.deviceNames(requests[1].Alternatives[0].Candidates)
		if little != turn.little || much != "" {
			t.Errorf("node %s: 2 slots have %q and 4 have %q, want %q and none", turn.node, little, much, turn.little)
		}
	}
}

// Alternatives are emptied field by field: a field that is added has to be there, too.
func TestEmptiedAlternativesKeepNothing(t *testing.T) {
	var compiled Alternative
	fillFields(t, &compiled)
	compiled.reset("", "")
	expectEmpty(t, &compiled)
	var bound search.Alternative
	fillFields(t, &bound)
	empty(&bound)
	expectEmpty(t, &bound)
}

// fillFields makes each field something else than zero.
func fillFields[T any](t *testing.T, of *T) {
	t.Helper()
	v := reflect.ValueOf(of).Elem()
	for i := range v.NumField() {
		field := v.Field(i)
		field = reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem() // Settable, exported or not.
		switch field.Kind() {
		case reflect.Bool:
			field.SetBool(true)
		case reflect.Int:
			field.SetInt(1)
		case reflect.String:
			field.SetString("x")
		case reflect.Slice:
			field.Set(reflect.MakeSlice(field.Type(), 1, 1))
		case reflect.Map:
			field.Set(reflect.MakeMap(field.Type()))
		case reflect.Pointer:
			field.Set(reflect.New(field.Type().Elem()))
		case reflect.Interface:
			field.Set(reflect.ValueOf(errors.New("x")))
		default:
			t.Fatalf("%s.%s: the test cannot fill a %s", v.Type(), v.Type().Field(i).Name, field.Kind())
		}
	}
}

// expectEmpty reports fields that have anything but the memory of a list.
func expectEmpty[T any](t *testing.T, of *T) {
	t.Helper()
	v := reflect.ValueOf(of).Elem()
	for i := range v.NumField() {
		field := v.Field(i)
		if !field.IsZero() && (field.Kind() != reflect.Slice || field.Len() > 0) {
			t.Errorf("%s.%s is not empty", v.Type(), v.Type().Field(i).Name)
		}
	}
}
