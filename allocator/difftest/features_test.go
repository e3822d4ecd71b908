package difftest

import (
	"k8s.io/dynamic-resource-allocation/structured"

	"github.com/dray-dev/dray/allocator"
)

// These two lines stop compiling when upstream adds, renames or reorders a
// feature that ours does not have.
var (
	_ = allocator.Features(structured.Features{})
	_ = structured.Features(allocator.Features{})
)
