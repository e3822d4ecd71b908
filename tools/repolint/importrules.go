package repolint

// The import table of the design. A package is named by its directory from the
// root, an import by its path; "x/..." is x and everything below it, and "..."
// alone is everything outside the standard library.

// ModuleRule says which packages of ours a module may import besides its own.
type ModuleRule struct {
	Dir       string
	MayImport []string // directories of ours
	Why       string
}

// Modules lists every module there may be. A new module needs an entry before
// its first code.
var Modules = []ModuleRule{
	{"hwsim", []string{"kubeletplugin/..."},
		"a simulated machine implements the driver's two hardware interfaces and knows nothing of scheduling"},
	{"allocator", nil,
		"the allocator is the pure core that everything else stands on: claims and slices in, results out"},
	{"scheduler", []string{"allocator/..."},
		"scheduler and node meet only in the API object, the allocated claim"},
	{"kubeletplugin", nil,
		"the driver is the same on a real host: it contains no simulator and reads decisions from the claim"},
	{"cli", []string{"allocator/...", "scheduler/...", "hwsim/..."},
		"the command line explains decisions and simulated machines; it does not prepare devices"},
	{"bench", []string{"allocator/...", "scheduler/...", "hwsim/...", "kubeletplugin/publish"},
		"benchmarks drive the deciding half of the project over simulated fleets, which say by publish's options " +
			"what their slices are"},
	{"e2e", []string{"..."},
		"end-to-end tests may use everything"},
	{"tools", nil,
		"the tools check and generate; a tool that links the product could not be run on a broken one"},
}

// ImportRule says that, of the imports that match Of, the packages in From may
// use only those that match Allowed.
type ImportRule struct {
	From    []string
	Except  []string // packages of From that the rule does not concern
	InTests bool     // whether _test.go files obey the rule too
	Of      []string
	Allowed []string
	Why     string
}

// testPackages hold no product code although some of their files are not named
// _test.go.
var testPackages = []string{
	"allocator/allocatortest/...", "allocator/difftest/...", "allocator/metamorphic/...",
	"kubeletplugin/command/commandtest",
}

