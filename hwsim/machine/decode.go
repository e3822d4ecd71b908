package machine

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

const (
	// maxFileBytes and maxDepth bound what is handed to the YAML parser, which
	// recurses and takes time by the square of the depth.
	maxFileBytes = 256 << 10
	maxDepth     = 64
)

// decode fills the struct that v points to from a YAML document. It is stricter
// than the library's strict decoding, and reports every problem at once instead
// of one chosen by the order of a map:
//
//   - a field that the struct lacks, or that stands there twice
//   - a value of another type: a list for a number, a fraction for an integer
//   - a field without a value; leave it out instead
//   - anchors, aliases, merge keys and tags, which would let a short file be a
//     huge one and a field be in two places
//
// A text field takes the characters of a scalar as written, whether YAML calls it
// a number or not: 2330 and 1e10 are texts.
//
// The places of all fields are in p afterwards, also where decoding failed.
func (p *problems) decode(text []byte, v any) {
	body := p.parse(text)
	if body == nil {
		return
	}
	(&decoder{problems: p}).value(body, reflect.ValueOf(v).Elem(), "")
}

// parse returns the root of the only document, or nil after adding a problem.
func (p *problems) parse(text []byte) (body ast.Node) {
	start := place{1, 1}
	if len(text) > maxFileBytes {
		p.addAt(start, "", fmt.Sprintf("has %d bytes; a %s file has at most %d", len(text), p.kind, maxFileBytes))
		return nil
	}
	// The library is fuzzed by others, and a broken file is the user's mistake, not
	// a reason to stop.
	defer func() {
		if r := recover(); r != nil {
			p.addAt(start, "", fmt.Sprintf("is not YAML: %v", r))
			body = nil
		}
	}()
	tokens := lexer.Tokenize(strings.TrimPrefix(string(text), "\ufeff")) // some editors begin files with it
	if at, deep := tooDeep(tokens); deep {
		p.addAt(at, "", fmt.Sprintf("is nested deeper than %d levels", maxDepth))
		return nil
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		p.syntax(err)
		return nil
	}
	var bodies []ast.Node
	for _, doc := range file.Docs {
		if doc.Body != nil && doc.Body.Type() != ast.CommentType && doc.Body.Type() != ast.DirectiveType {
			bodies = append(bodies, doc.Body)
		}
	}
	switch len(bodies) {
	case 0:
		p.addAt(start, "", "is empty: "+p.needs)
	case 1:
		return bodies[0]
	default:
		p.addAt(placeOf(bodies[1]), "", "is a second document: a file describes one "+p.kind)
	}
	return nil
}

func (p *problems) syntax(err error) {
	at, message := place{1, 1}, err.Error()
	var known yaml.Error
	if errors.As(err, &known) {
		message = known.GetMessage()
		if t := known.GetToken(); t != nil && t.Position != nil {
			at = place{t.Position.Line, t.Position.Column}
		}
	}
	p.addAt(at, "", "is not YAML: "+message)
}

// tooDeep finds the first token that is nested in more than maxDepth others.
func tooDeep(tokens token.Tokens) (place, bool) {
	flow := 0            // open brackets
	line, dashes := 0, 0 // entries that begin on one line, "- - - x"
	for _, t := range tokens {
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			flow++
		case token.MappingEndType, token.SequenceEndType:
			flow = max(0, flow-1)
		case token.SequenceEntryType, token.MappingKeyType, token.AnchorType, token.TagType:
			if t.Position.Line != line {
				line, dashes = t.Position.Line, 0
			}
			dashes++
		}
		if flow > maxDepth || dashes > maxDepth || t.Position.IndentLevel > maxDepth {
			return place{t.Position.Line, t.Position.Column}, true
		}
	}
	return place{}, false
}

type decoder struct{ *problems }

var textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()

// value decodes a node into v. The place of the path itself has been recorded by
// whoever knows the key.
func (d *decoder) value(node ast.Node, v reflect.Value, path string) {
	switch node.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode, *ast.MergeKeyNode:
		d.addAt(placeOf(node), path, "anchors, aliases and tags are not used in "+d.kind+" files; write the value out")
		return
	case *ast.NullNode:
		d.add(path, "has no value; leave the field out")
		return
	}
	if v.Kind() == reflect.Pointer {
		target := reflect.New(v.Type().Elem())
		d.value(node, target.Elem(), path)
		v.Set(target)
		return
	}
	if reflect.PointerTo(v.Type()).Implements(textUnmarshaler) {
		if text, ok := d.text(node, path); ok {
			if err := v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text)); err != nil {
				d.add(path, "%v", err)
			}
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.structure(node, v, path)
	case reflect.Slice:
		d.list(node, v, path)
	case reflect.Map:
		d.texts(node, v, path)
	case reflect.String:
		if text, ok := d.text(node, path); ok {
			v.SetString(text)
		}
	case reflect.Bool:
		if b, ok := node.(*ast.BoolNode); ok {
			v.SetBool(b.Value)
		} else {
			d.add(path, "must be true or false, not %s", kindOf(node))
		}
	default:
		d.integer(node, v, path)
	}
}

