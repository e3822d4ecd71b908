package request

import (
	"errors"
	"fmt"
	"math"
	"slices"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dray-dev/dray/allocator/internal/inventory"
)

// The arithmetic of consumable capacity (KEP-5075): how much of a device's
// capacity one share takes, given what was asked for and the driver's policy.
// Quantities are rounded with upstream's own steps, because the result is
// written into the claim's status: value and format have to be the same.

var (
	errNotRepresentable = errors.New("capacity request cannot be represented in the device's range arithmetic")
	errNegative         = errors.New("capacity value is negative")
	errPolicy           = errors.New("request policy cannot be applied")
)

// consumption is what a share takes of each capacity of one device, by name.
type consumption struct {
	names      []resourceapi.QualifiedName
	quantities []resource.Quantity
	// wanted is scratch for what is asked for.
	wanted resource.Quantity
}

// consume works out a share of a device. ok is false where the device cannot
// serve the request, however empty it is, by its policy or because it lacks a
// capacity that is asked for. An error means that the amount cannot be computed
// for any device of this shape: scheduling has to stop.
func consume(device *resourceapi.Device, asked *resourceapi.CapacityRequirements, fractional bool) (c consumption, ok bool, err error) {
	ok, err = c.work(device, asked, fractional)
	if !ok || err != nil {
		return consumption{}, ok, err
	}
	return c, ok, err
}

// work is consume in the memory of c, in which there is nothing to be read where
// ok is false.
func (c *consumption) work(device *resourceapi.Device, asked *resourceapi.CapacityRequirements, fractional bool) (ok bool, err error) {
	if asked != nil {
		for name := range asked.Requests {
			if _, found := device.Capacity[name]; !found {
				return false, nil
			}
		}
	}
	c.names = slices.Grow(c.names[:0], len(device.Capacity))
	for name := range device.Capacity {
		c.names = append(c.names, name)
	}
	slices.Sort(c.names)
	c.quantities = resized(c.quantities, len(c.names))
	for i, name := range c.names {
		capacity := device.Capacity[name]
		var wanted *resource.Quantity
		if asked != nil {
			if q, found := asked.Requests[name]; found {
				c.wanted, wanted = q, &c.wanted
			}
		}
		var quantity resource.Quantity
		err := checkExponents(capacity.RequestPolicy, wanted)
		if err == nil {
			quantity, err = share(capacity, wanted, fractional)
		}
		if err == nil && quantity.Sign() < 0 {
			err = errNegative
		}
		if err != nil {
			return false, fmt.Errorf("capacity %q: %w", name, err)
		}
		c.quantities[i] = quantity
	}
	for i, name := range c.names {
		violated, err := violates(c.quantities[i], device.Capacity[name].RequestPolicy, fractional)
		if err != nil {
			return false, fmt.Errorf("capacity %q: %w", name, err)
		}
		if violated {
			return false, nil
		}
	}
	return true, nil
}

// checkExponents refuses quantities that the arithmetic below must not see.
func checkExponents(policy *resourceapi.CapacityRequestPolicy, asked *resource.Quantity) error {
	if policy == nil {
		return nil // Then there is no arithmetic.
	}
	quantities := [5]*resource.Quantity{asked, policy.Default}
	if r := policy.ValidRange; r != nil {
		quantities[2], quantities[3], quantities[4] = r.Min, r.Max, r.Step
	}
	for _, quantity := range quantities {
		if quantity == nil {
			continue
		}
		if err := inventory.CheckExponent(*quantity); err != nil {
			return err
		}
	}
	for _, quantity := range policy.ValidValues {
		if err := inventory.CheckExponent(quantity); err != nil {
			return err
		}
	}
	return nil
}

func request(asked *resourceapi.CapacityRequirements, name resourceapi.QualifiedName) *resource.Quantity {
	if asked == nil {
		return nil
	}
	if quantity, found := asked.Requests[name]; found {
		return &quantity
	}
	return nil
}

// share is what is taken of one capacity: without a request the policy's
// default or all of it, otherwise the request rounded up by the policy.
func share(capacity resourceapi.DeviceCapacity, asked *resource.Quantity, fractional bool) (resource.Quantity, error) {
	policy := capacity.RequestPolicy
	switch {
	case asked == nil && policy != nil && policy.Default != nil:
		return policy.Default.DeepCopy(), nil
	case asked == nil:
		return capacity.Value.DeepCopy(), nil
	case policy == nil:
		return asked.DeepCopy(), nil
	case policy.ValidRange != nil && policy.ValidRange.Min != nil:
		return roundUp(asked, policy.ValidRange, fractional)
	case policy.ValidValues != nil:
		for _, valid := range policy.ValidValues {
			if asked.Cmp(valid) <= 0 {
				return valid.DeepCopy(), nil
			}
		}
	}
	return *asked, nil
}

