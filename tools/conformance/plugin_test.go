package main

import (
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
)

const tinyConstructor = `package structured

func NewAllocator(ctx Context,
	features Features,
	allocatedState State, classLister Lister,
	slices []*Slice,
	celCache *Cache,
) (Allocator, error) {
	return pick(features)
}
`

func TestConstructorAsksTheOverrideFirst(t *testing.T) {
	got, err := patchConstructor([]byte(tinyConstructor))
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(tinyConstructor, "\treturn pick", "\tif override != nil {\n\t\treturn override(ctx, features, allocatedState, classLister, slices, celCache)\n\t}\n\treturn pick", 1)
	if string(got) != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestConstructorOfAnotherFormIsRefused(t *testing.T) {
	for name, replace := range map[string][2]string{
		"renamed":             {"NewAllocator", "MakeAllocator"},
		"a method":            {"func NewAllocator", "func (x X) NewAllocator"},
		"twice":               {"package structured", "package structured\nfunc NewAllocator() {}\n"},
		"parameter renamed":   {"celCache", "cache"},
		"parameter added":     {"slices []", "more int,\n\tslices []"},
		"parameters reversed": {"classLister Lister,\n\tslices []*Slice", "slices []*Slice,\n\tclassLister Lister"},
	} {
		src := strings.Replace(tinyConstructor, replace[0], replace[1], 1)
		if src == tinyConstructor {
			t.Fatalf("%s: nothing to replace", name)
		}
		if _, err := patchConstructor([]byte(src)); err == nil || !strings.Contains(err.Error(), `"func NewAllocator"`) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

const tinyKubernetes = `module k8s.io/kubernetes

go 1.26.0

godebug default=go1.26

require (
	example.com/a v1.2.0
	k8s.io/api v0.0.0
	k8s.io/dynamic-resource-allocation v0.0.0
)

replace (
	k8s.io/api => ./staging/src/k8s.io/api
	k8s.io/dynamic-resource-allocation => ./staging/src/k8s.io/dynamic-resource-allocation
)
`

var (
	tinyDRA    = module{Path: upstreamPath, Version: "v0.37.2"}
	tinyKube   = module{Path: kubernetesPath, Version: "v1.37.2"}
	tinyOurMod = "module github.com/dray-dev/dray/allocator\n\nrequire (\n\texample.com/a v1.3.0\n\tk8s.io/dynamic-resource-allocation v0.37.2\n)\n"
)

func TestPluginGoModPinsStagingModulesAndStandsForTheCopy(t *testing.T) {
	got, err := pluginGoMod([]byte(tinyKubernetes), []byte(tinyOurMod), tinyDRA, tinyKube, "/repo/allocator")
	if err != nil {
		t.Fatal(err)
	}
	file, err := modfile.Parse("go.mod", got, nil)
	if err != nil {
		t.Fatal(err)
	}
	versions := required(file)
	if file.Module.Mod.Path != upstreamPath || len(file.Godebug) != 1 {
		t.Errorf("the module's name or its godebug settings:\n%s", got)
	}
	if _, found := versions[upstreamPath]; found || versions[kubernetesPath] != "v1.37.2" || versions["example.com/a"] != "v1.3.0" {
		t.Errorf("requirements: %v", versions)
	}
	replaced := map[string]string{}
	for _, r := range file.Replace {
		replaced[r.Old.Path] = strings.TrimSpace(r.New.Path + " " + r.New.Version)
	}
	if len(replaced) != 2 || replaced["k8s.io/api"] != "k8s.io/api v0.37.2" || replaced[allocatorPath] != "/repo/allocator" {
		t.Errorf("replacements: %v", replaced)
	}
}

func TestKubernetesGoModOfAnotherFormIsRefused(t *testing.T) {
	for name, replace := range map[string][2]string{
		"another module":      {"module k8s.io/kubernetes", "module k8s.io/other"},
		"replaced elsewhere":  {"k8s.io/api => ./staging/src/k8s.io/api", "k8s.io/api => ./staging/src/k8s.io/api2"},
		"replaced by version": {"k8s.io/api => ./staging/src/k8s.io/api", "k8s.io/api => k8s.io/api v0.1.0"},
		"the copy not staged": {"\tk8s.io/dynamic-resource-allocation => ./staging/src/k8s.io/dynamic-resource-allocation\n", ""},
	} {
		src := strings.Replace(tinyKubernetes, replace[0], replace[1], 1)
		if src == tinyKubernetes {
			t.Fatalf("%s: nothing to replace", name)
		}
		if _, err := pluginGoMod([]byte(src), []byte(tinyOurMod), tinyDRA, tinyKube, "/repo/allocator"); err == nil || !strings.Contains(err.Error(), "anchor") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestPluginVersionsAreOfOneReleaseThatWasRead(t *testing.T) {
	kube := module{Path: kubernetesPath, Version: readPluginVersion}
	dra := module{Path: upstreamPath, Version: "v0." + strings.TrimPrefix(readPluginVersion, "v1.")}
	if err := checkPluginVersions(dra, kube); err != nil {
		t.Error(err)
	}
	if err := checkPluginVersions(module{Path: upstreamPath, Version: "v0.1.0"}, kube); err == nil {
		t.Error("two releases were accepted")
	}
	if err := checkPluginVersions(module{Version: "v0.99.0"}, module{Version: "v1.99.0"}); err == nil {
		t.Error("a release that was not read was accepted")
	}
}

const pluginEvents = `{"Action":"run","Test":"TestPlugin"}
{"Action":"run","Test":"TestPlugin/fits"}
{"Action":"output","Test":"TestPlugin/fits","Output":"\n` + overrideMark + `\n"}
{"Action":"pass","Test":"TestPlugin/fits"}
{"Action":"run","Test":"TestPlugin/waits"}
{"Action":"pass","Test":"TestPlugin/waits"}
{"Action":"pass","Test":"TestPlugin"}
{"Action":"run","Test":"TestSelection"}
{"Action":"run","Test":"TestSelection/one"}
{"Action":"output","Test":"TestSelection/one","Output":"another type\n"}
{"Action":"fail","Test":"TestSelection/one"}
{"Action":"run","Test":"TestSelection/two"}
{"Action":"fail","Test":"TestSelection/two"}
{"Action":"fail","Test":"TestSelection"}
{"Action":"run","Test":"TestSelectionOther"}
{"Action":"pass","Test":"TestSelectionOther"}
`

func tinyPluginReport(t *testing.T, events string) pluginReport {
	t.Helper()
	o, err := parseEvents(strings.NewReader(events))
	if err != nil {
		t.Fatal(err)
	}
	o.exit = errors.New("exit status 1")
	return pluginReport{pluginSuite: tinyPluginSuite(), kubernetes: tinyKube, outcomes: o}
}

func tinyPluginSuite() pluginSuite {
	return pluginSuite{
		name: "allocator-in-tree", subject: "Dray's allocator", mark: overrideMark,
		want: 4, mayExcept: 3, exceptions: except("by name", "another type", "TestSelection"),
	}
}

func TestPluginRunIsCompleteIfAllPassThatIsNotExcepted(t *testing.T) {
	r := tinyPluginReport(t, pluginEvents)
	if faults := r.faults(); len(faults) > 0 {
		t.Errorf("faults: %q", faults)
	}
	var out strings.Builder
	r.print(&out)
	want := "allocator-in-tree: Dray's allocator in the tests of k8s.io/kubernetes v1.37.2\nexcepted: TestSelection: by name\nconformance-plugin allocator-in-tree: 3 of 4, 1 excepted\n"
	if out.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", out.String(), want)
	}
}

func TestPluginRunThatDoesNotCount(t *testing.T) {
	baseline := func(r *pluginReport) { r.options.baseline, r.outcomes.exit = true, nil }
	for name, c := range map[string]struct {
		old, new string
		change   func(*pluginReport)
		fault    string
	}{
		"a test fails":                 {`"pass","Test":"TestPlugin/waits"`, `"fail","Test":"TestPlugin/waits"`, nil, "tests that did not pass: 1"},
		"a test is skipped":            {`"pass","Test":"TestPlugin/waits"`, `"skip","Test":"TestPlugin/waits"`, nil, "tests that did not pass: 1"},
		"a test does not end":          {`{"Action":"pass","Test":"TestPlugin/waits"}`, ``, nil, "tests that did not pass: 1"},
		"a parent fails":               {`"pass","Test":"TestPlugin"`, `"fail","Test":"TestPlugin"`, nil, "TestPlugin failed by itself"},
		"a like-named test fails":      {`"pass","Test":"TestSelectionOther"`, `"fail","Test":"TestSelectionOther"`, nil, "tests that did not pass: 1"},
		"a test is gone":               {`"Test":"TestPlugin/waits"`, `"Test":"TestPlugin/fits"`, nil, "3 tests ran, expected 4"},
		"an exception passes":          {`"fail","Test":"TestSelection"`, `"pass","Test":"TestSelection"`, nil, "TestSelection is excepted and did not fail"},
		"for another reason":           {`another type`, `timed out`, nil, "TestSelection is excepted and failed for another reason"},
		"an exception is gone":         {`"TestSelection`, `"TestRenamed`, nil, "TestSelection is excepted and did not run"},
		"upstream's allocator":         {overrideMark, "", nil, "Dray's allocator was not made"},
		"ours in the baseline":         {`"fail"`, `"pass"`, baseline, "Dray's allocator was made in a run without it"},
		"an exception in the baseline": {overrideMark, "", baseline, "tests that did not pass: 1"},
		"too many exceptions": {"", "", func(r *pluginReport) {
			r.exceptions = append(r.exceptions, except("", "", "A", "B", "C")...)
		}, "4 tests are excepted, at most 3 may be"},
		"go test disagrees": {`"fail"`, `"pass"`, func(r *pluginReport) { r.exceptions, r.want = nil, 5 }, "no test failed, but go test ended with: exit status 1"},
	} {
		r := tinyPluginReport(t, strings.ReplaceAll(pluginEvents, c.old, c.new))
		if c.change != nil {
			c.change(&r)
		}
		var out strings.Builder
		r.print(&out)
		if !strings.Contains(out.String(), "fault: "+c.fault) || len(r.faults()) == 0 {
			t.Errorf("%s: got:\n%s", name, out.String())
		}
	}
}

func TestBaselineHasNoExceptions(t *testing.T) {
	r := tinyPluginReport(t, strings.NewReplacer(overrideMark, "", `"fail"`, `"pass"`).Replace(pluginEvents))
	r.options.baseline, r.outcomes.exit = true, nil
	var out strings.Builder
	r.print(&out)
	want := "allocator-in-tree: upstream's own (control) in the tests of k8s.io/kubernetes v1.37.2\nconformance-plugin allocator-in-tree (baseline): 4 of 4, 0 excepted\n"
	if out.String() != want || len(r.faults()) > 0 {
		t.Errorf("got:\n%s\nwant:\n%s", out.String(), want)
	}
}

func TestSelectedPluginTestsNeedNotBeAll(t *testing.T) {
	r := tinyPluginReport(t, `{"Action":"pass","Test":"TestSelectionOther"}`)
	r.options.run, r.outcomes.exit = regexp.MustCompile("Other"), nil
	if faults := r.faults(); len(faults) > 0 {
		t.Errorf("faults: %q", faults)
	}
}

func TestTestsCountAsDeepAsTheSuiteSays(t *testing.T) {
	r := tinyPluginReport(t, pluginEvents)
	for depth, want := range map[int][]string{
		1: {"TestPlugin", "TestSelection", "TestSelectionOther"},
		2: {"TestPlugin/fits", "TestPlugin/waits", "TestSelection", "TestSelectionOther"},
		3: {"TestPlugin/fits", "TestPlugin/waits", "TestSelection", "TestSelectionOther"},
	} {
		r.depth = depth
		if got := r.tests(); !slices.Equal(got, want) {
			t.Errorf("depth %d: %q", depth, got)
		}
	}
	// What lies beneath a test that counts fails with it, and is not told as well.
	r = tinyPluginReport(t, strings.ReplaceAll(pluginEvents, `"pass","Test":"TestPlugin`, `"fail","Test":"TestPlugin`))
	r.depth = 1
	if misses, alone := r.misses(), r.failedAlone(); !slices.Equal(misses, []string{"TestPlugin"}) || len(alone) > 0 {
		t.Errorf("misses %q, alone %q", misses, alone)
	}
}

func TestATestThatPassesAloneCounts(t *testing.T) {
	r := tinyPluginReport(t, strings.NewReplacer(`"pass","Test":"TestPlugin"`, `"fail","Test":"TestPlugin"`, `"pass","Test":"TestPlugin/waits"`, `"fail","Test":"TestPlugin/waits"`).Replace(pluginEvents))
	second := outcomes{verdicts: map[string]verdict{"TestPlugin/waits": passed, "TestPlugin/fits": passed}}
	r.outcomes.retried([]string{"TestPlugin/waits"}, second)
	var out strings.Builder
	r.print(&out)
	if len(r.faults()) > 0 || !strings.Contains(out.String(), "again: TestPlugin/waits: failed beside others, passed alone\n") {
		t.Errorf("got:\n%s", out.String())
	}
	r = tinyPluginReport(t, strings.ReplaceAll(pluginEvents, `"pass","Test":"TestPlugin/waits"`, `"fail","Test":"TestPlugin/waits"`))
	r.outcomes.retried([]string{"TestPlugin/waits"}, outcomes{verdicts: map[string]verdict{"TestPlugin/waits": failed}})
	if len(r.faults()) == 0 || len(r.outcomes.again) > 0 {
		t.Errorf("one that failed twice: %q, %q", r.faults(), r.outcomes.again)
	}
}

func TestEverySuiteOfThePluginIsComplete(t *testing.T) {
	names := map[string]bool{allocatorSuite: true}
	for _, s := range pluginSuites {
		if names[s.name] || strings.Contains(s.name, ",") || s.subject == "" || s.mark == "" || s.want <= 0 || s.plan == nil {
			t.Errorf("suite %q", s.name)
		}
		names[s.name] = true
		if len(s.exceptions) > s.mayExcept {
			t.Errorf("%s: %d exceptions", s.name, len(s.exceptions))
		}
		for _, e := range s.exceptions {
			if e.test == "" || e.reason == "" || e.says == "" {
				t.Errorf("%s: exception %+v", s.name, e)
			}
		}
	}
	for _, left := range leftOut {
		if left.reason == "" || len(left.tests) == 0 {
			t.Errorf("left out: %+v", left)
		}
	}
}

func TestSuitesAreSelectedByName(t *testing.T) {
	for args, want := range map[string]string{
		"":                                      "",
		"-suite=allocator":                      "",
		"-suite=testplugin":                     "testplugin",
		"-suite=testplugin,integration-default": "testplugin integration-default",
		"-suite=plugin-tests,nonesuch":          `error: -suite "nonesuch"`,
		"-suite=":                               `error: -suite ""`,
		"-suite=testplugin -shared-inventory":   "error: -shared-inventory",
		"-suite=allocator-in-tree-workloads -run=short": "error: -run: the workloads",
	} {
		opts, err := parseFlags(strings.Fields(args), io.Discard)
		if message, isError := strings.CutPrefix(want, "error: "); isError {
			if err == nil || !strings.HasPrefix(err.Error(), message) {
				t.Errorf("%s: got %v", args, err)
			}
			continue
		}
		var names []string
		for _, suite := range opts.suites {
			names = append(names, suite.name)
		}
		if err != nil || strings.Join(names, " ") != want {
			t.Errorf("%s: got %q, %v", args, names, err)
		}
	}
}
