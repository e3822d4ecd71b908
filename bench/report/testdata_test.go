package report_test

import (
	"fmt"
	"strings"
)

// someResults is a run of five samples: a case that upstream is slower on, one
// that it does not finish, one that takes all the same time, and an inventory.
func someResults() string {
	var b strings.Builder
	b.WriteString("Unit steps/op assume=exact\nUnit limit-sec assume=exact\ncpu: a fast one\ngoos: linux\ngoarch: amd64\nrounds: 6\nlimit: 2s\ndate: 2026-01-02\n\n")
	line := func(name string, ns float64, steps, allocs int) {
		fmt.Fprintf(&b, "Benchmark%s-2 100 %g ns/op 0 B/op %d allocs/op %d steps/op\n", name, ns, allocs, steps)
	}
	for i := range 6 {
		noise := float64(i)
		line("Allocate/family=warm/n=8/impl=dray", 1000+noise, 4, 0)
		line("Allocate/family=warm/n=8/impl=incubating", 20000+10*noise, 4, 150)
		line("Allocate/family=warm/n=8/impl=experimental", 1000+noise, 4, 150)
		line("Allocate/family=F1/m=24/impl=dray", 150000+noise, 1, 3)
		line("Allocate/family=fullagain/n=8/impl=dray", 700+noise, 1, 0)
	}
	b.WriteString("BenchmarkAllocate/family=F1/m=24/impl=incubating-2 1 2 limit-sec\n")
	b.WriteString("BenchmarkInventory/family=inventory/nodes=9/n=8/impl=dray-2 1 250 B/device 2500 slice-B/device\n")
	return b.String()
}
