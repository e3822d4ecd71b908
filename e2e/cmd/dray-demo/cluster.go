package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/dray-dev/dray/e2e/examples"
	"github.com/dray-dev/dray/e2e/localcluster"
)

// demoCluster is the cluster of the demonstration.
type demoCluster struct {
	*localcluster.Cluster
	o      options
	dir    string
	client kubernetes.Interface
}

// startCluster makes a new cluster with the machines of the examples.
func startCluster(ctx context.Context, out io.Writer, o options) (*demoCluster, error) {
	dir, err := filepath.Abs(o.dir)
	if err != nil {
		return nil, err
	}
	if err := empty(dir); err != nil {
		return nil, err
	}
	binary, err := filepath.Abs(filepath.Join(o.binaries, "dray-local"))
	if err != nil {
		return nil, err
	}
	options := localcluster.Options{Dir: dir, Binary: binary, FeatureGates: localcluster.AllGates,
		Driver: &localcluster.DriverOptions{MIG: "dynamic", Evict: true},
		Say:    func(format string, args ...any) { fmt.Fprintf(out, "  "+format+"\n", args...) }}
	if options.Fleet, err = examples.Fleet(o.seed); err != nil {
		return nil, err
	}
	fmt.Fprintf(out, "A cluster of simulated machines, with all features of Kubernetes, in %s:\n", o.dir)
	started, err := localcluster.Start(ctx, options)
	if err != nil {
		return nil, err
	}
	c := &demoCluster{Cluster: started, o: o, dir: dir}
	if err := c.furnish(ctx); err != nil {
		started.Stop()
		return nil, err
	}
	fmt.Fprintf(out, "  %d nodes\n", len(started.NodeNames()))
	return c, nil
}

// furnish adds what no driver of a node publishes.
func (c *demoCluster) furnish(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig())
	if err != nil {
		return err
	}
	config.QPS = -1
	if c.client, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	return examples.PublishOthers(ctx, c.client, c.o.seed)
}

// marker is in a folder that was a cluster's: nothing else is emptied.
const marker = "cluster.json"

// empty removes the cluster of the last time.
func empty(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("--dir: %w", err)
	}
	if _, err := os.Stat(filepath.Join(dir, marker)); err != nil {
		return fmt.Errorf("--dir: %s is not empty and has no %s, so it is not the folder of a cluster: choose another one", dir, marker)
	}
	if status, err := localcluster.Inspect(context.Background(), dir); err == nil {
		return fmt.Errorf("--dir: a cluster runs in %s, of process %d: end it first, dray-local down --dir %s", dir, status.Owner, dir)
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("--dir: %w", err)
	}
	return nil
}

func (c *demoCluster) end() { c.Stop() }

// whileItRuns is a context that ends when a server ends by itself, which is its cause
// then. Until it ends, dray-local can restart servers. What is returned ends it.
func (c *demoCluster) whileItRuns(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	control := make(chan struct{})
	go func() {
		defer close(control)
		if err := c.ServeControl(ctx); err != nil {
			cancel(err)
		}
	}()
	go func() {
		select {
		case err := <-c.Exited():
			cancel(err)
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-control // nothing is started any more
	}
}

// keepLogs says where to look after a failure.
func (c *demoCluster) keepLogs(out io.Writer) {
	fmt.Fprintf(out, "\nThe logs are in %s.\n", filepath.Dir(c.Log(localcluster.APIServer)))
}

// sayNext says what to type next.
func (c *demoCluster) sayNext(out io.Writer) {
	fmt.Fprintf(out, `
Next, the same cluster again, until Ctrl-C:
  %[1]s/dray-local up --dir %[2]s
and beside it, in another terminal:
  export DRAY_LOCAL=%[3]s KUBECONFIG=%[4]s PATH=$PWD/%[1]s:$PATH
  kubectl apply -f %[5]s/does-not-fit/example.yaml
  dray-local explain does-not-fit/greedy
  dray-local status                                      # nodes and their devices
  kubectl get resourceslices,deviceclasses
  less %[5]s/README.md docs/getting-started.md
`, c.o.binaries, c.o.dir, c.dir, c.Kubeconfig(), examples.Folder)
}
