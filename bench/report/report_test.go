package report_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dray-dev/dray/bench/report"
)

func read(t *testing.T) *report.Results {
	t.Helper()
	results, err := report.Read(strings.NewReader(someResults()), "test")
	if err != nil {
		t.Fatal(err)
	}
	return results
}

func TestTheTableHasMediansIntervalsAndRatios(t *testing.T) {
	var out bytes.Buffer
	if err := read(t).Table(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`(?m)^warm/n=8 +1\.00\dµ ± 0% +20\.0\dµ ± 0% +20\.0× \[19\.9, 20\.1\] +1\.00\dµ ± 0% +~$`,
		`(?m)^F1/m=24 +150\.0µ ± 0% +> 2 s +> 13\.3k× +- +-$`,
		`(?m)^warm/n=8 +4 +4 +4 +- +- +- +0 +150 +150$`,
		`(?m)^inventory/nodes=9/n=8 +250\.0 +2\.500k$`,
	} {
		if !regexp.MustCompile(want).Match(out.Bytes()) {
			t.Errorf("nothing in the table looks like %s\n%s", want, out.String())
		}
	}
	for line := range strings.Lines(out.String()) {
		if width := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); width > report.Width {
			t.Errorf("a line is %d columns wide: %s", width, line)
		}
	}
}

func TestTargetsAreJudgedByTheBadEndOfTheInterval(t *testing.T) {
	text := read(t).Markdown()
	for _, want := range []string{
		"| Allocate, 8 to 16 local devices, warm | ≥ 10× faster | warm/n=8 | 20.0× [19.9, 20.1] | met |",
		"| families F1 to F8, F12, F16 | ≤ 100 µs each | F1/m=24 | 150.0µs ± 0% | missed |",
		"| unsatisfiable node, steady state | 0 allocs/op | fullagain/n=8 | 0 allocs/op | met |",
		"| memory | ≤ 300 bytes a device indexed | inventory/nodes=9/n=8 | 250.0 B/device | met |",
		"| one slice of 128 devices changes | ≤ 200 µs | - | - | not measured |",
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("the document has no line %q\n%s", want, text)
		}
	}
}

func TestADocumentIsRewrittenBetweenItsMarkers(t *testing.T) {
	const before, after = "# Title\n\nBy hand.\n\n", "By hand as well.\n"
	for name, part := range map[string]struct {
		begin, end string
		rewrite    func(*report.Results, string) error
	}{
		"allocator": {report.AllocatorBegin, report.AllocatorEnd, (*report.Results).RewriteAllocator},
		"scheduler": {report.SchedulerBegin, report.SchedulerEnd, (*report.Results).RewriteScheduler},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "benchmarks.md")
			write := func(text string) {
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			write(before + part.begin + "\n\nold\n" + part.end + "\n" + after)
			for range 2 {
				if err := part.rewrite(read(t), file); err != nil {
					t.Fatal(err)
				}
				content, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				first, rest, _ := strings.Cut(string(content), part.begin)
				made, last, _ := strings.Cut(rest, part.end+"\n")
				if first != before || last != after || strings.Contains(made, "old") || strings.Count(made, "### Targets") != 1 {
					t.Errorf("the document is\n%s", content)
				}
			}
			for _, broken := range []string{before, before + part.begin + "\n", part.end + "\n" + part.begin + "\n"} {
				write(broken)
				if err := part.rewrite(read(t), file); err == nil {
					t.Errorf("a document without both markers was rewritten:\n%s", broken)
				}
			}
		})
	}
}

func TestJSONHoldsSamplesAndRatios(t *testing.T) {
	var out bytes.Buffer
	if err := read(t).JSON(&out); err != nil {
		t.Fatal(err)
	}
	var parsed struct {
		Rows []struct {
			Name            string
			Implementations map[string]struct {
				NotFinishedSeconds float64
				Measurements       map[string]struct{ Samples []float64 }
			}
			Ratios map[string]struct {
				Median        float64
				AtLeast, Same bool
			}
		}
	}
	if err := json.Unmarshal(out.Bytes(), &parsed); err != nil {
		t.Fatal(err)
	}
	warm, f1 := parsed.Rows[0], parsed.Rows[1]
	if warm.Name != "warm/n=8" || f1.Name != "F1/m=24" {
		t.Fatalf("the first rows are %s and %s", warm.Name, f1.Name)
	}
	if n := len(warm.Implementations["dray"].Measurements["sec/op"].Samples); n != 6 {
		t.Errorf("there are %d samples, want 6", n)
	}
	if r := warm.Ratios["incubating"]; r.Median < 19.9 || r.Median > 20.1 || r.AtLeast || r.Same {
		t.Errorf("the ratio of a case that is twenty times faster is %+v", r)
	}
	if r := warm.Ratios["experimental"]; !r.Same {
		t.Errorf("the ratio of equal times is %+v", r)
	}
	if r := f1.Ratios["incubating"]; !r.AtLeast || f1.Implementations["incubating"].NotFinishedSeconds != 2 {
		t.Errorf("a case that does not finish has ratio %+v and cell %+v", r, f1.Implementations["incubating"])
	}
}

func TestWhatIsNoResultIsRefused(t *testing.T) {
	for _, text := range []string{"", "nothing of the kind\n", "BenchmarkX 1 fast\n"} {
		if _, err := report.Read(strings.NewReader(text), "test"); err == nil {
			t.Errorf("%q was read without an error", text)
		}
	}
}

// The legend speaks of the limit that the cells beyond it speak of.
func TestTheLegendNamesTheLimitOfTheRun(t *testing.T) {
	for config, want := range map[string]string{"limit: 2s\n": "> 2 s: not", "limit: 500ms\n": "> 0.5 s: not", "limit: 1m30s\n": "> 90 s: not", "": "> N s: not"} {
		results, err := report.Read(strings.NewReader(strings.Replace(someResults(), "limit: 2s\n", config, 1)), "test")
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := results.Table(&out); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), "\n"+want) {
			t.Errorf("with %q the legend has nothing like %q\n%s", config, want, out.String())
		}
	}
}

func TestASearchThatAllocatesWhenAskedAgainMissesTheTarget(t *testing.T) {
	text := someResults() + strings.Repeat("BenchmarkRepeat/family=F8again/g=1/impl=dray-2 100 9000 ns/op 0 B/op 3 allocs/op 8 steps/op\n", 6)
	results, err := report.Read(strings.NewReader(text), "test")
	if err != nil {
		t.Fatal(err)
	}
	if want := "| unsatisfiable node, steady state | 0 allocs/op | F8again/g=1 | 3 allocs/op | missed |\n"; !strings.Contains(results.Markdown(), want) {
		t.Errorf("the document has no line %q\n%s", want, results.Markdown())
	}
}
