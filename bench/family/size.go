package family

import (
	"fmt"
	"strings"
)

// Param is one parameter of a family, for example n=32.
type Param struct {
	Key   string
	Value int
}

// Size is the parameters of one instance, in the order in which they are shown.
type Size []Param

// size makes a Size of keys and values in turn.
func size(keysAndValues ...any) Size {
	s := make(Size, 0, len(keysAndValues)/2)
	for i := 0; i+1 < len(keysAndValues); i += 2 {
		s = append(s, Param{Key: keysAndValues[i].(string), Value: keysAndValues[i+1].(int)})
	}
	return s
}

// Of returns the value of a parameter. It panics if there is none, which is a
// mistake in the family's own list of sizes.
func (s Size) Of(key string) int {
	for _, p := range s {
		if p.Key == key {
			return p.Value
		}
	}
	panic(fmt.Sprintf("size %s has no parameter %q", s, key))
}

// String is the size as it stands in the name of a benchmark: n=32/c=8.
func (s Size) String() string {
	parts := make([]string, len(s))
	for i, p := range s {
		parts[i] = fmt.Sprintf("%s=%d", p.Key, p.Value)
	}
	return strings.Join(parts, "/")
}
