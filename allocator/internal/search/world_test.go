package search

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/datadriven"
)

// A world is a problem as a test states it: devices by name, amounts as plain
// integers, values as text. Problem is made of it in problem_test.go; the brute
// force of twin_test.go reads the world itself, so that the two have nothing in
// common but what was written down.
//
// The language has one statement a line, in the syntax of package datadriven:
// a word, then key=value or key=(value,value). Lines that begin with # are
// comments.
//
//	pool devices=(a,b)                       devices are tried in the order stated
//	set name=card left=(memory=4,slices=2)   a counter set of the last pool; negative is overdrawn
//	placed set=card groups=(x)               an allocated device on the set; no groups: it names none
//	draws device=a set=card amounts=(memory=2) groups=(x)
//	in-use devices=(a)                       some other claim has it for itself
//	shareable device=a left=(memory=4)       several claims can share it
//	shared devices=(a)                       other claims do share it
//	enforce-groups                           the feature is on
//	wide-amounts                             amounts are too fine for 64 bits
//	limit devices=3                          most devices of a claim, 32 unless stated
//
//	claim
//	request count=2 from=(a,b) faulty=(c)    the first of a request's devices; also: admin
//	request all=(a,b) from=(a) full=(b)      from are those that can be had, all unless stated; full have too little capacity left
//	request first-available
//	or count=1 from=(a)                      an alternative; as request
//	takes devices=(a) amounts=(memory=1)     what a share for the last alternative takes
//	match values=(a=1,b=2) requests=(0,1.2)  request 0, and alternative 2 of request 1; all unless stated
//	match-sets values=(a=1|2,b=2)            values are sets; also: distinct, distinct-sets
//	instead requests=(0) values=(a=7)        of the last constraint: request 0 has other values
//
// The values absent, opaque and unknown are those of the package; a device
// without a value is absent.
type world struct {
	pools         []poolSpec
	devices       []*deviceSpec
	enforceGroups bool
	wide          bool
	limit         int
	claims        []*claimSpec
}

type poolSpec struct{ sets []*setSpec }

type setSpec struct {
	name   string
	left   amounts
	placed [][]string
}

type deviceSpec struct {
	name          string
	pool          int
	draws         []drawSpec
	inUse, shared bool
	// left is not nil for a device that can be shared.
	left amounts
}

type drawSpec struct {
	set    string
	takes  amounts
	groups []string
}

type claimSpec struct {
	requests    []*requestSpec
	constraints []*constraintSpec
}

type requestSpec struct {
	prioritized  bool
	alternatives []*alternativeSpec
}

type alternativeSpec struct {
	count              int
	all, admin         bool
	members            []string
	candidates, faulty []string
	full               []string
	takes              map[string]amounts
}

type constraintSpec struct {
	distinct, sets bool
	values         map[string]string
	requests       []string
	instead        map[string]map[string]string
}

type amounts []amount

type amount struct {
	name  string
	value int64
}

func (a amounts) of(name string) int64 {
	for _, amount := range a {
		if amount.name == name {
			return amount.value
		}
	}
	return 0
}

func (w *world) device(name string) *deviceSpec {
	i := slices.IndexFunc(w.devices, func(d *deviceSpec) bool { return d.name == name })
	if i < 0 {
		panic(fmt.Sprintf("no pool has device %q", name))
	}
	return w.devices[i]
}

func (w *world) set(pool int, name string) *setSpec {
	sets := w.pools[pool].sets
	i := slices.IndexFunc(sets, func(s *setSpec) bool { return s.name == name })
	if i < 0 {
		panic(fmt.Sprintf("pool %d has no counter set %q", pool, name))
	}
	return sets[i]
}

// covers says whether the constraint is for an alternative of a request.
func (c *constraintSpec) covers(request, alternative int) bool {
	return len(c.requests) == 0 || slices.Contains(c.requests, strconv.Itoa(request)) ||
		slices.Contains(c.requests, fmt.Sprintf("%d.%d", request, alternative))
}

// value is what a device has under the constraint when a request takes it.
func (c *constraintSpec) value(request int, device string) string {
	values := c.values
	if other, found := c.instead[strconv.Itoa(request)]; found {
		values = other
	}
	if value, found := values[device]; found {
		return value
	}
	return "absent"
}

// parse reads the statements. It panics where they make no sense: the text is
// part of the test.
func parse(text string) *world {
	w := &world{limit: 32}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		word, args, err := datadriven.ParseLine(line)
		if err != nil {
			panic(err)
		}
		s := statement{word: word, args: args}
		if !w.describeNode(s) && !w.describeClaim(s) {
			panic(fmt.Sprintf("unknown statement %q", line))
		}
	}
	return w
}

