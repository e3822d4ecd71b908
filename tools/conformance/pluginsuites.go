package main

import "slices"

// noNodeAllocatable is why our plugin is not held to that feature.
const noNodeAllocatable = "DrayDynamicResources does not start while DRANodeAllocatableResources is on: the scheduler reads that feature's state from DynamicResources, by name and type"

// noFilterTimeout is why our allocator does not run into a time limit.
const noFilterTimeout = "expects that the search for 21 devices among 20 takes longer than 10 ms: Dray sees at once that there is one too few"

var inTree = suitePackage{copied: pluginPackage, upstream: pluginPackage}

// pluginSuites are all suites about the plugin, in the order in which they run.
var pluginSuites = []pluginSuite{
	{
		name: "allocator-in-tree", subject: "Dray's allocator", mark: overrideMark,
		plan: planPlugin, pkg: inTree,
		want: 713, mayExcept: 3,
		exceptions: except("asserts by the name of its type which of upstream's own allocators is chosen",
			"drayAllocator", "TestAllocatorSelection"),
	},
	{
		// Most workloads run once for every allocator of upstream's, which makes no
		// difference to the override but for the feature gates that go with it.
		name: "allocator-in-tree-workloads", subject: "Dray's allocator", mark: overrideMark,
		plan: planPlugin,
		want: 27,
	},
	{
		name: "testplugin", subject: "DrayDynamicResources", mark: pluginMark,
		plan: planCopies, pkg: suitePackage{copied: "./" + pluginCopy, upstream: pluginPackage}, run: "^TestPlugin$",
		want: 94, depth: 2, mayExcept: 11,
		exceptions: except(noNodeAllocatable, "the feature gate DRANodeAllocatableResources is on",
			"TestPlugin/node-allocatable-direct-mapped-sharing-rejected",
			"TestPlugin/node-allocatable-mapping-and-overhead-in-same-device",
			"TestPlugin/node-allocatable-mapping-and-overhead-sharing-rejected",
			"TestPlugin/node-allocatable-overhead-only-sharing-allowed",
			"TestPlugin/node-allocatable-resource-capacitykey",
			"TestPlugin/node-allocatable-resource-capacitykey-and-multiplier",
			"TestPlugin/node-allocatable-resource-insufficient-resources-with-multiplier",
			"TestPlugin/node-allocatable-resource-insufficient-with-capacityKey",
			"TestPlugin/node-allocatable-resource-multiplier",
			"TestPlugin/node-allocatable-unreferenced-claim-direct-mapped",
			"TestPlugin/node-allocatable-unreferenced-claim-overhead",
		),
	},
	{
		name: "plugin-tests", subject: "DrayDynamicResources", mark: pluginMark,
		plan: planCopies, pkg: suitePackage{copied: "./" + pluginCopy, upstream: pluginPackage}, run: portedPattern(),
		want: 63, mayExcept: 1,
		exceptions: except("its pod asks for no extended resources, so no cycle comes across the claim: the test writes it into upstream's state",
			"An error is expected but got nil", "TestPodGroupPostFilter/delete-pod-level-extended-claim"),
	},
	{
		name: "integration-default", subject: "DrayDynamicResources", mark: pluginMark,
		plan: planCopies, pkg: integrationPackage("default"), servers: true,
		want: 12, mayExcept: 1,
		exceptions: except(noFilterTimeout, "cannot allocate all claims", "TestDRA/default/FilterTimeout/enabled"),
		timed:      []string{"TestDRA/default/EvictClusterWithSlices", "TestDRA/default/EvictClusterWithV1Rule"},
	},
	{
		name: "integration-all", subject: "DrayDynamicResources", mark: pluginMark,
		plan: planCopies, pkg: integrationPackage("all"), servers: true,
		want: 73, mayExcept: 14,
		exceptions: slices.Concat(
			except(noFilterTimeout, "cannot allocate all claims", "TestDRA/all/FilterTimeout/enabled"),
			except(noNodeAllocatable+"; the gate is off in the copy", "pod node allocatable resource claim status",
				"TestDRA/all/DRANodeAllocatableResources/ClaimTemplateBasedAllocation",
				"TestDRA/all/DRANodeAllocatableResources/ConsumablePool",
				"TestDRA/all/DRANodeAllocatableResources/IndividualDevices",
				"TestDRA/all/DRANodeAllocatableResources/OverheadMappingsBoth",
				"TestDRA/all/DRANodeAllocatableResources/OverheadMappingsPerContainer",
				"TestDRA/all/DRANodeAllocatableResources/OverheadMappingsPerPod",
				"TestDRA/all/DRANodeAllocatableResources/UnreferencedClaimInPod",
			),
			except(noNodeAllocatable+"; the gate is off in the copy", "expected pod to be unschedulable because",
				"TestDRA/all/DRANodeAllocatableResources/ClaimSharing",
				"TestDRA/all/DRANodeAllocatableResources/InsufficientNodeResources/ExceedNodeCapacityWithCapacityKey",
				"TestDRA/all/DRANodeAllocatableResources/InsufficientNodeResources/ExceedNodeResourceCapacityMultiplier",
				"TestDRA/all/DRANodeAllocatableResources/InsufficientNodeResources/StandardPodFailsDueToInsufficientResourcesAfterDRAConsumption",
				"TestDRA/all/DRANodeAllocatableResources/OverheadMappingsInsufficient",
				"TestDRA/all/DRANodeAllocatableResources/PodLevelResourceValidation/InsufficientPodLevelRequest",
			),
		),
		timed: []string{
			"TestDRA/all/EvictClusterWithSlices", "TestDRA/all/EvictClusterWithV1Rule",
			"TestDRA/all/EvictClusterWithV1alpha3Rule", "TestDRA/all/EvictClusterWithV1beta2Rule",
		},
	},
}

