package publish

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Error says where something that cannot be published is. Node or Pool is set,
// the others where they apply.
type Error struct {
	Node, Pool, Driver, Device string
	// Field as the API spells it: "attributes[uuid]".
	Field string
	// More counts the devices after this one that are left out for the same reason.
	More int
	Err  error
}

func (e *Error) Error() string {
	var b strings.Builder
	for _, part := range []struct{ kind, name string }{
		{"node ", e.Node}, {"pool ", e.Pool}, {"driver ", e.Driver}, {"device ", e.Device}, {"", e.Field},
	} {
		if part.name != "" {
			b.WriteString(part.kind + part.name + ": ")
		}
	}
	b.WriteString(e.Err.Error())
	if e.More > 0 {
		fmt.Fprintf(&b, " (and %d more devices)", e.More)
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// checker holds pools to the rules of the API server at one minor, so that one
// device that the server would refuse does not cost the slice it is in, and an
// error names the hardware's node and device instead of an index in an object
// that nobody has seen.
type checker struct {
	limits limits
	// names of devices and of counter sets are emptied and used again for each pool,
	// sets that may be consumed, and those that may not, for each group.
	names, setNames map[string]bool
	sets            map[string]counters
	refused         map[string]bool
	// domains of attributes that are known to be good. There are a handful.
	domains map[string]bool
}

func newChecker(l limits) *checker {
	return &checker{limits: l, names: map[string]bool{}, setNames: map[string]bool{}, sets: map[string]counters{},
		refused: map[string]bool{}, domains: map[string]bool{}}
}

// checkPool says what is wrong with a pool itself.
func checkPool(p *pool) error {
	fail := func(field, format string, arguments ...any) error {
		return &Error{Pool: p.name, Driver: p.driver, Field: field, Err: fmt.Errorf(format, arguments...)}
	}
	if p.generation < 0 {
		return fail("pool.generation", "%d is negative", p.generation)
	}
	if len(p.name) > validation.DNS1123SubdomainMaxLength {
		return fail("pool.name", "it has more than %d characters", validation.DNS1123SubdomainMaxLength)
	}
	for part := range strings.SplitSeq(p.name, "/") {
		if problems := validation.IsDNS1123Subdomain(part); len(problems) > 0 {
			return fail("pool.name", "%q: %s", p.name, problems[0])
		}
	}
	return nil
}

// leaveOut takes out of the pool what breaks a rule, and returns an error for
// each. The groups' lists are changed.
func (c *checker) leaveOut(p *pool) (errs []error) {
	clear(c.names)
	clear(c.setNames)
	for i := range p.groups {
		g := &p.groups[i]
		errs = append(errs, c.counterSets(p, g)...)
		errs = append(errs, c.devices(p, g)...)
	}
	return errs
}

// devices takes out the devices that break a rule, those that consume a set that
// does, without a word, and sets that no device is left to consume.
func (c *checker) devices(p *pool, g *group) (errs []error) {
	kept := 0
	var last *Error
	for i := range g.devices {
		device := &g.devices[i]
		if len(c.refused) > 0 && slices.ContainsFunc(device.ConsumesCounters,
			func(consumption resourceapi.DeviceCounterConsumption) bool { return c.refused[consumption.CounterSet] }) {
			continue
		}
		field, err := c.namedDevice(device)
		switch {
		case err == nil:
			if kept < i {
				g.devices[kept] = *device
			}
			kept++
		case last != nil && last.Field == field && last.Err.Error() == err.Error():
			last.More++
		default:
			last = &Error{Pool: p.name, Driver: p.driver, Device: device.Name, Field: field, Err: err}
			errs = append(errs, last)
		}
	}
	g.truncate(kept)
	return errs
}

func (c *checker) namedDevice(device *resourceapi.Device) (field string, err error) {
	if !isLabel(device.Name) {
		return "name", fmt.Errorf("%s is not a DNS label: at most 63 of a-z, 0-9 and -", quoted(device.Name))
	}
	if c.names[device.Name] {
		return "name", errTwoDevices
	}
	if field, err = c.device(device); err == nil {
		c.names[device.Name] = true
	}
	return field, err
}

var errTwoDevices = errors.New("two devices have it")

// counterSets takes out the counter sets that break a rule.
func (c *checker) counterSets(p *pool, g *group) (errs []error) {
	clear(c.sets)
	clear(c.refused)
	total, kept := 0, 0
	for _, set := range g.sets {
		field, err := c.counterSet(&set, total)
		if err != nil {
			c.refused[set.Name] = true
			errs = append(errs, &Error{Pool: p.name, Driver: p.driver, Device: g.firstOf(set.Name), Field: field, Err: err})
			continue
		}
		c.setNames[set.Name] = true
		c.sets[set.Name] = set.Counters
		total += len(set.Counters)
		g.sets[kept] = set
		kept++
	}
	g.sets = g.sets[:kept]
	return errs
}

// counterSet returns the field that breaks a rule, and how; total is how many
// counters there are in sets before it.
func (c *checker) counterSet(set *resourceapi.CounterSet, total int) (field string, err error) {
	if !isLabel(set.Name) || c.setNames[set.Name] {
		return "sharedCounters", fmt.Errorf("%s is not a DNS label, or the name of two sets", quoted(set.Name))
	}
	field = "sharedCounters[" + set.Name + "].counters"
	n := len(set.Counters)
	if n == 0 || over(n, c.limits.setCounters) {
		return field, fmt.Errorf("there are %d, which is not from 1 to %d", n, c.limits.setCounters)
	}
	if total += n; over(total, c.limits.sliceCounters) {
		return field, fmt.Errorf("with it %d counters are in one slice, where %d fit", total, c.limits.sliceCounters)
	}
	for _, name := range sorted(set.Counters) {
		if !isLabel(name) {
			return field, fmt.Errorf("%s is not a DNS label", quoted(name))
		}
	}
	return "", nil
}

// quoted quotes a value, or the beginning of a long one: files can hold anything.
func quoted(value string) string {
	const most = 2 * resourceapi.DeviceAttributeMaxValueLength
	if len(value) > most {
		return fmt.Sprintf("%q…", value[:most])
	}
	return fmt.Sprintf("%q", value)
}

// device returns the field that breaks a rule, and how.
func (c *checker) device(d *resourceapi.Device) (field string, err error) {
	if n := len(d.Attributes) + len(d.Capacity); n > c.limits.attributesAndCapacities {
		return "attributes", fmt.Errorf("%d attributes and capacities are more than %d", n, c.limits.attributesAndCapacities)
	}
	values := 0
	for name, a := range d.Attributes {
		n, problem := c.attribute(string(name), a)
		if problem != "" { // sorted only now, so that the good case is fast
			return c.firstBadAttribute(d)
		}
		values += n
	}
	if over(values, c.limits.attributeValues) {
		return "attributes", fmt.Errorf("%d values are more than %d", values, c.limits.attributeValues)
	}
	shared := d.AllowMultipleAllocations != nil && *d.AllowMultipleAllocations
	for name, capacity := range d.Capacity {
		if problem := c.nameProblem(string(name)); problem != "" {
			return "capacity", fmt.Errorf("%q: %s", name, problem)
		}
		if capacity.Value.Sign() < 0 { // also what is too large for a quantity of bytes
			return "capacity[" + string(name) + "]", fmt.Errorf("%s is negative, or 8 EiB and more", &capacity.Value)
		}
		if capacity.RequestPolicy != nil {
			if err := checkPolicy(shared, &capacity); err != nil {
				return "capacity[" + string(name) + "].requestPolicy", err
			}
		}
	}
	if field, err := c.consumption(d); err != nil {
		return field, err
	}
	if field, err := c.taints(d); err != nil {
		return field, err
	}
	return checkConditions(d)
}

func (c *checker) firstBadAttribute(d *resourceapi.Device) (field string, err error) {
	for _, name := range sorted(d.Attributes) {
		a := d.Attributes[name]
		if _, problem := c.attribute(string(name), a); problem != "" {
			return "attributes[" + string(name) + "]", fmt.Errorf("%s", problem)
		}
	}
	panic("publish: an attribute is bad only sometimes")
}

func (c *checker) consumption(d *resourceapi.Device) (field string, err error) {
	if over(len(d.ConsumesCounters), c.limits.consumptions) {
		return "consumesCounters", fmt.Errorf("%d counter sets are more than %d", len(d.ConsumesCounters), c.limits.consumptions)
	}
	total := 0
	for i, consumption := range d.ConsumesCounters {
		field := "consumesCounters[" + consumption.CounterSet + "]"
		set, ok := c.sets[consumption.CounterSet]
		if !ok || slices.ContainsFunc(d.ConsumesCounters[:i], func(other resourceapi.DeviceCounterConsumption) bool {
			return other.CounterSet == consumption.CounterSet
		}) {
			return field, fmt.Errorf("the pool has no such counter set, or the device consumes it twice")
		}
		n := len(consumption.Counters)
		if n == 0 || over(n, c.limits.consumptionCounters) {
			return field, fmt.Errorf("%d counters are not from 1 to %d", n, c.limits.consumptionCounters)
		}
		if total += n; over(total, c.limits.deviceCounters) {
			return field, fmt.Errorf("%d counters are more than the %d of a device", total, c.limits.deviceCounters)
		}
		for name, counter := range consumption.Counters {
			if available, ok := set[name]; !ok || available.Value.Cmp(counter.Value) < 0 {
				return field, fmt.Errorf("the set has fewer of some counter than the device consumes, among them one of %v", shortOf(set, consumption.Counters))
			}
		}
		if err := checkGroups(consumption.CompatibilityGroups); err != nil {
			return field + ".compatibilityGroups", err
		}
	}
	return "", nil
}

// shortOf are the names of counters that a set has too little of.
func shortOf(set, consumed counters) (names []string) {
	for _, name := range sorted(consumed) {
		if available, ok := set[name]; !ok || available.Value.Cmp(consumed[name].Value) < 0 {
			names = append(names, name)
		}
	}
	return names
}

func checkGroups(groups []string) error {
	if len(groups) > resourceapi.DeviceCompatibilityGroupsMaxSize {
		return fmt.Errorf("%d are more than %d", len(groups), resourceapi.DeviceCompatibilityGroupsMaxSize)
	}
	for i, name := range groups {
		if !isLabel(name) || slices.Contains(groups[:i], name) {
			return fmt.Errorf("%q is not a DNS label, or there twice", name)
		}
	}
	return nil
}

func (c *checker) taints(d *resourceapi.Device) (field string, err error) {
	if over(len(d.Taints), c.limits.taints) {
		return "taints", fmt.Errorf("%d are more than %d", len(d.Taints), c.limits.taints)
	}
	for i, taint := range d.Taints {
		field := fmt.Sprintf("taints[%d]", i)
		if problems := validation.IsQualifiedName(taint.Key); len(problems) > 0 {
			return field + ".key", fmt.Errorf("%q: %s", taint.Key, problems[0])
		}
		if problems := validation.IsValidLabelValue(taint.Value); len(problems) > 0 {
			return field + ".value", fmt.Errorf("%q: %s", taint.Value, problems[0])
		}
		switch taint.Effect {
		case resourceapi.DeviceTaintEffectNone, resourceapi.DeviceTaintEffectNoSchedule, resourceapi.DeviceTaintEffectNoExecute:
		default:
			return field + ".effect", fmt.Errorf("there is no effect %q", taint.Effect)
		}
	}
	return "", nil
}

func checkConditions(d *resourceapi.Device) (field string, err error) {
	seen := map[string]bool{}
	for _, list := range []struct {
		field string
		names []string
		most  int
	}{
		{"bindingConditions", d.BindingConditions, resourceapi.BindingConditionsMaxSize},
		{"bindingFailureConditions", d.BindingFailureConditions, resourceapi.BindingFailureConditionsMaxSize},
	} {
		if len(list.names) > list.most {
			return list.field, fmt.Errorf("%d are more than %d", len(list.names), list.most)
		}
		for _, name := range list.names {
			if problems := validation.IsQualifiedName(name); len(problems) > 0 {
				return list.field, fmt.Errorf("%q: %s", name, problems[0])
			}
			if seen[name] {
				return list.field, fmt.Errorf("%q is there twice", name)
			}
			seen[name] = true
		}
	}
	return "", nil
}

// nameProblem says what is wrong with the name of an attribute or capacity.
func (c *checker) nameProblem(name string) (problem string) {
	domain, id, ok := strings.Cut(name, "/")
	if !ok {
		id = name
	} else if !c.domains[domain] {
		if len(domain) > resourceapi.DeviceMaxDomainLength || len(validation.IsDNS1123Subdomain(domain)) > 0 {
			return "the part before the slash is not a domain"
		}
		c.domains[domain] = true
	}
	if len(id) > resourceapi.DeviceMaxIDLength || !isIdentifier(id) {
		return "the name is not an identifier of at most 32 characters"
	}
	return ""
}

// attribute counts the values, and says what is wrong.
func (c *checker) attribute(name string, a resourceapi.DeviceAttribute) (values int, problem string) {
	if problem := c.nameProblem(name); problem != "" {
		return 0, problem
	}
	kinds := 0
	for _, set := range [...]bool{a.StringValue != nil, a.IntValue != nil, a.BoolValue != nil, a.VersionValue != nil,
		a.StringValues != nil, a.IntValues != nil, a.BoolValues != nil, a.VersionValues != nil} {
		if set {
			kinds++
		}
	}
	if kinds != 1 {
		return 0, "it must have one value, and one type"
	}
	if a.StringValue != nil && len(*a.StringValue) > resourceapi.DeviceAttributeMaxValueLength {
		return 0, fmt.Sprintf("%s has more than %d bytes", quoted(*a.StringValue), resourceapi.DeviceAttributeMaxValueLength)
	}
	if v := a.VersionValue; v != nil && (len(*v) > resourceapi.DeviceAttributeMaxValueLength || !isSemver(*v)) {
		return 0, fmt.Sprintf("%s is not a semantic version of at most %d bytes", quoted(*v), resourceapi.DeviceAttributeMaxValueLength)
	}
	if !isList(&a) {
		return 1, ""
	}
	values = len(a.StringValues) + len(a.IntValues) + len(a.BoolValues) + len(a.VersionValues)
	if values == 0 {
		return 0, "the list is empty"
	}
	return values, ""
}

// checkPolicy holds a request policy to its capacity. Policies of this package
// are whole numbers.
func checkPolicy(shared bool, c *resourceapi.DeviceCapacity) error {
	policy := c.RequestPolicy
	if !shared {
		return fmt.Errorf("the device must allow multiple allocations")
	}
	within := func(q *resource.Quantity) bool { return q == nil || q.Sign() >= 0 && q.Cmp(c.Value) <= 0 }
	if !within(policy.Default) {
		return fmt.Errorf("the default %s is not within the capacity %s", policy.Default, &c.Value)
	}
	if len(policy.ValidValues) > policyMaxValues {
		return fmt.Errorf("%d valid values are more than %d", len(policy.ValidValues), policyMaxValues)
	}
	for _, value := range policy.ValidValues {
		if !within(&value) {
			return fmt.Errorf("the valid value %s is not within the capacity %s", &value, &c.Value)
		}
	}
	if r := policy.ValidRange; r != nil {
		if policy.Default == nil || r.Min == nil || policy.Default.Cmp(*r.Min) < 0 || !within(r.Min) || !within(r.Max) {
			return fmt.Errorf("the range must have a minimum and a default that is not less, all within the capacity %s", &c.Value)
		}
		if r.Step != nil {
			least := r.Min.DeepCopy()
			least.Add(*r.Step)
			if r.Step.Sign() <= 0 || least.Cmp(c.Value) > 0 || (policy.Default.Value()-r.Min.Value())%r.Step.Value() != 0 ||
				r.Max != nil && (r.Max.Value()-r.Min.Value())%r.Step.Value() != 0 {
				return fmt.Errorf("the step %s does not lead from the minimum to the default within the capacity %s", r.Step, &c.Value)
			}
		}
	}
	return nil
}

// isSemver is semver.org's grammar.
func isSemver(s string) bool {
	s, build, hasBuild := strings.Cut(s, "+")
	s, pre, hasPre := strings.Cut(s, "-")
	for i := range 3 {
		n, rest, more := strings.Cut(s, ".")
		if !isNumber(n) || len(n) > 1 && n[0] == '0' || more != (i < 2) {
			return false
		}
		s = rest
	}
	return (!hasBuild || areIdentifiers(build, true)) && (!hasPre || areIdentifiers(pre, false))
}

func areIdentifiers(s string, zeros bool) bool {
	for part := range strings.SplitSeq(s, ".") {
		if part == "" || !zeros && isNumber(part) && len(part) > 1 && part[0] == '0' {
			return false
		}
		for i := range len(part) {
			if c := part[i]; (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' {
				return false
			}
		}
	}
	return true
}

func isNumber(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

func sorted[K cmp.Ordered, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