func (w *world) describeNode(s statement) bool {
	switch s.word {
	case "pool":
		for _, name := range s.list("devices") {
			w.devices = append(w.devices, &deviceSpec{name: name, pool: len(w.pools)})
		}
		w.pools = append(w.pools, poolSpec{})
	case "set":
		pool := &w.pools[len(w.pools)-1]
		pool.sets = append(pool.sets, &setSpec{name: s.one("name"), left: s.amounts("left")})
	case "placed":
		set := w.set(len(w.pools)-1, s.one("set"))
		set.placed = append(set.placed, s.list("groups"))
	case "draws":
		device := w.device(s.one("device"))
		draw := drawSpec{set: s.one("set"), takes: s.amounts("amounts"), groups: s.list("groups")}
		for _, a := range draw.takes {
			if !slices.ContainsFunc(w.set(device.pool, draw.set).left, func(b amount) bool { return a.name == b.name }) {
				panic(fmt.Sprintf("set %s has no counter %s", draw.set, a.name))
			}
		}
		device.draws = append(device.draws, draw)
	case "in-use":
		for _, name := range s.list("devices") {
			w.device(name).inUse = true
		}
	case "shareable":
		w.device(s.one("device")).left = append(amounts{}, s.amounts("left")...)
	case "shared":
		for _, name := range s.list("devices") {
			w.device(name).shared = true
		}
	case "enforce-groups":
		w.enforceGroups = true
	case "wide-amounts":
		w.wide = true
	case "limit":
		w.limit = number(s.one("devices"))
	default:
		return false
	}
	return true
}

func (w *world) describeClaim(s statement) bool {
	if s.word == "claim" {
		w.claims = append(w.claims, &claimSpec{})
		return true
	}
	claim := w.claims[len(w.claims)-1]
	switch s.word {
	case "request":
		request := &requestSpec{prioritized: s.has("first-available")}
		claim.requests = append(claim.requests, request)
		if !request.prioritized {
			request.alternatives = append(request.alternatives, s.alternative())
		}
	case "or":
		request := claim.requests[len(claim.requests)-1]
		request.alternatives = append(request.alternatives, s.alternative())
	case "takes":
		request := claim.requests[len(claim.requests)-1]
		alternative := request.alternatives[len(request.alternatives)-1]
		for _, name := range s.list("devices") {
			alternative.takes[w.device(name).name] = s.amounts("amounts")
		}
	case "match", "match-sets", "distinct", "distinct-sets":
		claim.constraints = append(claim.constraints, &constraintSpec{
			distinct: strings.HasPrefix(s.word, "distinct"), sets: strings.HasSuffix(s.word, "-sets"),
			values: s.pairs("values"), requests: s.list("requests"), instead: map[string]map[string]string{},
		})
	case "instead":
		constraint := claim.constraints[len(claim.constraints)-1]
		for _, request := range s.list("requests") {
			constraint.instead[request] = s.pairs("values")
		}
	default:
		return false
	}
	return true
}

// statement is one line.
type statement struct {
	word string
	args []datadriven.CmdArg
}

func (s statement) has(key string) bool {
	return slices.ContainsFunc(s.args, func(a datadriven.CmdArg) bool { return a.Key == key })
}

func (s statement) list(key string) []string {
	var list []string
	for _, arg := range s.args {
		for _, value := range arg.Vals {
			if arg.Key == key && value != "" {
				list = append(list, value)
			}
		}
	}
	return list
}

func (s statement) one(key string) string {
	list := s.list(key)
	if len(list) != 1 {
		panic(fmt.Sprintf("statement %s needs one value of %s", s.word, key))
	}
	return list[0]
}

func (s statement) pairs(key string) map[string]string {
	pairs := map[string]string{}
	for _, pair := range s.list(key) {
		name, value, _ := strings.Cut(pair, "=")
		pairs[name] = value
	}
	return pairs
}

func (s statement) amounts(key string) amounts {
	var list amounts
	for _, pair := range s.list(key) {
		name, value, _ := strings.Cut(pair, "=")
		list = append(list, amount{name, int64(number(value))})
	}
	return list
}

func (s statement) alternative() *alternativeSpec {
	a := &alternativeSpec{
		all: s.has("all"), admin: s.has("admin"), members: s.list("all"),
		candidates: s.list("from"), faulty: s.list("faulty"), full: s.list("full"), takes: map[string]amounts{},
	}
	switch {
	case !a.all:
		a.count = number(s.one("count"))
	case !s.has("from"):
		a.candidates = a.members
	}
	return a
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}
