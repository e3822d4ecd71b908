package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/dray-dev/dray/e2e/console"
	"github.com/dray-dev/dray/e2e/examples"
)

// patience is how long a cluster on a busy machine may take to show what it should.
const patience = 90 * time.Second

// show runs the demonstration and says on out how it goes.
func show(ctx context.Context, out io.Writer, o options) error {
	began := time.Now()
	all, err := chosen(o)
	if err != nil {
		return err
	}
	cluster, err := startCluster(ctx, out, o)
	if err != nil {
		return err
	}
	defer cluster.end()
	fmt.Fprintf(out, "\n%d examples, each of which is a folder of %s:\n", len(all), examples.Folder)
	rows, err := runAll(ctx, out, cluster, all)
	fmt.Fprintf(out, "\nWhat the pods of the examples were given:\n\n")
	writeTable(out, rows)
	if err != nil {
		cluster.keepLogs(out)
		return err
	}
	fmt.Fprintf(out, "\nAll as their READMEs say, after %.0f s.\n", time.Since(began).Seconds())
	cluster.sayNext(out)
	return nil
}

// chosen are the examples that the flags ask for.
func chosen(o options) ([]examples.Example, error) {
	all, err := examples.Load(o.repository)
	if err != nil || len(o.only) == 0 {
		return all, err
	}
	var some []examples.Example
	for _, name := range o.only {
		i := slices.IndexFunc(all, func(e examples.Example) bool { return e.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("--only %s: there is no such folder in %s", name, examples.Folder)
		}
		some = append(some, all[i])
	}
	return some, nil
}

// runAll runs the examples one after the other, also after one that fails, and returns
// what their pods got.
func runAll(ctx context.Context, out io.Writer, c *demoCluster, all []examples.Example) ([]examples.Row, error) {
	shell, err := newShell(c.o, c.Kubeconfig(), c.dir)
	if err != nil {
		return nil, err
	}
	var rows []examples.Row
	var failed []error
	for i, example := range all {
		began := time.Now()
		fmt.Fprintf(out, "  %2d/%d %-22s %-58s ", i+1, len(all), example.Name, example.Title)
		err := example.Run(ctx, shell, func(ctx context.Context) error {
			got, err := example.Rows(ctx, c.client)
			rows = append(rows, got...)
			return err
		})
		if ctx.Err() != nil {
			fmt.Fprintln(out, "interrupted")
			return rows, ctx.Err()
		}
		if err != nil {
			fmt.Fprintf(out, "FAILED\n%s\n", indent(err.Error()))
			failed = append(failed, fmt.Errorf("example %s is not as its README says", example.Name))
			if err := removeNamespaces(ctx, c.client, example.Namespaces); err != nil {
				failed = append(failed, err)
			}
			continue
		}
		fmt.Fprintf(out, "%5.1f s\n", time.Since(began).Seconds())
	}
	return rows, errors.Join(failed...)
}

func indent(text string) string { return "      " + strings.ReplaceAll(text, "\n", "\n      ") }

// newShell runs commands as a reader would type them, in the root of the repository,
// with our programs on the path.
func newShell(o options, kubeconfig, dir string) (console.Shell, error) {
	binaries, err := filepath.Abs(o.binaries)
	if err != nil {
		return console.Shell{}, err
	}
	for _, program := range []string{"dray-local", "hwsim", "kubectl"} {
		if _, err := os.Stat(filepath.Join(binaries, program)); err != nil {
			return console.Shell{}, fmt.Errorf("--binaries: %w: make demo builds it", err)
		}
	}
	env := []string{"KUBECONFIG=" + kubeconfig, "DRAY_LOCAL=" + dir, "HOME=" + os.Getenv("HOME"),
		"PATH=" + binaries + string(os.PathListSeparator) + os.Getenv("PATH")}
	return console.Shell{Dir: o.repository, Env: env, Patience: patience, Pause: 300 * time.Millisecond}, nil
}

// removeNamespaces makes room after an example that did not get as far as its end.
func removeNamespaces(ctx context.Context, client kubernetes.Interface, names []string) error {
	var errs []error
	for _, name := range names {
		errs = append(errs, examples.RemoveNamespace(ctx, client, name))
	}
	return errors.Join(errs...)
}
