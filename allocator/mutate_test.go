package allocator_test

import (
	"cmp"
	"math"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/dray-dev/dray/allocator/allocatortest"
)

// mutate breaks a scenario. Each four bytes are one edit: which place (two of
// them), what to do there, and with what. Places are all fields, list entries and
// map values below the objects, so that a broken scenario is still made of what
// sound ones have: that leads further into the code than broken text would.
func mutate(s *allocatortest.Scenario, edits []byte) {
	for edit := range slices.Chunk(edits, 4) {
		if len(edit) < 4 {
			return
		}
		m := &mutation{do: int(edit[2]), with: int(edit[3])}
		m.visitAll(s)
		m.apply(m.places[(int(edit[0])<<8|int(edit[1]))%len(m.places)])
	}
	// What was stamped no longer follows from the content.
	for _, slice := range s.Slices {
		if slice != nil {
			slice.UID, slice.ResourceVersion = "", ""
		}
	}
}

type mutation struct {
	do, with int
	places   []place
}

// place is a value that can be set; written makes it so in the map that it is
// from, if it is from one.
type place struct {
	value   reflect.Value
	written func()
}

// visitAll leaves out lists that the caller of the allocator does not hand over
// as they are.
func (m *mutation) visitAll(s *allocatortest.Scenario) {
	keep := func() {}
	m.visit(reflect.ValueOf(&s.Features).Elem(), keep)
	m.visit(reflect.ValueOf(&s.Slices).Elem(), keep)
	m.visit(reflect.ValueOf(&s.Claims).Elem(), keep)
	for _, class := range s.Classes {
		m.visit(reflect.ValueOf(class).Elem(), keep)
	}
	for _, node := range s.Nodes {
		m.visit(reflect.ValueOf(&node.Labels).Elem(), keep)
	}
	for _, claim := range s.Allocated {
		m.visit(reflect.ValueOf(&claim.Status).Elem(), keep)
	}
}

func (m *mutation) visit(v reflect.Value, written func()) {
	switch v.Interface().(type) {
	case metav1.TypeMeta, metav1.Time, runtime.RawExtension:
		return
	case metav1.ObjectMeta:
		m.places = append(m.places, place{v.FieldByName("Name"), written})
		return
	}
	m.places = append(m.places, place{v, written})
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			m.visit(v.Elem(), written)
		}
	case reflect.Struct:
		if _, leaf := v.Interface().(resource.Quantity); leaf {
			return
		}
		for i := range v.NumField() {
			m.visit(v.Field(i), written)
		}
	case reflect.Slice:
		for i := range v.Len() {
			m.visit(v.Index(i), written)
		}
	case reflect.Map:
		for _, key := range sortedKeys(v) {
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(v.MapIndex(key))
			m.visit(value, func() { v.SetMapIndex(key, value); written() })
		}
	}
}

func sortedKeys(m reflect.Value) []reflect.Value {
	return slices.SortedFunc(slices.Values(m.MapKeys()), func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) })
}

var (
	oddStrings = []string{"", "\xff", "/", "a/b/c", "gpu-0", strings.Repeat("x", 300), "true", "false", "1 +", "All", "ExactCount", "NoSchedule", "In"}
	oddNumbers = []int64{0, 1, -1, 2, 31, 33, math.MaxInt64, math.MinInt64, math.MaxInt32}
	oddAmounts = []string{"0", "1", "-1", "1n", "1500m", "3", "1Gi", "10E", "9223372036854775807", "-9223372036854775808", "1e30", "0.333"}
)

func pickFrom[T any](from []T, number int) T { return from[number%len(from)] }

// apply edits one place: half of the time with another value of the same type
// from the scenario, else as its kind allows.
func (m *mutation) apply(p place) {
	defer p.written()
	if m.do%2 == 1 {
		same := slices.DeleteFunc(slices.Clone(m.places), func(o place) bool { return o.value.Type() != p.value.Type() })
		p.value.Set(pickFrom(same, m.with).value)
		return
	}
	if _, isAmount := p.value.Interface().(resource.Quantity); isAmount {
		p.value.Set(reflect.ValueOf(resource.MustParse(pickFrom(oddAmounts, m.with))))
		return
	}
	switch p.value.Kind() {
	case reflect.String:
		p.value.SetString(pickFrom(oddStrings, m.with))
	case reflect.Int64, reflect.Int32, reflect.Int:
		p.value.SetInt(pickFrom(oddNumbers, m.with))
	case reflect.Bool:
		p.value.SetBool(!p.value.Bool())
	case reflect.Pointer:
		if p.value.IsNil() {
			p.value.Set(reflect.New(p.value.Type().Elem()))
		} else {
			p.value.SetZero()
		}
	case reflect.Slice:
		m.applyToList(p.value)
	case reflect.Map:
		m.applyToMap(p.value)
	default:
		p.value.SetZero()
	}
}

// applyToList works on a copy: another object may share the list.
func (m *mutation) applyToList(list reflect.Value) {
	n := list.Len()
	edited := reflect.MakeSlice(list.Type(), 0, n+1)
	for i := range n {
		if m.do%8 == 2 && i == m.with%n {
			continue
		}
		edited = reflect.Append(edited, list.Index(i))
	}
	switch {
	case m.do%8 == 4 || n == 0:
		edited = reflect.Append(edited, reflect.Zero(list.Type().Elem()))
	case m.do%8 == 6:
		edited = reflect.Append(edited, list.Index(m.with%n))
	case m.do%8 == 0:
		edited = reflect.Zero(list.Type())
	}
	list.Set(edited)
}

func (m *mutation) applyToMap(of reflect.Value) {
	edited := reflect.MakeMap(of.Type())
	keys := sortedKeys(of)
	for i, key := range keys {
		if m.do%4 == 2 && i == m.with%len(keys) {
			continue
		}
		edited.SetMapIndex(key, of.MapIndex(key))
	}
	if m.do%4 == 0 {
		key := reflect.ValueOf(pickFrom(oddStrings, m.with)).Convert(of.Type().Key())
		value := reflect.Zero(of.Type().Elem())
		if len(keys) > 0 {
			value = of.MapIndex(keys[m.with%len(keys)])
		}
		edited.SetMapIndex(key, value)
	}
	of.Set(edited)
}
