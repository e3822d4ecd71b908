package search

import (
	"slices"
	"strings"
)

// The dumb twin: it writes down every complete assignment in upstream's order
// and takes the first that is right as a whole. It keeps no state, undoes
// nothing and prunes nothing, so it can be slow but hardly wrong in the way that
// the walk could be. It does not know faults.

// taking is one device of an assignment.
type taking struct {
	claim, request, alternative int
	device                      string
}

// maxTries bounds the time of the brute force.
const maxTries = 20000

// bruteForce returns the first assignment that is right, and the alternatives
// chosen by claim and request; ok is false if there is none. tried is the number
// of assignments looked at; beyond maxTries the rest of the answer says nothing.
func bruteForce(w *world) (answer []taking, chosen [][]int, ok bool, tried int) {
	chosen = make([][]int, len(w.claims))
	for i, claim := range w.claims {
		chosen[i] = make([]int, len(claim.requests))
	}
	var decide func(claim, request int, takings []taking) bool
	decide = func(claim, request int, takings []taking) bool {
		if claim == len(w.claims) {
			tried++
			answer = takings
			return tried > maxTries || w.right(takings, chosen)
		}
		if request == len(w.claims[claim].requests) {
			return decide(claim+1, 0, takings)
		}
		for i, a := range w.claims[claim].requests[request].alternatives {
			chosen[claim][request] = i
			for _, devices := range w.choices(a) {
				next := slices.Clone(takings)
				for _, device := range devices {
					next = append(next, taking{claim, request, i, device})
				}
				if decide(claim, request+1, next) {
					return true
				}
			}
		}
		return false
	}
	ok = decide(0, 0, nil)
	return answer, chosen, ok, tried
}

// choices are the combinations of devices for an alternative, in the order in
// which devices are tried.
func (w *world) choices(a *alternativeSpec) [][]string {
	if a.all {
		return [][]string{a.members}
	}
	combinations := [][]string{nil}
	for range a.count {
		var longer [][]string
		for _, devices := range combinations {
			for i, device := range w.devices {
				after := len(devices) == 0 || i > slices.IndexFunc(w.devices, func(d *deviceSpec) bool { return d.name == devices[len(devices)-1] })
				if after && slices.Contains(a.candidates, device.name) {
					longer = append(longer, append(slices.Clone(devices), device.name))
				}
			}
		}
		combinations = longer
	}
	return combinations
}

// right says whether the takings, in the order in which requests come, can all be had.
func (w *world) right(takings []taking, chosen [][]int) bool {
	for i, claim := range w.claims {
		if len(of(takings, func(t taking) bool { return t.claim == i })) > w.limit {
			return false
		}
		for j := range claim.requests {
			if a := claim.requests[j].alternatives[chosen[i][j]]; a.all && len(a.members) == 0 {
				return false
			}
		}
		for _, constraint := range claim.constraints {
			if !w.satisfied(i, constraint, takings) {
				return false
			}
		}
	}
	for i, t := range takings {
		if !w.free(t, takings[:i]) {
			return false
		}
	}
	return w.sharesFit(takings) && w.countersFit(takings) && (!w.enforceGroups || w.groupsAgree(takings))
}

func of(takings []taking, is func(taking) bool) []taking {
	return slices.DeleteFunc(slices.Clone(takings), func(t taking) bool { return !is(t) })
}

func (w *world) alternative(t taking) *alternativeSpec {
	return w.claims[t.claim].requests[t.request].alternatives[t.alternative]
}

// free says whether the device is a candidate with room that nobody has for himself:
// neither another claim nor something earlier; with admin access, nothing
// earlier of the same claim.
func (w *world) free(t taking, earlier []taking) bool {
	a, device := w.alternative(t), w.device(t.device)
	if !slices.Contains(a.candidates, t.device) || slices.Contains(a.full, t.device) || device.inUse && !a.admin {
		return false
	}
	return device.left != nil || len(of(earlier, func(e taking) bool {
		return e.device == t.device && (!a.admin || e.claim == t.claim)
	})) == 0
}