// portedTests are the other tests of upstream's plugin that run on ours.
var portedTests = []string{
	"TestPostFilterNoOpStatusHasNoUserVisibleReason",
	"TestIsSchedulableAfterClaimChange",
	"TestIsSchedulableAfterTargetPodUpdate",
	"TestNormalizeScore",
	"TestDynamicResources_DeferredResizeSkipped",
	"TestPreQueueingHint",
	"TestPreQueueingHint_WithPodInIndexer",
	"TestPreQueueingHint_SharedClaimMultiplePods",
	"TestPreQueueingHint_PodNotYetIndexed",
	"TestPreQueueingHint_DeleteEventWithPodInIndexer",
	"TestPodGroupPostFilter",
	"Test_createRequestsAndMappings_requests",
	"Test_createRequestsAndMappings_mappings",
}

// leftOut are those that do not, and why.
var leftOut = []struct {
	reason string
	tests  []string
}{
	{"they write what another pod has reserved into the state of the group's cycle, and read the pod's: both are upstream's own types", []string{
		"TestPreFilterReusesPendingAllocationWithNilNodeSelector",
		"TestFilterReusesPendingAllocationRequiresDRAOptionalNodeOperations",
	}},
	{"they call functions of upstream's plugin that are no extension point", []string{
		"TestAllocatorSelection",
		"Test_allocationResultRequiresDRAOptionalNodeOperations",
		"Test_computesScore",
	}},
	{"they are about the manager of claims, which our plugin does not replace", []string{
		"TestGatherAllocatedState",
		"TestSignalClaimPendingAllocation",
		"TestGetPendingAllocation",
		"TestMaybeRemoveClaimPendingAllocation",
	}},
	{noNodeAllocatable, []string{
		"TestValidateNodeAllocatableDRAClaimSharing",
		"TestBuildNodeAllocatableDRAInfo",
		"TestPatchNodeAllocatableResourceClaimStatus",
		"TestClearNodeAllocatableResourceClaimStatus",
		"TestNodeFitsNativeResources",
		"TestValidatePodLevelResourcesCoverDRA",
		"TestFilterSlicesForNode",
	}},
}
