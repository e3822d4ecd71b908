package main

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// What is read here is written by others: upstream's suite and go.mod, the go
// command's events, a page for people. Each target looks for input on which a
// reader panics, and for input that it accepts and makes something wrong of.

// FuzzSuite: what is left of a table after the step counts are stripped and a
// case is changed is the same table, in which no count is asserted any more.
func FuzzSuite(f *testing.F) {
	f.Add(tinySuite)
	f.Add(strings.Replace(tinySuite, "12", "0x1_0", 1))
	f.Add(strings.Replace(tinySuite, `"counts"`, "`raw\tname`", 1))
	f.Add("package p\nfunc TestAllocator()")
	f.Add("package p\nfunc TestAllocator() { _ = map[string]AllocatorTestCase{\"a\": {expectResults: []any{map[string]AllocatorTestCase{}}}} }")
	f.Fuzz(func(t *testing.T, src string) {
		before, body, err := parseTable("f.go", "TestAllocator", []byte(src))
		if err != nil {
			return
		}
		_, _ = readInterrupts(body)
		edits, err := before.stripStepCounts(len(before.stepCountCases()))
		if err != nil {
			return
		}
		changes := []change{{"fits", 1, doesNotFit{}}, {"fails", 1, concernsNodeOnly{}}}
		if more, err := before.applyChanges(changes); err == nil {
			edits = append(edits, more...)
		}
		changed, err := applyEdits([]byte(src), edits)
		if err != nil {
			t.Fatalf("the edits cannot be applied: %v", err)
		}
		after, _, err := parseTable("f.go", "TestAllocator", changed)
		if err != nil {
			t.Fatalf("%v in\n%s", err, changed)
		}
		if got, want := after.names(), before.names(); !slices.Equal(got, want) {
			t.Errorf("the cases were %q and are %q", want, got)
		}
		for _, c := range after.cases {
			if value, found := c.fields[stepCountField]; found && after.text(value) != "0" {
				t.Errorf("case %q asserts %s steps", c.name, after.text(value))
			}
		}
	})
}

func (t table) names() []string {
	var names []string
	for _, c := range t.cases {
		names = append(names, c.name)
	}
	return names
}

// FuzzEvents: whatever the go command says, the report counts no test as passed
// for which there is no such event, and is complete only if all are.
func FuzzEvents(f *testing.F) {
	f.Add(tinyEvents)
	f.Add(allPass)
	f.Add(`{"Action":"pass","Test":"/"} {"Action":"pass","Test":"TestAllocator//x"}`)
	f.Fuzz(func(t *testing.T, events string) {
		o, err := parseEvents(strings.NewReader(events))
		if err != nil {
			return
		}
		s := tinySuiteParsed(t)
		r := report{suite: s, leaves: s.leaves(nil), outcomes: o}
		var out bytes.Buffer
		r.print(&out)
		r.outcomes.exit = errors.New("exit status 1")
		r.print(&out)
		passes := strings.Count(strings.ToLower(events), "pass") // Names of fields and unknown events count as well.
		if !strings.Contains(events, `\`) && r.passed() > passes {
			t.Errorf("%d of the tests passed by %d events", r.passed(), passes)
		}
		if r.complete() {
			t.Error("complete, although the go command has failed")
		}
	})
}

// FuzzGoMod: the merged file has all that both files require, in the higher of
// both versions, and the allocator in its directory, whatever version of it they
// require.
func FuzzGoMod(f *testing.F) {
	f.Add("module example.com/up\n\ngo 1.26.0\n\nrequire example.com/a v1.2.0\n", "module example.com/ours\n\nrequire (\n\texample.com/a v1.3.0\n\texample.com/b v1.0.0 // indirect\n)\n")
	f.Add("module example.com/up\n", "go 1.26.0\n")
	f.Add("module example.com/up\n\nrequire example.com/a v1.0.0\n", "module)")
	f.Add("module example.com/up\n", "module example.com/ours\n\nrequire example.com/ours v1.0.0\n")
	f.Add("module example.com/up\n", "module example.com/ours\n\nrequire (\n\texample.com/a v1.3.0\n\texample.com/a v1.0.0 // indirect\n)\n")
	f.Add("require example.com/a v1.0.0\n", "module \"example.com/ours\"\nrequire example.com/a v1.0.0-pre\nexclude example.com/a v1.1.0\n")
	f.Fuzz(func(t *testing.T, upstream, ours string) {
		merged, err := mergeGoMod([]byte(upstream), []byte(ours), "/repo/ours")
		if err != nil {
			return
		}
		got, err := modfile.Parse("merged", merged, nil)
		if err != nil {
			t.Fatalf("%v in\n%s", err, merged)
		}
		if len(got.Replace) != 1 {
			t.Fatalf("there are %d replace directives, want the allocator's:\n%s", len(got.Replace), merged)
		}
		allocator := got.Replace[0]
		have := required(got)
		for _, content := range []string{upstream, ours} {
			file, err := modfile.Parse("go.mod", []byte(content), nil)
			if err != nil {
				t.Fatalf("accepted, but: %v", err)
			}
			for path, version := range required(file) {
				if path != got.Module.Mod.Path && path != allocator.Old.Path && semver.Compare(have[path], version) < 0 {
					t.Errorf("%s is required at %q, want %s at least", path, have[path], version)
				}
			}
		}
		if allocator.New.Path != "/repo/ours" || have[allocator.Old.Path] == "" {
			t.Errorf("the allocator is not required and replaced by its directory:\n%s", merged)
		}
	})
}

func required(file *modfile.File) map[string]string {
	versions := make(map[string]string)
	for _, r := range file.Require {
		if semver.Compare(versions[r.Mod.Path], r.Mod.Version) < 0 {
			versions[r.Mod.Path] = r.Mod.Version
		}
	}
	return versions
}

// FuzzGoSum: merging is the sorted union, so that the order of files and a
// second merge change nothing.
func FuzzGoSum(f *testing.F) {
	f.Add("b v1 h1:x\na v1 h1:y\n", "a v1 h1:y\r\nc v1 h1:z")
	f.Fuzz(func(t *testing.T, a, b string) {
		merged := mergeGoSum([]byte(a), []byte(b))
		if again := mergeGoSum([]byte(b), merged); !bytes.Equal(merged, again) {
			t.Errorf("merged again it is\n%q, was\n%q", again, merged)
		}
	})
}

// FuzzDeviations: a title is read only from a line that is its heading.
func FuzzDeviations(f *testing.F) {
	f.Add("# Deviations\n\n## 1. First\n\n```\n## 2. Code\n```\n\n## 3. Third  \n")
	f.Add("## 99999999999999999999. Too many\n")
	f.Fuzz(func(t *testing.T, page string) {
		titles, err := readTitles("page.md", []byte(page))
		if err != nil {
			return
		}
		for _, number := range slices.Sorted(maps.Keys(titles)) {
			heading := func(line string) bool {
				return strings.HasPrefix(line, "## ") && strings.HasSuffix(strings.TrimRight(line, " \t\f\r"), ". "+titles[number])
			}
			if titles[number] == "" || !slices.ContainsFunc(strings.Split(page, "\n"), heading) {
				t.Errorf("deviation %d has the title %q, which is no heading", number, titles[number])
			}
		}
	})
}
