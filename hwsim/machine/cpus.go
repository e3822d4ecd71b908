package machine

import (
	"fmt"
	"strconv"
	"strings"
)

// maxCPUs bounds the numbers of CPUs: Linux is built for 8192 at most.
const maxCPUs = 8192

// cpuSet is which NUMA node has which CPU, by position of the node from 1; 0 is none.
type cpuSet [maxCPUs]uint16

// add takes up a list as Linux writes it, "0-55,112-167", for the node at a
// position. Empty is a list.
func (s *cpuSet) add(list string, node int) error {
	if list == "" {
		return nil
	}
	next := 0
	for part := range strings.SplitSeq(list, ",") {
		first, last, isRange := strings.Cut(part, "-")
		low, err := cpuNumber(first)
		high := low
		if err == nil && isRange {
			high, err = cpuNumber(last)
		}
		if err != nil || low > high || isRange && low == high || low < next {
			return fmt.Errorf("%q is not a CPU list: it must look like 0-55,112-167, in growing order", list)
		}
		next = high + 1
		for cpu := low; cpu <= high; cpu++ {
			if s[cpu] != 0 {
				return fmt.Errorf("CPU %d is also in another NUMA node's list", cpu)
			}
			s[cpu] = uint16(node + 1)
		}
	}
	return nil
}

func cpuNumber(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return 0, err
	}
	if n >= maxCPUs || strconv.FormatUint(n, 10) != text {
		return 0, strconv.ErrRange
	}
	return int(n), nil
}