// sharesFit: the shares of a device have room in what is left of it.
func (w *world) sharesFit(takings []taking) bool {
	for _, t := range takings {
		for _, capacity := range w.device(t.device).left {
			sum := int64(0)
			for _, other := range of(takings, func(o taking) bool { return o.device == t.device }) {
				sum += w.alternative(other).takes[t.device].of(capacity.name)
			}
			if sum > capacity.value {
				return false
			}
		}
	}
	return true
}

// pays says whether the i-th taking is one that pays for its device: the first
// share of a device of which others have none, and any whole device. Who only
// looks has paid nothing, so it does not count among the earlier ones.
func (w *world) pays(takings []taking, i int) bool {
	device := w.device(takings[i].device)
	if device.left == nil {
		return true
	}
	return !device.shared && len(of(takings[:i], func(t taking) bool {
		return t.device == device.name && !w.alternative(t).admin
	})) == 0
}

// countersFit: where anything is drawn from a pool, none of its counters may be
// below zero. Admin access draws nothing.
func (w *world) countersFit(takings []taking) bool {
	for number, pool := range w.pools {
		drawing := false
		sums := map[string]int64{}
		for i, t := range takings {
			device := w.device(t.device)
			if device.pool != number || w.alternative(t).admin || !w.pays(takings, i) {
				continue
			}
			for _, draw := range device.draws {
				drawing = true
				for _, counter := range draw.takes {
					sums[draw.set+"/"+counter.name] += counter.value
				}
			}
		}
		for _, set := range pool.sets {
			for _, counter := range set.left {
				if drawing && sums[set.name+"/"+counter.name] > counter.value {
					return false
				}
			}
		}
	}
	return true
}

// groupsAgree: the devices on a counter set that something new joins name no
// group, all of them, or have one in common.
func (w *world) groupsAgree(takings []taking) bool {
	for number, pool := range w.pools {
		for _, set := range pool.sets {
			var joining [][]string
			for i, t := range takings {
				device := w.device(t.device)
				for _, draw := range device.draws {
					if device.pool == number && draw.set == set.name && w.pays(takings, i) {
						joining = append(joining, draw.groups)
					}
				}
			}
			if len(joining) > 0 && !agree(append(slices.Clone(set.placed), joining...)) {
				return false
			}
		}
	}
	return true
}

func agree(all [][]string) bool {
	common := slices.Clone(all[0])
	for _, groups := range all {
		if (len(groups) == 0) != (len(all[0]) == 0) {
			return false
		}
		common = slices.DeleteFunc(common, func(group string) bool { return !slices.Contains(groups, group) })
	}
	return len(all[0]) == 0 || len(common) > 0
}

// satisfied checks a constraint on all devices that it is for, value by value.
func (w *world) satisfied(claim int, c *constraintSpec, takings []taking) bool {
	var values []string
	for _, t := range takings {
		if t.claim == claim && c.covers(t.request, t.alternative) {
			values = append(values, c.value(t.request, t.device))
		}
	}
	for i, value := range values {
		// A scalar without a comparable value may come first, and only there.
		if value == "absent" || value == "opaque" && (c.sets || i > 0) {
			return false
		}
		for _, earlier := range values[:i] {
			if c.distinct && intersect(value, earlier) || !c.distinct && !c.sets && value != earlier {
				return false
			}
		}
	}
	if !c.sets || c.distinct || len(values) == 0 {
		return true
	}
	return slices.ContainsFunc(strings.Split(values[0], "|"), func(element string) bool {
		return !slices.ContainsFunc(values, func(value string) bool { return !intersect(value, element) })
	})
}

// intersect compares values as sets; a scalar is a set of one.
func intersect(a, b string) bool {
	return slices.ContainsFunc(strings.Split(a, "|"), func(element string) bool { return slices.Contains(strings.Split(b, "|"), element) })
}
