package kindcluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

// Options say which cluster to make. All but Image and Offer must be given.
type Options struct {
	// Kind is the program kind, and Tool the container engine's: docker or podman.
	Kind, Tool string
	// Image is the image of nodes; kind's own choice if empty.
	Image string
	// Name of the cluster. One that is left of this name is deleted.
	Name string
	// Root of the repository, for deploy/.
	Root string
	// Dir is a folder of the cluster's own, which is made: the kubeconfig, and the
	// hardware of its nodes.
	Dir string
	// Images are loaded into all nodes. A name that a container engine has as the value
	// gets the key as its name there.
	Images map[string]string
	// Offer is an extended resource that every node has as if by a device plugin; none if
	// empty.
	Offer string
	// Say is told what happens, a line at a time.
	Say func(format string, args ...any)
}

// Cluster is a cluster that runs.
type Cluster struct {
	options Options
	config  *rest.Config
	client  kubernetes.Interface
	nodes   []string // sorted
	updates int
}

// patience is how long a step may take that takes seconds on an idle machine.
const patience = 5 * time.Minute

// until asks until there is no error, or the patience is over.
func until(ctx context.Context, what string, ask func(context.Context) error) error {
	last := fmt.Errorf("it was not asked")
	err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		last = ask(ctx)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w", what, last)
	}
	return nil
}

// Start makes a cluster and returns when Dray runs on it. If it fails, the cluster is
// there to be looked at; Stop deletes it.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	c := &Cluster{options: options}
	steps := []struct {
		say string
		do  func(context.Context) error
	}{
		{"creating the cluster", c.create},
		{"connecting its pods", c.connectPods},
		{"loading images", c.load},
		{"applying deploy/", c.install},
	}
	for _, step := range steps {
		began := time.Now()
		if err := step.do(ctx); err != nil {
			return c, fmt.Errorf("kind cluster %s: %s: %w", options.Name, step.say, err)
		}
		options.Say("kind cluster %s: %s: %.0f s", options.Name, step.say, time.Since(began).Seconds())
	}
	return c, nil
}

// Stop deletes the cluster and its folder.
func (c *Cluster) Stop(ctx context.Context) error {
	if _, err := c.kind(ctx, "delete", "cluster", "--name", c.options.Name, "--kubeconfig", c.Kubeconfig()); err != nil {
		return err
	}
	return os.RemoveAll(c.options.Dir)
}

// Kubeconfig is the administrator's.
func (c *Cluster) Kubeconfig() string { return filepath.Join(c.options.Dir, "kubeconfig") }

// Hardware is the folder of a node's simulated hardware (hwsim/state).
func (c *Cluster) Hardware(node string) string {
	return filepath.Join(c.hardware(node), "machine") // as deploy/kubeletplugin/simulated.yaml has it
}

func (c *Cluster) hardware(node string) string { return filepath.Join(c.options.Dir, "hw", node) }

func (c *Cluster) controlPlane() string { return c.options.Name + "-control-plane" }

func (c *Cluster) create(ctx context.Context) error {
	if _, err := c.kind(ctx, "delete", "cluster", "--name", c.options.Name); err != nil {
		return err
	}
	if err := os.RemoveAll(c.options.Dir); err != nil {
		return err
	}
	if err := os.MkdirAll(c.options.Dir, 0o755); err != nil {
		return err
	}
	file, err := c.writeConfig()
	if err != nil {
		return err
	}
	args := []string{"create", "cluster", "--name", c.options.Name, "--config", file, "--kubeconfig", c.Kubeconfig(), "--retain"}
	if c.options.Image != "" {
		args = append(args, "--image", c.options.Image)
	}
	if _, err := c.kind(ctx, args...); err != nil {
		return err
	}
	if c.config, err = clientcmd.BuildConfigFromFlags("", c.Kubeconfig()); err != nil {
		return err
	}
	c.config.QPS = -1 // it does not limit the rate of calls
	c.client, err = kubernetes.NewForConfig(c.config)
	return err
}

// writeConfig adds to the configuration of the cluster where its nodes' hardware is. The
// names of nodes are those that kind gives.
func (c *Cluster) writeConfig() (string, error) {
	content, err := os.ReadFile(filepath.Join(c.options.Root, "deploy/kind/cluster.yaml"))
	if err != nil {
		return "", err
	}
	var config map[string]any
	if err := yaml.Unmarshal(content, &config); err != nil {
		return "", fmt.Errorf("deploy/kind/cluster.yaml: %w", err)
	}
	nodes, _ := config["nodes"].([]any)
	count := map[string]int{}
	for i := range nodes {
		node, _ := nodes[i].(map[string]any)
		role, _ := node["role"].(string)
		name := c.options.Name + "-" + role
		if count[role]++; count[role] > 1 {
			name += fmt.Sprint(count[role])
		}
		hardware := c.hardware(name)
		if err := os.MkdirAll(hardware, 0o755); err != nil {
			return "", err
		}
		node["extraMounts"] = []any{map[string]any{"hostPath": hardware, "containerPath": "/var/lib/dray-hwsim"}}
		c.nodes = append(c.nodes, name)
	}
	slices.Sort(c.nodes)
	content, err = yaml.Marshal(config)
	if err != nil {
		return "", err
	}
	file := filepath.Join(c.options.Dir, "cluster.yaml")
	return file, os.WriteFile(file, content, 0o600)
}

// load brings images to the nodes, under their names in manifests.
func (c *Cluster) load(ctx context.Context) error {
	archive := filepath.Join(c.options.Dir, "images.tar")
	defer os.Remove(archive)
	names := make([]string, 0, len(c.options.Images))
	for name := range c.options.Images {
		names = append(names, name)
	}
	slices.Sort(names)
	save := []string{"save", "-o", archive}
	if c.options.Tool == "podman" {
		save = append(save, "--multi-image-archive")
	}
	for _, name := range names {
		save = append(save, c.options.Images[name])
	}
	if _, err := c.engine(ctx, save...); err != nil {
		return err
	}
	if _, err := c.kind(ctx, "load", "image-archive", archive, "--name", c.options.Name); err != nil {
		return err
	}
	for _, name := range names {
		if full(name) == full(c.options.Images[name]) {
			continue
		}
		for _, node := range c.nodes {
			if _, err := c.on(ctx, node, "ctr", "--namespace", "k8s.io", "images", "tag", "--force",
				full(c.options.Images[name]), full(name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// full is the name of an image that has no registry in it, with the one that is meant.
func full(name string) string {
	if !strings.Contains(name, "/") {
		name = "library/" + name
	}
	return "docker.io/" + name
}
