package selector

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// reads is what an expression can see of a device, found in its checked AST.
// Real devices differ in an address or a UUID that few expressions look at, so
// an expression is evaluated once for each distinct value of what it reads.
//
// It errs on the side of reading more: a use of the device that is not
// understood counts as reading all of it.
type reads struct {
	// multi: device.allowMultipleAllocations.
	multi      bool
	attributes section
	capacity   section
}

// section is what is read of device.attributes or device.capacity.
type section struct {
	all bool
	// domains are read as a whole, names one by one; both are sorted.
	domains []string
	names   []qualifiedName
}

// qualifiedName is a name that an expression goes down to. full is how drivers
// publish it, unless the domain is their own: then id may be all.
type qualifiedName struct {
	domain   string
	full, id resourceapi.QualifiedName
}

func newQualifiedName(domain, id string) qualifiedName {
	return qualifiedName{domain: domain, full: resourceapi.QualifiedName(domain + "/" + id), id: resourceapi.QualifiedName(id)}
}

func compareNames(a, b qualifiedName) int {
	return cmp.Or(strings.Compare(a.domain, b.domain), cmp.Compare(a.id, b.id))
}

// wholeDevice reads everything.
func wholeDevice() reads {
	return reads{multi: true, attributes: section{all: true}, capacity: section{all: true}}
}

// findReads compiles an expression once more, for its AST.
func findReads(env *celgo.Env, expression string) reads {
	if env == nil {
		return wholeDevice()
	}
	checked, issues := env.Compile(expression)
	if issues.Err() != nil {
		return wholeDevice()
	}
	var r reads
	r.visit(checked.NativeRep().Expr())
	return r
}

// visit walks an expression from the outside in. A chain of selections that
// starts at the device is one read; everything else is walked through.
func (r *reads) visit(e ast.Expr) {
	if path, ok := devicePath(e); ok {
		r.record(path)
		return
	}
	switch e.Kind() {
	case ast.SelectKind:
		r.visit(e.AsSelect().Operand())
	case ast.CallKind:
		r.visitCall(e.AsCall())
	case ast.ListKind:
		for _, element := range e.AsList().Elements() {
			r.visit(element)
		}
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			r.visit(entry.AsMapEntry().Key())
			r.visit(entry.AsMapEntry().Value())
		}
	case ast.StructKind:
		for _, field := range e.AsStruct().Fields() {
			r.visit(field.AsStructField().Value())
		}
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		for _, part := range []ast.Expr{c.IterRange(), c.AccuInit(), c.LoopCondition(), c.LoopStep(), c.Result()} {
			r.visit(part)
		}
	}
}

func (r *reads) visitCall(call ast.CallExpr) {
	// "id" in device.attributes["domain"] reads one name.
	if args := call.Args(); call.FunctionName() == operators.In && len(args) == 2 {
		if path, ok := devicePath(args[1]); ok {
			if id, ok := text(args[0]); ok {
				r.record(append(path, id))
				return
			}
		}
	}
	if call.IsMemberFunction() {
		r.visit(call.Target())
	}
	for _, arg := range call.Args() {
		r.visit(arg)
	}
}

// devicePath returns the constant names by which an expression goes down from
// the device, if it is nothing but that.
func devicePath(e ast.Expr) ([]string, bool) {
	switch e.Kind() {
	case ast.IdentKind:
		return nil, e.AsIdent() == "device"
	case ast.SelectKind:
		path, ok := devicePath(e.AsSelect().Operand())
		return append(path, e.AsSelect().FieldName()), ok
	case ast.CallKind:
		call := e.AsCall()
		switch call.FunctionName() {
		case operators.Index, operators.OptIndex, operators.OptSelect:
			name, constant := text(call.Args()[1])
			path, ok := devicePath(call.Args()[0])
			return append(path, name), ok && constant
		}
	}
	return nil, false
}

func text(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	s, ok := e.AsLiteral().(types.String)
	return string(s), ok
}

func (r *reads) record(path []string) {
	if len(path) > 0 {
		switch path[0] {
		case "driver":
			return // The same for all devices of a pool, and part of every key.
		case "allowMultipleAllocations":
			r.multi = true
			return
		case "attributes":
			r.attributes.record(path[1:])
			return
		case "capacity":
			r.capacity.record(path[1:])
			return
		}
	}
	*r = wholeDevice()
}

func (s *section) record(path []string) {
	switch len(path) {
	case 0:
		s.all = true
	case 1:
		if i, found := slices.BinarySearch(s.domains, path[0]); !found {
			s.domains = slices.Insert(s.domains, i, path[0])
		}
	default:
		name := newQualifiedName(path[0], path[1])
		if i, found := slices.BinarySearchFunc(s.names, name, compareNames); !found {
			s.names = slices.Insert(s.names, i, name)
		}
	}
}

// reads says whether the name, as a driver publishes it, is read.
func (s *section) reads(name resourceapi.QualifiedName, driver string) bool {
	if s.all {
		return true
	}
	domain, id, qualified := strings.Cut(string(name), "/")
	if !qualified {
		domain, id = driver, string(name)
	}
	if slices.Contains(s.domains, domain) {
		return true
	}
	_, found := slices.BinarySearchFunc(s.names, qualifiedName{domain: domain, id: resourceapi.QualifiedName(id)}, compareNames)
	return found
}