// ImportRules are the rules below the level of modules.
var ImportRules = []ImportRule{
	{
		From:    []string{"allocator/..."},
		InTests: true,
		Of:      []string{"k8s.io/client-go/...", "k8s.io/kubernetes/..."},
		Why:     "the allocator does no I/O and is tested without a server; callers bring listers and slices",
	},
	{
		From: []string{"allocator/..."},
		Of:   []string{"k8s.io/dynamic-resource-allocation/structured"},
		Why: "only tests compare with upstream's allocator; a patched copy of that package imports ours, " +
			"which would be a cycle (structured/schedulerapi is the part to use)",
	},
	{
		From: []string{"allocator/internal/bitset"},
		Of:   []string{"..."},
		Why:  "the bottom of the hot path is standard library only, so that it is tested and profiled in seconds",
	},
	{
		From:    []string{"allocator/internal/index"},
		Of:      []string{"..."},
		Allowed: []string{ours("allocator/internal/bitset")},
		Why:     "the index is standard library over bitset, so that a Kubernetes version bump never touches it",
	},
	{
		From:    []string{"allocator/internal/search"},
		Of:      []string{"..."},
		Allowed: []string{ours("allocator/internal/bitset"), ours("allocator/internal/index")},
		Why:     "the search is standard library over index and bitset, so that a Kubernetes version bump never touches it",
	},
	{
		From:    []string{"allocator/internal/bitset", "allocator/internal/index", "allocator/internal/search"},
		InTests: true,
		Of:      []string{"k8s.io/...", "sigs.k8s.io/...", "github.com/google/cel-go/...", "cel.dev/..."},
		Why:     "a test of the hot path that needs API types takes a minute to build instead of a second",
	},
	{
		From:   []string{"allocator/..."},
		Except: append([]string{"allocator", "allocator/internal/selector"}, testPackages...),
		Of: []string{"k8s.io/dynamic-resource-allocation/cel", "github.com/google/cel-go/...",
			"cel.dev/...", "k8s.io/apiserver/..."},
		Why: "the selector package is the only place that knows CEL; the façade names the cache it is given, no more",
	},
	{
		From: []string{"allocator/..."},
		Except: append([]string{"allocator", "allocator/internal/inventory", "allocator/internal/selector",
			"allocator/internal/request", "allocator/internal/result", "allocator/internal/explain"}, testPackages...),
		Of: []string{"k8s.io/api/..."},
		Why: "API types stop at the edge (inventory, selector, request, result, and explain, which reads taints and " +
			"groups back from the objects); inside, devices are numbers and sets",
	},
	{
		From:    []string{"hwsim/..."},
		Except:  []string{"hwsim/cmd/dray-kubeletplugin-sim/..."},
		InTests: true,
		Of:      []string{ours("kubeletplugin/...")},
		Allowed: []string{ours("kubeletplugin/hardware"), ours("kubeletplugin/publish")},
		Why:     "a simulated machine lives below the driver",
	},
	{
		From:    []string{"hwsim/..."},
		Except:  []string{"hwsim/cmd/dray-kubeletplugin-sim/..."},
		InTests: true,
		Of:      []string{"k8s.io/client-go/..."},
		Why:     "a simulated machine is files on disk; only the driver talks to the API server",
	},
	{
		From:    []string{"hwsim/..."},
		InTests: true,
		Of:      []string{"C"},
		Why:     "simulation runs on any machine, with no C compiler and no vendor library",
	},
	{
		From:    []string{"kubeletplugin/..."},
		InTests: true,
		Of:      []string{"k8s.io/kubernetes/..."},
		Why:     "the driver talks to the kubelet through its published API; peer tests with the kubelet's code live in e2e",
	},
	{
		From:    []string{"kubeletplugin/publish"},
		Of:      []string{"..."},
		Allowed: []string{ours("kubeletplugin/hardware"), "k8s.io/api/...", "k8s.io/apimachinery/..."},
		Why:     "slices of whole fleets are built where no client is: the builder is a function of model, state and options",
	},
	{
		From: []string{"kubeletplugin/api/...", "kubeletplugin/checkpoint", "kubeletplugin/cdi", "kubeletplugin/internal/...",
			"kubeletplugin/prepare/..."},
		InTests: true,
		Of:      []string{"k8s.io/client-go/...", "k8s.io/klog/...", "k8s.io/dynamic-resource-allocation/kubeletplugin"},
		Why: "devices are prepared from an object and the hardware, with no client and no logger, so that every step of it " +
			"can be killed in a test",
	},
	{
		From:    []string{"..."},
		Except:  []string{"kubeletplugin/nvml"},
		InTests: true,
		Of:      []string{"github.com/NVIDIA/go-nvml/..."},
		Why:     "NVIDIA's library is C: behind its adapter everything builds without a compiler for it",
	},
	{
		From:    []string{"bench/..."},
		InTests: true,
		Of:      []string{ours("allocator/...")},
		Allowed: []string{ours("allocator"), ours("allocator/allocatortest")},
		Why:     "what is measured is what a scheduler gets, through the façade",
	},
	{
		From:    []string{"bench/..."},
		Except:  []string{"bench/contender"},
		InTests: true,
		Of:      []string{"k8s.io/dynamic-resource-allocation/structured"},
		Why:     "one package chooses upstream's implementation, which is a variable of the process",
	},
	{
		From:    []string{"bench/family"},
		InTests: true,
		Of:      []string{ours("bench/..."), "golang.org/x/perf/...", "github.com/felixge/fgprof"},
		Allowed: []string{ours("bench/family")},
		Why:     "an input knows nothing of how it is measured, so that tests use it as well",
	},
	{
		From:   []string{"..."},
		Except: append([]string{"e2e/...", "bench/..."}, testPackages...),
		Of:     []string{"testing", "testing/..."},
		Why:    "product code that imports testing gets its flags and its weight into every binary",
	},
}

// Project is the import path of the repository's root.
const Project = "github.com/dray-dev/dray"

func ours(dir string) string { return Project + "/" + dir }
