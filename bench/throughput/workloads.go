package throughput

import "fmt"

// Workload is one that is measured.
type Workload struct {
	Name  string // burst/nodes=500
	Title string // in words
	// Of scheduler_perf, in the test case named testCase.
	upstream string
	// withoutClaims makes the same pods without their claims.
	withoutClaims bool
	// params replace those of upstream's that they name.
	params map[string]any
}

// testCase is that of scheduler_perf in which every pod has a claim of its own from a
// template, and every node ten devices.
const testCase = "SchedulingWithResourceClaimTemplate"

// Workloads lists what is measured, or with quick what shows that it works.
func Workloads(quick bool) []Workload {
	if quick {
		// A second is the least that scheduler_perf can measure.
		params := map[string]any{"nodesWithDRA": 50, "measurePods": 500}
		return []Workload{
			{Name: "burst/nodes=50", Title: "500 pods at once", upstream: "fast", params: params},
			{Name: "bare/nodes=50", Title: "500 pods without claims at once", upstream: "fast", withoutClaims: true, params: params},
			{Name: "match/nodes=50", Title: "100 pods at once, with five devices on one PCIe root", upstream: "match_fast", params: map[string]any{"nodesWithDRA": 50, "measurePods": 100}},
		}
	}
	all := []Workload{
		{Name: "burst/nodes=500", Title: "2,500 pods at once, half of 5,000 devices in use", upstream: "5000pods_500nodes"},
		{Name: "bare/nodes=500", Title: "the same 2,500 pods without claims: the most that there can be", upstream: "5000pods_500nodes", withoutClaims: true},
	}
	for _, use := range []string{"empty", "half", "full"} {
		all = append(all, Workload{Name: "steady/nodes=500/use=" + use, Title: "a pod for each that is placed, for 10 s; devices in use: " + use, upstream: fmt.Sprintf("%s_500nodes", use)})
	}
	return append(all,
		Workload{Name: "selector/nodes=500", Title: "the same, with a selector that every device matches", upstream: "selector_empty_500nodes"},
		Workload{Name: "match/nodes=500", Title: "the same, five devices on one PCIe root", upstream: "match_empty_500nodes"},
	)
}
