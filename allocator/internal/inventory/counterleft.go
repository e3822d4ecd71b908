package inventory

import (
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// CounterLeft returns what PoolUsage.Left has for a counter of the pool, as a
// quantity to be read: in the format that the driver published.
func (u *Usage) CounterLeft(p *Pool, counter int) resource.Quantity {
	m := p.members
	allocated := u.counters(m).allocated
	set, name := m.Sets[m.SetOf(counter)].Name, m.Names[counter]
	left := m.published(set, name)
	member := 0
	for _, s := range m.slices {
		for i := range s.API.Spec.Devices {
			if allocated.Has(member) {
				for _, amount := range drawnAmounts(&s.API.Spec.Devices[i], set, name) {
					left.Sub(amount)
				}
			}
			member++
		}
	}
	return left
}

// published is what a counter holds while nothing is allocated.
func (m *members) published(set, counter string) resource.Quantity {
	for _, s := range m.defining {
		for i := range s.API.Spec.SharedCounters {
			if s.API.Spec.SharedCounters[i].Name == set {
				value := s.API.Spec.SharedCounters[i].Counters[counter].Value
				return value.DeepCopy()
			}
		}
	}
	return resource.Quantity{}
}

// Draws returns what a device draws from a counter of the pool; zero where it
// draws nothing.
func (p *Pool) Draws(device, counter int) resource.Quantity {
	var sum resource.Quantity
	for i, amount := range drawnAmounts(p.At(device), p.members.Sets[p.members.SetOf(counter)].Name, p.members.Names[counter]) {
		if i == 0 {
			sum = amount.DeepCopy()
			continue
		}
		sum.Add(amount)
	}
	return sum
}

func drawnAmounts(device *resourceapi.Device, set, counter string) []resource.Quantity {
	var amounts []resource.Quantity
	for i := range device.ConsumesCounters {
		if device.ConsumesCounters[i].CounterSet != set {
			continue
		}
		if drawn, found := device.ConsumesCounters[i].Counters[counter]; found {
			amounts = append(amounts, drawn.Value)
		}
	}
	return amounts
}
