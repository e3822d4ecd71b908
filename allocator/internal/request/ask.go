package request

import (
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// ask is what some alternatives ask of a share.
type ask struct {
	capacity *resourceapi.CapacityRequirements
	// alternatives is the number of those.
	alternatives int
}

// maxCompared bounds how many asks an alternative's is compared with. Beyond it
// equal asks may be counted apart, which only costs time.
const maxCompared = 16

// ask returns the index in asks of what an alternative asks for. Quantities are
// the same if they are represented in the same way, because policies look at that.
func (c *Claims) ask(capacity *resourceapi.CapacityRequirements) int {
	for i := range c.asks[:min(len(c.asks), maxCompared)] {
		if sameRequests(requests(c.asks[i].capacity), requests(capacity)) {
			c.asks[i].alternatives++
			return i
		}
	}
	c.asks = append(c.asks, ask{capacity: capacity, alternatives: 1})
	return len(c.asks) - 1
}

func requests(capacity *resourceapi.CapacityRequirements) map[resourceapi.QualifiedName]resource.Quantity {
	if capacity == nil {
		return nil
	}
	return capacity.Requests
}

// sameRequests tells a list without entries from none, as binder.metered does.
func sameRequests(a, b map[resourceapi.QualifiedName]resource.Quantity) bool {
	if len(a) != len(b) || (a == nil) != (b == nil) {
		return false
	}
	for name, quantity := range a {
		if other, found := b[name]; !found || other != quantity {
			return false
		}
	}
	return true
}
