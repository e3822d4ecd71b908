package driver

import (
	"slices"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/resourceslice"
)

// reserve takes out of a pool what partitions of an administrator have: the counters
// that such a partition would consume if a claim had it are gone, and with them every
// device that needs more than is left. So the scheduler cannot give out what cannot be
// made. Slices of the pool are replaced, never changed: they are shared.
func reserve(foreign []string, pool *resourceslice.Pool) {
	taken := map[string]map[string]resourceapi.Counter{} // by counter set and counter
	gone := map[string]bool{}
	for _, slice := range pool.Slices {
		for i := range slice.Devices {
			device := &slice.Devices[i]
			if !slices.Contains(foreign, device.Name) {
				continue
			}
			gone[device.Name] = true
			for _, consumption := range device.ConsumesCounters {
				set := taken[consumption.CounterSet]
				if set == nil {
					set = map[string]resourceapi.Counter{}
					taken[consumption.CounterSet] = set
				}
				for name, counter := range consumption.Counters {
					sum := set[name].Value.DeepCopy()
					sum.Add(counter.Value)
					set[name] = resourceapi.Counter{Value: sum}
				}
			}
		}
	}
	if len(gone) == 0 {
		return
	}
	left := map[string]map[string]resourceapi.Counter{}
	replaced := make([]resourceslice.Slice, 0, len(pool.Slices))
	for _, slice := range pool.Slices {
		sets := make([]resourceapi.CounterSet, 0, len(slice.SharedCounters))
		for _, set := range slice.SharedCounters {
			sets = append(sets, *lessen(&set, taken[set.Name]))
			left[set.Name] = sets[len(sets)-1].Counters
		}
		if slice.SharedCounters != nil {
			slice.SharedCounters = sets
		}
		replaced = append(replaced, slice)
	}
	for i := range replaced {
		var kept []resourceapi.Device
		for _, device := range replaced[i].Devices {
			if !gone[device.Name] && fits(&device, left) {
				kept = append(kept, device)
			}
		}
		replaced[i].Devices = kept
	}
	pool.Slices = replaced
}

func lessen(set *resourceapi.CounterSet, taken map[string]resourceapi.Counter) *resourceapi.CounterSet {
	if len(taken) == 0 {
		return set
	}
	lessened := set.DeepCopy()
	for name, counter := range lessened.Counters {
		if gone, ok := taken[name]; ok {
			counter.Value.Sub(gone.Value)
			lessened.Counters[name] = counter
		}
	}
	return lessened
}

func fits(device *resourceapi.Device, left map[string]map[string]resourceapi.Counter) bool {
	for _, consumption := range device.ConsumesCounters {
		for name, counter := range consumption.Counters {
			if have, ok := left[consumption.CounterSet][name]; ok && counter.Value.Cmp(have.Value) > 0 {
				return false
			}
		}
	}
	return true
}
