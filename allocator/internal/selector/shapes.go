package selector

import (
	"sync"

	celgo "github.com/google/cel-go/cel"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"
)

// Shapes remembers what expressions say about devices by what they read of
// them. It outlives the pools: a slice that is published again, or a thousand
// nodes with the same hardware, costs one evaluation for each distinct shape.
// The zero value is empty. It is safe for concurrent use.
type Shapes struct {
	mu          sync.Mutex
	expressions map[memoKey]*shapesOf
}

// shapesOf are the shapes that one expression has met.
type shapesOf struct {
	reads reads

	mu    sync.Mutex
	known map[string]shape
}

// shape is the outcome of an evaluation. An error is remembered as a fault; its
// text is made again when it is needed.
type shape struct {
	match, fault bool
	attribute    *resourceapi.DeviceAttribute
}

// Bounds of what is remembered; beyond them it is forgotten as a whole.
const (
	maxExpressions = 1024
	maxShapes      = 1 << 14
)

// of returns the shapes of an expression; env is what it was compiled in.
func (s *Shapes) of(cache *cel.Cache, env *celgo.Env, expression string, derived bool) *shapesOf {
	key := memoKey{cache: cache, expression: expression, derived: derived}
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.expressions[key]
	if !ok {
		if s.expressions == nil || len(s.expressions) >= maxExpressions {
			s.expressions = make(map[memoKey]*shapesOf)
		}
		e = &shapesOf{reads: findReads(env, expression)}
		s.expressions[key] = e
	}
	return e
}

func (s *shapesOf) get(key []byte) (shape, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.known[string(key)]
	return known, ok
}

func (s *shapesOf) put(key []byte, met shape) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil || len(s.known) >= maxShapes {
		s.known = make(map[string]shape)
	}
	s.known[string(key)] = met
}
