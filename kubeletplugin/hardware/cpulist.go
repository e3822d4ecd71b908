package hardware

import (
	"fmt"
	"strconv"
	"strings"
)

// MaxCPUs bounds the numbers of CPUs that a list may name; Linux has no
// configuration with more.
const MaxCPUs = 1 << 16

// CPURange is the CPUs from First to Last.
type CPURange struct{ First, Last int }

// ParseCPUList reads the form in which sysfs prints sets of CPUs: "0-55,112-167",
// ascending. The empty list has no ranges.
func ParseCPUList(list string) ([]CPURange, error) {
	if list == "" {
		return nil, nil
	}
	var ranges []CPURange
	for part := range strings.SplitSeq(list, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, err := strconv.ParseUint(first, 10, 16)
		to, errTo := strconv.ParseUint(last, 10, 16)
		if err != nil || errTo != nil {
			return nil, fmt.Errorf("%q in CPU list %q must be a number below %d, or two with a dash", part, list, MaxCPUs)
		}
		if to < from || len(ranges) > 0 && int(from) <= ranges[len(ranges)-1].Last {
			return nil, fmt.Errorf("CPU list %q does not ascend at %q", list, part)
		}
		ranges = append(ranges, CPURange{int(from), int(to)})
	}
	return ranges, nil
}