// roundUp returns the smallest min + n×step that is at least the request.
func roundUp(asked *resource.Quantity, r *resourceapi.CapacityRequestPolicyRange, fractional bool) (resource.Quantity, error) {
	if asked.Cmp(*r.Min) < 0 {
		return r.Min.DeepCopy(), nil
	}
	if r.Step == nil {
		return *asked, nil
	}
	if inMilli(r, fractional) {
		milli, ok := exactMilli(*asked)
		if !ok {
			return resource.Quantity{}, fmt.Errorf("%w: request %s is not a representable milli value", errNotRepresentable, asked.String())
		}
		rounded, ok := nextStep(milli, r.Min.MilliValue(), r.Step.MilliValue())
		if !ok {
			return resource.Quantity{}, fmt.Errorf("%w: rounding request %s up to the next step passes the milli-value range", errNotRepresentable, asked.String())
		}
		if rounded%1000 == 0 {
			return *resource.NewQuantity(rounded/1000, r.Step.Format), nil
		}
		return *resource.NewMilliQuantity(rounded, r.Step.Format), nil
	}
	if asked.CmpInt64(math.MaxInt64) > 0 {
		return resource.Quantity{}, fmt.Errorf("%w: request %s exceeds MaxInt64", errNotRepresentable, asked.String())
	}
	if r.Step.Value() == 0 {
		return resource.Quantity{}, fmt.Errorf("%w: step is zero", errPolicy)
	}
	rounded, ok := nextStep(asked.Value(), r.Min.Value(), r.Step.Value())
	if !ok {
		return resource.Quantity{}, fmt.Errorf("%w: rounding request %s up to the next step passes MaxInt64", errNotRepresentable, asked.String())
	}
	return *resource.NewQuantity(rounded, r.Step.Format), nil
}

// nextStep returns from + n×step, the first that is not below value. It fails
// where that passes the largest int64; a negative from is outside the API's
// contract and is not checked for that.
func nextStep(value, from, step int64) (int64, bool) {
	distance := value - from
	n := distance / step
	if distance%step != 0 {
		n++
	}
	if from >= 0 && n > (math.MaxInt64-from)/step {
		return 0, false
	}
	return from + step*n, true
}

// violates says whether the policy forbids the amount.
func violates(amount resource.Quantity, policy *resourceapi.CapacityRequestPolicy, fractional bool) (bool, error) {
	if policy == nil {
		return false, nil
	}
	// The default is always fine. As upstream has it, it is recognised by its
	// representation: 1 is not 1000m here.
	if policy.Default != nil && amount == *policy.Default {
		return false, nil
	}
	switch {
	case policy.ValidRange != nil:
		return outside(amount, policy.ValidRange, fractional)
	case len(policy.ValidValues) > 0:
		return !slices.ContainsFunc(policy.ValidValues, func(valid resource.Quantity) bool { return amount.Cmp(valid) == 0 }), nil
	}
	return false, nil
}

func outside(amount resource.Quantity, r *resourceapi.CapacityRequestPolicyRange, fractional bool) (bool, error) {
	if r.Max != nil && amount.Cmp(*r.Max) > 0 {
		return true, nil
	}
	if r.Step == nil {
		return false, nil
	}
	if r.Min == nil {
		return false, fmt.Errorf("%w: validRange has a step and no min", errPolicy)
	}
	value, from, step := amount.Value(), r.Min.Value(), r.Step.Value()
	if inMilli(r, fractional) {
		milli, ok := exactMilli(amount)
		if !ok {
			return true, nil
		}
		value, from, step = milli, r.Min.MilliValue(), r.Step.MilliValue()
	}
	if step == 0 {
		return false, fmt.Errorf("%w: step is zero", errPolicy)
	}
	return (value-from)%step != 0, nil
}

// inMilli says whether a range is computed in thousandths: the feature is on
// and every bound is a whole number of them, the step at least one.
func inMilli(r *resourceapi.CapacityRequestPolicyRange, fractional bool) bool {
	if !fractional {
		return false
	}
	for _, bound := range []*resource.Quantity{r.Min, r.Max, r.Step} {
		if bound == nil {
			continue
		}
		if _, ok := exactMilli(*bound); !ok {
			return false
		}
	}
	return r.Step == nil || r.Step.MilliValue() >= 1
}

// exactMilli returns a quantity in thousandths if nothing is lost.
func exactMilli(q resource.Quantity) (int64, bool) {
	milli := q.MilliValue()
	return milli, q.Cmp(*resource.NewMilliQuantity(milli, q.Format)) == 0
}
