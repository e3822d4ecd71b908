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
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/dray-dev/dray/e2e/console"
	"github.com/dray-dev/dray/e2e/examples"
	"github.com/dray-dev/dray/e2e/kubectl"
)

// patience is how long a cluster on a busy machine may take to show what it should.
const patience = 3 * time.Minute

// atOnce is how many examples run at a time. They wait for the cluster more than they
// keep the machine busy.
const atOnce = 8

// show runs the demonstration and says on out how it goes.
func show(ctx context.Context, out io.Writer, o options) error {
	began := time.Now()
	all, err := chosen(o)
	if err != nil {
		return err
	}
	all, scenes := apart(all)
	documents, err := readDocuments(o)
	if err != nil {
		return err
	}
	cluster, err := startCluster(ctx, out, o)
	if err != nil {
		return err
	}
	defer cluster.end()
	ctx, stop := cluster.whileItRuns(ctx)
	defer stop()
	shell, err := newShell(ctx, o, cluster)
	if err != nil {
		return err
	}
	var failed error
	if len(all) > 0 {
		fmt.Fprintf(out, "\n%d examples, each of which is a folder of %s:\n", len(all), examples.Folder)
		var rows []examples.Row
		rows, failed = runAll(ctx, out, shell, cluster.client, all)
		fmt.Fprintf(out, "\nWhat the pods of the examples were given:\n\n")
		writeTable(out, rows)
	}
	for _, scene := range scenes {
		if ctx.Err() == nil {
			if err := tell(ctx, out, shell, scene); err != nil {
				failed = errors.Join(failed, err, removeNamespaces(ctx, cluster.client, scene.Namespaces))
			}
		}
	}
	for _, document := range documents {
		if ctx.Err() == nil {
			failed = errors.Join(failed, document.run(ctx, out, shell))
		}
	}
	if err := errors.Join(failed, context.Cause(ctx)); err != nil {
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

// runAll runs the examples, also after one that fails, and returns what their pods got.
// It says how each went, in their order.
func runAll(ctx context.Context, out io.Writer, shell console.Shell, client kubernetes.Interface, all []examples.Example) ([]examples.Row, error) {
	said := progress{out: out, lines: make([]string, len(all))}
	rows, failed := make([][]examples.Row, len(all)), make([]error, len(all))
	examples.Together(all, atOnce, func(i int) {
		example, began := all[i], time.Now()
		line := fmt.Sprintf("  %2d/%d %-22s %-58s ", i+1, len(all), example.Name, example.Title)
		err := ctx.Err()
		if err == nil {
			err = example.Run(ctx, shell, func(ctx context.Context) (err error) {
				rows[i], err = example.Rows(ctx, client)
				return err
			})
		}
		switch {
		case ctx.Err() != nil:
			said.done(i, line+"interrupted\n")
		case err != nil:
			said.done(i, fmt.Sprintf("%sFAILED\n%s\n", line, indent(err.Error())))
			failed[i] = errors.Join(fmt.Errorf("example %s is not as its README says", example.Name), removeNamespaces(ctx, client, example.Namespaces))
		default:
			said.done(i, fmt.Sprintf("%s%5.1f s\n", line, time.Since(began).Seconds()))
		}
	})
	return slices.Concat(rows...), errors.Join(failed...)
}

// progress prints lines in their order, each as soon as those before it are there.
type progress struct {
	out     io.Writer
	mu      sync.Mutex
	lines   []string
	printed int
}

func (p *progress) done(i int, line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines[i] = line
	for p.printed < len(p.lines) && p.lines[p.printed] != "" {
		fmt.Fprint(p.out, p.lines[p.printed])
		p.printed++
	}
}

func indent(text string) string { return "      " + strings.ReplaceAll(text, "\n", "\n      ") }

// newShell runs commands as a reader would type them, in the root of the repository,
// with our programs on the path.
func newShell(ctx context.Context, o options, cluster *demoCluster) (console.Shell, error) {
	shell, err := readersShell(o, cluster.Kubeconfig(), cluster.dir)
	if err != nil {
		return shell, err
	}
	config, err := cluster.Config()
	if err != nil {
		return shell, err
	}
	changes, err := examples.FollowChanges(ctx, config)
	if err != nil {
		return shell, err
	}
	shell.Watch = changes.Watch
	// In this process, paths are from its directory.
	if here, err := filepath.Abs(o.repository); err == nil && here == cwd() {
		command, err := kubectl.New(cluster.Kubeconfig())
		if err != nil {
			return shell, err
		}
		shell.Builtin = command.Builtin
	}
	return shell, nil
}

func cwd() string {
	dir, _ := os.Getwd()
	return dir
}

func readersShell(o options, kubeconfig, dir string) (console.Shell, error) {
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
	return console.Shell{Dir: o.repository, Env: env, Patience: patience, Pause: 3 * time.Second}, nil
}

// removeNamespaces makes room after an example that did not get as far as its end.
func removeNamespaces(ctx context.Context, client kubernetes.Interface, names []string) error {
	var errs []error
	for _, name := range names {
		errs = append(errs, examples.RemoveNamespace(ctx, client, name))
	}
	return errors.Join(errs...)
}
