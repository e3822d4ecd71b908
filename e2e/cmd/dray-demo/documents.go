package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/dray-dev/dray/e2e/console"
)

// document is one whose commands are run after the examples: its cluster must have the
// nodes that it names, and find the cluster as the examples leave it.
type document struct {
	file  string
	steps []console.Step
}

func readDocuments(o options) ([]document, error) {
	var all []document
	for _, file := range o.documents {
		content, err := os.ReadFile(filepath.Join(o.repository, file))
		if err != nil {
			return nil, fmt.Errorf("--document: %w", err)
		}
		steps, err := console.Parse(file, content)
		if err != nil {
			return nil, fmt.Errorf("--document: %w", err)
		}
		if len(steps) == 0 {
			return nil, fmt.Errorf("--document: %s has no commands: they are in blocks of the language console", file)
		}
		all = append(all, document{file, steps})
	}
	return all, nil
}

// run runs the commands, and says on out how that went.
func (d document) run(ctx context.Context, out io.Writer, shell console.Shell) error {
	began := time.Now()
	for _, step := range d.steps {
		if _, err := shell.Run(ctx, step); ctx.Err() != nil {
			return nil
		} else if err != nil {
			fmt.Fprintf(out, "\n%s: FAILED\n%s\n", d.file, indent(fmt.Sprintf("%s:%d: %v", d.file, step.Line, err)))
			return errors.New(d.file + " does not say what its commands print")
		}
	}
	fmt.Fprintf(out, "\n%s: %d commands do what it says, after %.1f s.\n", d.file, len(d.steps), time.Since(began).Seconds())
	return nil
}
