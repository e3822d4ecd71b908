package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/dray-dev/dray/e2e/console"
	"github.com/dray-dev/dray/e2e/examples"
)

// scenes are the examples that are shown command by command, after all others, with what
// is asked besides before they are cleaned up.
var scenes = []struct {
	name  string
	asked []console.Step
}{
	{"does-not-fit", []console.Step{{
		Command: "dray-local explain does-not-fit/greedy",
		Output:  []string{"…", "…request gpus: too few devices …", "…", "wanted 9", "…"},
	}}},
	{"broken-gpu", nil},
}

// apart sets the scenes apart, each in its order. Of the others, those come last that run
// last, so that what is said of them comes as they go.
func apart(all []examples.Example) (others, some []examples.Example) {
	isScene := func(e examples.Example) bool { return sceneOf(e.Name) >= 0 }
	for _, e := range all {
		if isScene(e) {
			some = append(some, e)
		} else {
			others = append(others, e)
		}
	}
	slices.SortStableFunc(others, func(a, b examples.Example) int {
		return min(len(a.Machines), 1) - min(len(b.Machines), 1)
	})
	slices.SortStableFunc(some, func(a, b examples.Example) int { return sceneOf(a.Name) - sceneOf(b.Name) })
	return others, some
}

// sceneOf is the place of an example among the scenes, or -1.
func sceneOf(name string) int {
	for i := range scenes {
		if scenes[i].name == name {
			return i
		}
	}
	return -1
}

// tell runs a scene, and prints its commands and what they print.
func tell(ctx context.Context, out io.Writer, shell console.Shell, scene examples.Example) error {
	fmt.Fprintf(out, "\n%s (%s/%s):\n\n", scene.Title, examples.Folder, scene.Name)
	shell.Told = func(step console.Step, printed string) {
		fmt.Fprintf(out, "  $ %s\n", step.Command)
		if printed = strings.TrimRight(printed, "\n"); printed != "" {
			fmt.Fprintln(out, "  "+strings.ReplaceAll(printed, "\n", "\n  "))
		}
	}
	err := scene.Run(ctx, shell, func(ctx context.Context) error {
		for _, step := range scenes[sceneOf(scene.Name)].asked {
			if _, err := shell.Run(ctx, step); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		fmt.Fprintf(out, "FAILED\n%s\n", indent(err.Error()))
		return fmt.Errorf("example %s is not as its README says", scene.Name)
	}
	return nil
}
