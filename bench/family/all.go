package family

// All returns the families in the order of reports: searches first.
func All() []*Family {
	return append(append(searches(), surroundings()...), daily()...)
}

// Named returns the family of that name, or nil.
func Named(name string) *Family {
	for _, f := range All() {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// searches are hard, or would be for a search that only backtracks. The first
// of the timed sizes is one that such a search ends in well under a second, the
// last one is not.
func searches() []*Family {
	return []*Family{
		{
			Name: "F1", Title: "one device too few", Op: Allocate, Build: oneTooMany,
			Test: []Size{size("m", 1), size("m", 8)}, Gate: size("m", 10),
			Bench: []Size{size("m", 12), size("m", 24)},
		}, {
			Name: "F2", Title: "one request too many", Op: Allocate, Build: oneRequestTooMany,
			Test: []Size{size("m", 1), size("m", 4), size("m", 5)}, Gate: size("m", 5),
			Bench: []Size{size("m", 6), size("m", 10)},
		}, {
			Name: "F3", Title: "a kind the node lacks", Op: Allocate, Build: missingKind,
			Test: []Size{size("n", 8, "c", 3), size("n", 16, "c", 2)}, Gate: size("n", 12, "c", 4),
			Bench: []Size{size("n", 16, "c", 4), size("n", 32, "c", 8)},
		}, {
			Name: "F4", Title: "no group large enough", Op: Allocate, Build: noGroupLargeEnough,
			Test: []Size{size("n", 10, "s", 4), size("n", 12, "s", 6)}, Gate: size("n", 18, "s", 6),
			Bench: []Size{size("n", 32, "s", 8), size("n", 64, "s", 16)},
		}, {
			Name: "F5", Title: "one value too few", Op: Allocate, Build: oneValueTooFew,
			Test: []Size{size("n", 8, "v", 3), size("n", 11, "v", 4)}, Gate: size("n", 12, "v", 4),
			Bench: []Size{size("n", 16, "v", 4), size("n", 48, "v", 8)},
		}, {
			Name: "F6", Title: "a kind the node lacks, last claim", Op: Allocate, Build: missingKindInLastClaim,
			Test: []Size{size("n", 4, "m", 1), size("n", 8, "m", 2)}, Gate: size("n", 8, "m", 3),
			Bench: []Size{size("n", 32, "m", 2), size("n", 32, "m", 4)},
		}, {
			Name: "F7", Title: "alternatives, all in vain", Op: Allocate, Build: hopelessAlternatives,
			Test: []Size{size("k", 1)}, Gate: size("k", 2),
			Bench: []Size{size("k", 2), size("k", 5)},
		}, {
			Name: "F8", Title: "one partition too many", Op: Allocate, Build: onePartitionTooMany,
			Test: []Size{size("g", 1)}, Gate: size("g", 1),
			Bench: []Size{size("g", 1), size("g", 4)},
		}, {
			Name: "F9", Title: "mixed partitions, exact fit", Op: Allocate, Build: mixedPartitions,
			Test: []Size{size("g", 2)}, Gate: size("g", 2),
			Bench: []Size{size("g", 2), size("g", 8)},
		}, {
			Name: "F10", Title: "set packing", Op: Allocate, Build: setPacking,
			Test: []Size{size("n", 10, "k", 4), size("n", 16, "k", 8)}, Gate: size("n", 16, "k", 8),
			Bench: []Size{size("n", 20, "k", 8), size("n", 32, "k", 8)},
		}, {
			Name: "F11", Title: "distinct in two attributes", Op: Allocate, Build: noTransversal,
			Test: []Size{size("v", 2), size("v", 4)}, Gate: size("v", 4),
			Bench: []Size{size("v", 5), size("v", 9)},
		}, {
			Name: "F12", Title: "one share too many", Op: Allocate, Build: oneShareTooMany,
			Test: []Size{size("d", 2, "cap", 2, "demand", 1), size("d", 3, "cap", 3, "demand", 2)}, Gate: size("d", 3, "cap", 2, "demand", 1),
			Bench: []Size{size("d", 3, "cap", 3, "demand", 1), size("d", 4, "cap", 4, "demand", 1), size("d", 10, "cap", 3, "demand", 2)},
		}, {
			Name: "F12u", Title: "unequal shares, one device too few", Op: Allocate, Build: unequalShares,
			Test: []Size{size("k", 2)}, Gate: size("k", 2),
			Bench: []Size{size("k", 3), size("k", 6)},
		}, {
			Name: "F13", Title: "lists without a common value", Op: Allocate, Build: noCommonValue,
			Test: []Size{size("n", 8, "v", 4)}, Gate: size("n", 8, "v", 4),
			Bench: []Size{size("n", 12, "v", 4), size("n", 24, "v", 4)},
		}, {
			Name: "F14", Title: "compatibility groups", Op: Allocate, Build: noCommonGroup,
			Test: []Size{size("g", 1, "h", 4), size("g", 2, "h", 2)}, Gate: size("g", 2, "h", 3),
			Bench: []Size{size("g", 1, "h", 7), size("g", 2, "h", 10)},
		}, {
			Name: "F15", Title: "alternatives near the result limit", Op: Allocate, Build: overflow,
			Test: []Size{size("n", 3, "c", 1)}, Gate: size("n", 4, "c", 1),
			Bench: []Size{size("n", 12, "c", 1), size("n", 24, "c", 4)},
		}, {
			Name: "F16", Title: "fits, but late", Op: Allocate, Build: lateSolution,
			Test: []Size{size("n", 6, "c", 1), size("n", 8, "c", 3)}, Gate: size("n", 12, "c", 4),
			Bench: []Size{size("n", 16, "c", 4), size("n", 32, "c", 8)},
		}, {
			Name: "F16g", Title: "fits, in the last group", Op: Allocate, Build: lateGroup,
			Test: []Size{size("v", 3, "s", 4, "c", 2)}, Gate: size("v", 3, "s", 6, "c", 3),
			Bench: []Size{size("v", 4, "s", 8, "c", 4), size("v", 4, "s", 24, "c", 8)},
		},
	}
}

// surroundings take no search to speak of.
func surroundings() []*Family {
	return []*Family{
		{
			Name: "P2", Title: "first of many local devices", Op: Allocate, Build: firstOfMany,
			Test: []Size{size("n", 10), size("n", 200)}, Gate: size("n", 128),
			Bench: []Size{size("n", 10), size("n", 128), size("n", 1024), size("n", 8192)},
		}, {
			Name: "P3", Title: "no device matches the selector", Op: Allocate, Build: noneMatches,
			Test: []Size{size("n", 10)}, Gate: size("n", 128),
			Bench: []Size{size("n", 10), size("n", 128), size("n", 1024)},
		}, {
			Name: "P4", Title: "pools of other racks", Op: Allocate, Build: selectedPools,
			Test: []Size{size("pools", 10)}, Gate: size("pools", 100),
			Bench: []Size{size("pools", 1000), size("pools", 5000)},
		}, {
			Name: "P5", Title: "last of a cluster-wide pool", Op: Allocate, Build: lastOfCluster,
			Test: []Size{size("n", 200)}, Gate: size("n", 1024),
			Bench: []Size{size("n", 4096), size("n", 32768)},
		}, {
			Name: "P6", Title: "more selectors than are cached", Op: Allocate, Build: manySelectors,
			Test: []Size{size("n", 2, "selectors", 12)}, Gate: size("n", 4, "selectors", 12),
			Bench: []Size{size("n", 8, "selectors", 12)},
		}, {
			Name: "P7", Title: "one pool over all nodes", Op: Allocate, Build: poolOverNodes,
			Test: []Size{size("nodes", 10)}, Gate: size("nodes", 100),
			Bench: []Size{size("nodes", 1000), size("nodes", 5000)},
		}, {
			Name: "P8", Title: "many shares in the cluster", Op: Allocate, Build: manyShares,
			Test: []Size{size("shares", 250)}, Gate: size("shares", 1000),
			Bench: []Size{size("shares", 10000), size("shares", 100000)},
		}, {
			Name: "P9", Title: "all devices", Op: Allocate, Build: everything,
			Test: []Size{size("n", 4), size("n", 32)}, Gate: size("n", 32),
			Bench: []Size{size("n", 32)},
		}, {
			Name: "P9u", Title: "all devices, one in use", Op: Allocate, Build: everythingButOne,
			Test: []Size{size("n", 4)}, Gate: size("n", 32),
			Bench: []Size{size("n", 32)},
		}, {
			Name: "P9i", Title: "all devices, slices missing", Op: Allocate, Build: everythingIncomplete,
			Test: []Size{size("n", 4)}, Gate: size("n", 32),
			Bench: []Size{size("n", 32)},
		},
	}
}

// daily are what a scheduler does all day. Those named after a search repeat it:
// they take too few steps for nodes to be compared, so each time it is searched.
func daily() []*Family {
	return []*Family{
		{
			Name: "warm", Title: "one of a few local devices", Op: Allocate, Build: ordinary,
			Test: []Size{size("n", 8)}, Gate: size("n", 8),
			Bench: []Size{size("n", 8), size("n", 16)},
		}, {
			Name: "again", Title: "the same, as a further node", Op: Repeat, Build: ordinary,
			Test: []Size{size("n", 8)}, Gate: size("n", 8),
			Bench: []Size{size("n", 8), size("n", 16)},
		}, {
			Name: "full", Title: "node that is full", Op: Allocate, Build: full,
			Test: []Size{size("n", 8)}, Gate: size("n", 8),
			Bench: []Size{size("n", 8), size("n", 128)},
		}, {
			Name: "fullagain", Title: "the same, as a further node", Op: Repeat, Build: full,
			Test: []Size{size("n", 8)}, Gate: size("n", 8),
			Bench: []Size{size("n", 8), size("n", 128)},
		}, {
			Name: "F2again", Title: "F2, as a further node", Op: Repeat, Build: oneRequestTooMany,
			Test: []Size{size("m", 4)}, Gate: size("m", 5), Bench: []Size{size("m", 6)},
		}, {
			Name: "F4again", Title: "F4, as a further node", Op: Repeat, Build: noGroupLargeEnough,
			Test: []Size{size("n", 10, "s", 4)}, Gate: size("n", 18, "s", 6), Bench: []Size{size("n", 18, "s", 6)},
		}, {
			Name: "F8again", Title: "F8, as a further node", Op: Repeat, Build: onePartitionTooMany,
			Test: []Size{size("g", 1)}, Gate: size("g", 1), Bench: []Size{size("g", 1)},
		}, {
			Name: "F11again", Title: "F11, as a further node", Op: Repeat, Build: noTransversal,
			Test: []Size{size("v", 4)}, Gate: size("v", 4), Bench: []Size{size("v", 4)},
		}, {
			Name: "pod", Title: "allocator, then every node", Op: Pod, Build: onePod,
			Test: []Size{size("nodes", 3, "n", 4)}, Gate: size("nodes", 20, "n", 8),
			Bench: []Size{size("nodes", 500, "n", 8)},
		}, {
			Name: "podhard", Title: "the same, each node a hard no", Op: Pod, Build: hardOnEveryNode,
			Test: []Size{size("nodes", 2, "v", 4), size("nodes", 3, "v", 6)}, Gate: size("nodes", 20, "v", 6),
			Bench: []Size{size("nodes", 50, "v", 6), size("nodes", 500, "v", 6)},
		}, {
			Name: "change", Title: "one slice of 128 devices changes", Op: Change, Build: oneSliceChanges,
			Test: []Size{size("nodes", 3)}, Gate: size("nodes", 10),
			Bench: []Size{size("nodes", 100), size("nodes", 1000)},
		},
	}
}