// appendRead appends the names of a device's attributes or capacities that are
// read, in an order that depends on nothing but the names.
func appendRead[V any](names []resourceapi.QualifiedName, s *section, published map[resourceapi.QualifiedName]V, driver string) []resourceapi.QualifiedName {
	if s.all || len(s.domains) > 0 {
		for name := range published {
			if s.reads(name, driver) {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return names
	}
	for i := range s.names {
		name := &s.names[i]
		if _, found := published[name.full]; found {
			names = append(names, name.full)
		}
		if name.domain == driver {
			if _, found := published[name.id]; found {
				names = append(names, name.id)
			}
		}
	}
	return names
}

// keys writes keys, in memory that one device leaves to the next.
type keys struct {
	key   []byte
	names []resourceapi.QualifiedName
}

// of returns what the expression reads of a device: equal keys mean that it
// evaluates alike on devices whose attributes can all be converted (see
// convertible). The key is there until the next call.
func (k *keys) of(r *reads, device *resourceapi.Device, driver string) []byte {
	key := appendText(k.key[:0], driver)
	if r.multi {
		key = append(key, flag(device.AllowMultipleAllocations != nil && *device.AllowMultipleAllocations))
	}
	k.names = appendRead(k.names[:0], &r.attributes, device.Attributes, driver)
	for _, name := range k.names {
		attribute := device.Attributes[name]
		key = appendAttribute(appendText(append(key, 'a'), string(name)), &attribute)
	}
	k.names = appendRead(k.names[:0], &r.capacity, device.Capacity, driver)
	for _, name := range k.names {
		key = appendQuantity(appendText(append(key, 'c'), string(name)), device.Capacity[name].Value)
	}
	k.key = key
	return key
}

// convertibleDevice says whether an expression can be evaluated on a device at
// all: one attribute that cannot be converted is an error whatever is read.
func convertibleDevice(device *resourceapi.Device) bool {
	for _, attribute := range device.Attributes {
		if !convertible(&attribute) {
			return false
		}
	}
	return true
}

// convertible says whether the cel package can make a CEL value of an attribute.
func convertible(a *resourceapi.DeviceAttribute) bool {
	versions := a.VersionValues
	switch {
	case a.IntValues != nil, a.BoolValues != nil, a.StringValues != nil:
		return true
	case a.VersionValues != nil:
	case a.IntValue != nil, a.BoolValue != nil, a.StringValue != nil:
		return true
	case a.VersionValue != nil:
		versions = []string{*a.VersionValue}
	default:
		return false
	}
	return !slices.ContainsFunc(versions, func(version string) bool {
		_, err := semver.Parse(version)
		return err != nil
	})
}

// appendAttribute writes all fields: which of them counts is the cel package's
// business.
func appendAttribute(key []byte, a *resourceapi.DeviceAttribute) []byte {
	if a.IntValue != nil {
		key = binary.AppendVarint(append(key, 'i'), *a.IntValue)
	}
	if a.BoolValue != nil {
		key = append(key, 'b', flag(*a.BoolValue))
	}
	if a.StringValue != nil {
		key = appendText(append(key, 's'), *a.StringValue)
	}
	if a.VersionValue != nil {
		key = appendText(append(key, 'v'), *a.VersionValue)
	}
	if a.IntValues != nil {
		key = binary.AppendVarint(append(key, 'I'), int64(len(a.IntValues)))
		for _, v := range a.IntValues {
			key = binary.AppendVarint(key, v)
		}
	}
	if a.BoolValues != nil {
		key = binary.AppendVarint(append(key, 'B'), int64(len(a.BoolValues)))
		for _, v := range a.BoolValues {
			key = append(key, flag(v))
		}
	}
	if a.StringValues != nil {
		key = appendTexts(append(key, 'S'), a.StringValues)
	}
	if a.VersionValues != nil {
		key = appendTexts(append(key, 'V'), a.VersionValues)
	}
	return key
}

// maxExact bounds the whole numbers that a float64 holds exactly.
const maxExact = 1 << 53

// appendQuantity writes how a quantity is represented, because expressions see
// that: 0 is an integer and 0.0 is not, and 0.3 and 300m are not the same float.
// The API server writes all of them in one form; other sources of slices do not.
// Small whole numbers need no more than their value: nothing tells 1k from 1000.
// Zero is not among those, as AsInt64 counts through its exponent.
func appendQuantity(key []byte, value resource.Quantity) []byte {
	key = appendText(key, string(value.Format))
	if value.Sign() != 0 {
		if whole, ok := value.AsInt64(); ok && -maxExact <= whole && whole <= maxExact {
			return binary.AppendVarint(append(key, 'w'), whole)
		}
	}
	// AsDec changes the copy that it is called on, and returns what is in it if
	// that is a Dec already.
	again := value
	dec := value.AsDec()
	key = append(key, 'd', flag(again.AsDec() == dec))
	key = binary.AppendVarint(key, int64(dec.Scale()))
	return appendText(key, dec.UnscaledBig().Text(62))
}

func appendTexts(key []byte, texts []string) []byte {
	key = binary.AppendVarint(key, int64(len(texts)))
	for _, text := range texts {
		key = appendText(key, text)
	}
	return key
}

func appendText(key []byte, text string) []byte {
	return append(binary.AppendVarint(key, int64(len(text))), text...)
}

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}
