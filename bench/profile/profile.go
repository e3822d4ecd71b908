package profile

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/felixge/fgprof"
)

// Files are what was written, by kind.
type Files struct {
	CPU, Wall, Allocs string
}

// HowToOpen prints the command that opens each.
func (f Files) HowToOpen(w io.Writer) error {
	_, err := fmt.Fprintf(w, "\nCPU        go tool pprof -http=: %s\nwall clock go tool pprof -http=: %s\n"+
		"memory     go tool pprof -http=: -sample_index=alloc_space %s\n", f.CPU, f.Wall, f.Allocs)
	return err
}

// Record repeats an operation for a while under each profiler and writes the files
// into a directory, which it makes. The name is for the files, and do returns an
// error only if profiling has to end.
func Record(ctx context.Context, name, dir string, each time.Duration, do func(context.Context) error) (files Files, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return files, fmt.Errorf("make the directory of profiles: %w", err)
	}
	name = filepath.Join(dir, strings.NewReplacer("/", "_", "=", "-").Replace(name))
	files = Files{CPU: name + ".cpu.pprof", Wall: name + ".wall.pprof", Allocs: name + ".allocs.pprof"}
	if err := do(ctx); err != nil { // Warms up what can be warm.
		return files, err
	}
	for _, p := range []struct {
		file  string
		start func(io.Writer) (stop func() error, err error)
	}{
		{files.CPU, startCPU},
		{files.Wall, startWall},
		{files.Allocs, startAllocs},
	} {
		if err := record(ctx, do, p.file, p.start, each); err != nil {
			return files, err
		}
	}
	return files, nil
}

func startCPU(w io.Writer) (func() error, error) {
	return func() error { pprof.StopCPUProfile(); return nil }, pprof.StartCPUProfile(w)
}

func startWall(w io.Writer) (func() error, error) {
	return fgprof.Start(w, fgprof.FormatPprof), nil
}

// startAllocs relies on the runtime, which samples allocations all the time.
func startAllocs(w io.Writer) (func() error, error) {
	return func() error { return pprof.Lookup("allocs").WriteTo(w, 0) }, nil
}

func record(ctx context.Context, do func(context.Context) error, file string, start func(io.Writer) (func() error, error), each time.Duration) (err error) {
	f, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("create the profile: %w", err)
	}
	defer func() {
		if closeErr := f.Close(); err == nil && closeErr != nil {
			err = fmt.Errorf("write the profile: %w", closeErr)
		}
	}()
	stop, err := start(f)
	if err != nil {
		return fmt.Errorf("start the profiler of %s: %w", file, err)
	}
	within, cancel := context.WithTimeout(ctx, each)
	defer cancel()
	for within.Err() == nil {
		if err := do(within); err != nil && within.Err() == nil {
			return err
		}
	}
	if err := stop(); err != nil {
		return fmt.Errorf("write the profile %s: %w", file, err)
	}
	return ctx.Err()
}