func (d *decoder) structure(node ast.Node, v reflect.Value, path string) {
	pairs, ok := pairsOf(node)
	if !ok {
		d.add(path, "must be a mapping with fields, not %s", kindOf(node))
		return
	}
	fields, names := fieldsOf(v)
	seen := map[string]bool{}
	for _, pair := range pairs {
		name, ok := d.key(pair, path)
		if !ok {
			continue
		}
		at := field(path, name)
		target, known := fields[name]
		switch {
		case !known:
			there := "there are " + strings.Join(names, ", ")
			if len(names) == 0 {
				there = "there are none"
			}
			d.addAt(placeOf(pair.Key), at, "is not a field here; "+there)
		case seen[name]:
			d.addAt(placeOf(pair.Key), at, fmt.Sprintf("is there twice; the first is in line %d", d.line(at)))
		default:
			seen[name] = true
			d.places[at] = placeOf(pair.Key)
			d.value(pair.Value, target, at)
		}
	}
}

func (d *decoder) list(node ast.Node, v reflect.Value, path string) {
	sequence, ok := node.(*ast.SequenceNode)
	if !ok {
		d.add(path, "must be a list, not %s", kindOf(node))
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(sequence.Values), len(sequence.Values)))
	for i, element := range sequence.Values {
		at := index(path, i)
		if element == nil {
			d.add(at, "has no value; leave the element out")
			continue
		}
		d.places[at] = placeOf(element)
		d.value(element, v.Index(i), at)
	}
}

// texts decodes a mapping of texts to texts.
func (d *decoder) texts(node ast.Node, v reflect.Value, path string) {
	pairs, ok := pairsOf(node)
	if !ok {
		d.add(path, "must be a mapping, not %s", kindOf(node))
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for _, pair := range pairs {
		name, ok := d.key(pair, path)
		if !ok {
			continue
		}
		at := field(path, name)
		if v.MapIndex(reflect.ValueOf(name)).IsValid() {
			d.addAt(placeOf(pair.Key), at, fmt.Sprintf("is there twice; the first is in line %d", d.line(at)))
			continue
		}
		d.places[at] = placeOf(pair.Key)
		element := reflect.New(v.Type().Elem()).Elem()
		d.value(pair.Value, element, at)
		v.SetMapIndex(reflect.ValueOf(name), element)
	}
}

// key is the name of a field, which must be a plain scalar.
func (d *decoder) key(pair *ast.MappingValueNode, path string) (string, bool) {
	text, ok := scalarText(pair.Key)
	if !ok || pair.Value == nil {
		d.addAt(placeOf(pair.Key), path, "has a key that is not a name, or no value to it")
		return "", false
	}
	return text, true
}

func (d *decoder) text(node ast.Node, path string) (string, bool) {
	text, ok := scalarText(node)
	if !ok {
		hint := ""
		if _, isMapping := pairsOf(node); isMapping {
			hint = "; a text with a colon may need quotes"
		}
		d.add(path, "must be a text, not %s%s", kindOf(node), hint)
	}
	return text, ok
}

// integer decodes all signed and unsigned kinds.
func (d *decoder) integer(node ast.Node, v reflect.Value, path string) {
	n, ok := node.(*ast.IntegerNode)
	if !ok {
		d.add(path, "must be an integer, not %s", kindOf(node))
		return
	}
	var fits bool
	switch value := n.Value.(type) {
	case int64:
		if v.CanInt() {
			if fits = !v.OverflowInt(value); fits {
				v.SetInt(value)
			}
		} else if fits = value >= 0 && !v.OverflowUint(uint64(value)); fits {
			v.SetUint(uint64(value))
		}
	case uint64:
		if v.CanInt() {
			if fits = value <= math.MaxInt64 && !v.OverflowInt(int64(value)); fits {
				v.SetInt(int64(value))
			}
		} else if fits = !v.OverflowUint(value); fits {
			v.SetUint(value)
		}
	}
	if !fits {
		d.add(path, "is %s, which is out of range", n.GetToken().Value)
	}
}

// scalarText is a scalar as it is written, without quotes.
func scalarText(node ast.Node) (string, bool) {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		if n.Value == nil {
			return "", true
		}
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	}
	return "", false
}

func pairsOf(node ast.Node) ([]*ast.MappingValueNode, bool) {
	switch n := node.(type) {
	case *ast.MappingNode:
		return n.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, true
	}
	return nil, false
}

// kindOf names what a node is, for messages.
func kindOf(node ast.Node) string {
	switch node.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return "the number " + node.GetToken().Value
	case *ast.BoolNode:
		return node.GetToken().Value
	}
	if text, ok := scalarText(node); ok {
		return "the text " + strconv.Quote(text)
	}
	return "something else"
}

// placeOf is where a node begins: of a block mapping, its first key.
func placeOf(node ast.Node) place {
	switch n := node.(type) {
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			return placeOf(n.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return placeOf(n.Key)
	}
	if t := node.GetToken(); t != nil && t.Position != nil {
		return place{t.Position.Line, t.Position.Column}
	}
	return place{1, 1}
}

// fieldsOf maps the names in a file to the fields of a struct, those of embedded
// structs included, and lists the names in order.
func fieldsOf(v reflect.Value) (map[string]reflect.Value, []string) {
	fields, names := map[string]reflect.Value{}, []string(nil)
	for i := range v.NumField() {
		description := v.Type().Field(i)
		name, _, _ := strings.Cut(description.Tag.Get("json"), ",")
		switch {
		case description.Anonymous && name == "":
			inner, innerNames := fieldsOf(v.Field(i))
			for _, name := range innerNames {
				fields[name] = inner[name]
			}
			names = append(names, innerNames...)
		case name != "" && name != "-":
			fields[name] = v.Field(i)
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return fields, names
}
