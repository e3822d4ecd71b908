package output_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/dray-dev/dray/bench/output"
)

// noted is a tool that measures nothing and notes what it was to measure.
func noted(got *output.Selection) *output.Tool {
	note := func(_ context.Context, _ io.Writer, s *output.Selection) error {
		*got = *s
		return errNoted
	}
	return &output.Tool{Name: "tool", Example: "case/n=1", Each: "contender", Names: []string{"ours", "theirs", "another"},
		Sample: time.Second, Limit: time.Minute, Measure: note, Profile: note}
}

var errNoted = errors.New("noted")

func TestWrongUsageIsToldFromFailure(t *testing.T) {
	var got output.Selection
	tool := noted(&got)
	for _, args := range [][]string{{"-o", "xml"}, {"-run", "("}, {"-impl", "nobody"}, {"-impl", "ours,nobody"}, {"-n", "0"},
		{"-limit", "0s"}, {"-limit", "-1s"}, {"stray"}, {"-nothing"}} {
		var usage output.UsageError
		if err := tool.Run(t.Context(), args, &bytes.Buffer{}, &bytes.Buffer{}); !errors.As(err, &usage) {
			t.Errorf("tool %q ended with %v, want a usage error", args, err)
		}
	}
	for _, args := range [][]string{{"-from", filepath.Join(t.TempDir(), "none")}, {}} {
		var usage output.UsageError
		if err := tool.Run(t.Context(), args, &bytes.Buffer{}, &bytes.Buffer{}); err == nil || errors.As(err, &usage) {
			t.Errorf("tool %q ended with %v, want an error that is not about usage", args, err)
		}
	}
}

func TestFlagsSayWhatIsMeasured(t *testing.T) {
	for _, test := range []struct {
		args  []string
		names []string
		want  string
	}{
		{nil, []string{"ours", "theirs", "another"}, `"" 10 1s 1m0s false "" 3s`},
		{[]string{"-impl", "another,ours", "-run", "^a", "-n", "4", "-sample", "2s", "-limit", "3s"}, []string{"ours", "another"}, `"^a" 4 2s 3s false "" 3s`},
		{[]string{"-quick"}, []string{"ours", "theirs", "another"}, `"" 2 1ms 1m0s true "" 3s`},
		{[]string{"-profile", "dir", "-profile-time", "5s"}, []string{"ours", "theirs", "another"}, `"" 10 1s 1m0s false "dir" 5s`},
	} {
		var s output.Selection
		if err := noted(&s).Run(t.Context(), test.args, io.Discard, io.Discard); !errors.Is(err, errNoted) {
			t.Errorf("%q: %v", test.args, err)
			continue
		}
		got := fmt.Sprintf("%q %d %v %v %v %q %v", s.Match, s.Rounds, s.Sample, s.Limit, s.Quick, s.ProfileDir, s.ProfileFor)
		if got != test.want || !slices.Equal(s.Names, test.names) {
			t.Errorf("%q: got %s of %q, want %s of %q", test.args, got, s.Names, test.want, test.names)
		}
	}
}
