package examples

import (
	"slices"
	"sync"
)

// Together calls run for each example, several at a time and no more than atOnce, and
// returns when all have been run.
//
// READMEs show which devices pods get, so examples that ask for a machine by name have
// its nodes for themselves: they run one after the other, in their order, and when those
// are done whose pods can go anywhere. Those run together, the longest first, on devices
// of which there are enough for all.
func Together(all []Example, atOnce int, run func(i int)) {
	slots := make(chan struct{}, atOnce)
	var anywhere sync.WaitGroup
	var order []int
	for i, example := range all {
		if len(example.Machines) == 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return len(all[b].Steps) - len(all[a].Steps) })
	for _, i := range order {
		slots <- struct{}{}
		anywhere.Go(func() {
			defer func() { <-slots }()
			run(i)
		})
	}
	// An example waits for those before it that have a machine in common with it.
	var named sync.WaitGroup
	last := map[string]chan struct{}{}
	for i, example := range all {
		if len(example.Machines) == 0 {
			continue
		}
		var before []chan struct{}
		done := make(chan struct{})
		for _, machine := range example.Machines {
			if last[machine] != nil {
				before = append(before, last[machine])
			}
			last[machine] = done
		}
		named.Go(func() {
			defer close(done)
			anywhere.Wait()
			for _, other := range before {
				<-other
			}
			slots <- struct{}{}
			defer func() { <-slots }()
			run(i)
		})
	}
	named.Wait()
	anywhere.Wait()
}
