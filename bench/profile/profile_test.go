package profile_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/dray-dev/dray/bench/contender"
	"github.com/dray-dev/dray/bench/family"
	record "github.com/dray-dev/dray/bench/profile"
)

func TestProfilesAreWrittenInPprofsFormat(t *testing.T) {
	f := family.Named("P3")
	session := contender.Start(contender.Experimental(), f.Case(f.Gate))
	files, err := record.Record(t.Context(), "P3", filepath.Join(t.TempDir(), "new"), 300*time.Millisecond, func(ctx context.Context) error {
		_, _ = session.Do(ctx)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	unit := map[string]string{"CPU": "cpu", "wall": "time", "allocs": "inuse_space"}
	for kind, file := range map[string]string{"CPU": files.CPU, "wall": files.Wall, "allocs": files.Allocs} {
		content, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := profile.Parse(content)
		content.Close()
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		if got := parsed.SampleType[len(parsed.SampleType)-1].Type; got != unit[kind] {
			t.Errorf("the %s profile is of %s, want %s", kind, got, unit[kind])
		}
		// A busy machine may leave too little CPU time for a sample.
		if len(parsed.Sample) == 0 && kind != "CPU" {
			t.Errorf("the %s profile has no samples", kind)
		}
	}
}
