package explain

import (
	"fmt"
	"strings"
)

// sentences has the end of the sentence for each cause; those with a verb take
// the attribute of the constraint or the state of the pool. They say the same for
// all nodes that fail alike, so they name neither devices nor nodes nor pools,
// nor anything of other claims.
var sentences = map[Cause]string{
	NoPools:          "too few devices are published for the node",
	BadPool:          "a resource pool of the node is %s",
	Unsupported:      "matching devices need a feature that is off",
	NoClass:          "the device class does not exist",
	ClassMismatch:    "too few devices match the device class",
	SelectorMismatch: "too few devices match the selectors",
	WrongNode:        "matching devices are not for the node",
	Tainted:          "matching devices are tainted",
	InUse:            "matching devices are in use",
	CapacityShort:    "matching devices have too little capacity left",
	CountersShort:    "matching devices need counters that are used up",
	Incompatible:     "matching devices are incompatible with others on their counter set",
	Constrained:      "matching devices do not satisfy the constraint on %s",
	TooManyResults:   "a claim cannot hold so many devices",
	MemberMissing:    "all matching devices are wanted and one is not available",
	Competing:        "other requests of the pod need the same devices",
	Undecided:        "the search was given up",
	Faulted:          "an input is in error",
}

// Reason is one sentence for the node's status. It is equal for nodes that fail
// alike, so that a scheduler can count them. It is empty if the claims fit.
func (e *Explanation) Reason() string {
	switch {
	case e.Fits:
		return ""
	case e.First == nil:
		return sentences[Faulted]
	}
	b := &e.First.Binding
	sentence := sentences[b.Cause]
	switch b.Cause {
	case Constrained:
		sentence = fmt.Sprintf(sentence, b.Constraint.Attribute)
	case BadPool:
		sentence = fmt.Sprintf(sentence, b.Pool.State)
	}
	subject := e.First.subject()
	if subject == "" {
		return sentence
	}
	return subject + ": " + sentence
}

// subject is claim and request, without the namespace: all claims of a pod are
// in the pod's.
func (s *Shortage) subject() string {
	if s.Claim == "" {
		return ""
	}
	_, name, namespaced := strings.Cut(s.Claim, "/")
	if !namespaced {
		name = s.Claim
	}
	subject := "claim " + name
	if s.Request != "" {
		subject += ", request " + s.Request
	}
	return subject
}
