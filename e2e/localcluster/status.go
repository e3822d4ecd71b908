package localcluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// ErrNoCluster: there is no cluster in the folder, or it does not run.
var ErrNoCluster = errors.New("start one with dray-local up")

// Status is a cluster as it is seen from another process.
type Status struct {
	Owner      int // process that runs it
	Kubernetes string
	Server     string // address of the API server
	Kubeconfig string
	Roles      []RoleStatus
	// Nodes of the cluster by name, or why they are not known.
	Nodes        []NodeStatus
	NodesProblem error
}

// RoleStatus is one server.
type RoleStatus struct {
	Role    Role
	Address string
	Problem error // nil: ready
}

// Ready says whether all servers are.
func (s *Status) Ready() bool {
	for _, role := range s.Roles {
		if role.Problem != nil {
			return false
		}
	}
	return s.NodesProblem == nil
}

// Attach is the cluster that another process runs in the folder. What starts and ends
// servers is that process's own.
func Attach(dir string) (*Cluster, error) {
	f, _, err := running(dir)
	if err != nil {
		return nil, err
	}
	c := &Cluster{dir: f}
	if c.state, err = readState(f); err != nil {
		return nil, err
	}
	if c.health, err = healthClient(f); err != nil {
		return nil, fmt.Errorf("the cluster is being made: %w", err)
	}
	c.nodes, err = listNodes(f)
	return c, err
}

// Inspect asks the servers of the cluster in the folder how they are.
func Inspect(ctx context.Context, dir string) (*Status, error) {
	c, err := Attach(dir)
	if err != nil {
		return nil, err
	}
	owner, _ := readOwner(c.dir)
	status := &Status{Owner: owner, Kubernetes: c.state.Kubernetes, Server: c.Server(), Kubeconfig: c.Kubeconfig()}
	for _, of := range Roles() {
		if roles[of].onNodes && len(c.nodes) == 0 {
			continue
		}
		address := ""
		if of.hasPort() {
			address = c.url(of, "")
		}
		status.Roles = append(status.Roles, RoleStatus{of, address, c.probe(ctx, of)})
	}
	if len(c.nodes) > 0 {
		status.Nodes, status.NodesProblem = c.Nodes(ctx)
	}
	return status, nil
}

// End ends the cluster in the folder as Ctrl-C would, and returns when it is down.
func End(ctx context.Context, dir string) error {
	_, owner, err := running(dir)
	if err != nil {
		return err
	}
	if err := syscall.Kill(owner, syscall.SIGTERM); err != nil {
		return fmt.Errorf("end process %d, which runs the cluster: %w", owner, err)
	}
	const patience = time.Minute
	err = wait.PollUntilContextTimeout(ctx, poll, patience, true, func(context.Context) (bool, error) {
		_, _, err := running(dir)
		return errors.Is(err, ErrNoCluster), nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return fmt.Errorf("process %d does not end in %s", owner, patience)
	}
	return err
}

// Remove removes the cluster in the folder, which must not run, and its data.
func Remove(dir string) error {
	if _, owner, err := running(dir); err == nil {
		return fmt.Errorf("%w: process %d has %s", ErrRunning, owner, dir)
	}
	if _, err := os.Stat(filepath.Join(dir, "cluster.json")); err != nil {
		return fmt.Errorf("%s is not the folder of a cluster, and stays: %w", dir, err)
	}
	return os.RemoveAll(dir)
}

// KubeconfigIn is the path of the administrator's kubeconfig of the cluster in the
// folder, which need not run.
func KubeconfigIn(dir string) (string, error) {
	return existing(dir, func(f folder) string { return f.kubeconfig(string(userAdmin)) })
}

// LogIn is the path of a server's log.
func LogIn(dir string, of Role) (string, error) {
	if _, ok := roles[of]; !ok {
		return "", fmt.Errorf("no server is named %q; there are %v", of, Roles())
	}
	return existing(dir, func(f folder) string { return f.log(of) })
}

func existing(dir string, name func(folder) string) (string, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	path := name(folder(absolute))
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("there is no %s: %w", path, ErrNoCluster)
	} else if err != nil {
		return "", err
	}
	return path, nil
}

// running returns the process that runs the cluster in the folder.
func running(dir string) (folder, int, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return "", 0, err
	}
	f := folder(absolute)
	free, err := isFree(f)
	if err != nil {
		return "", 0, err
	}
	owner, ok := readOwner(f)
	if free || !ok {
		return "", 0, fmt.Errorf("no cluster runs in %s: %w", absolute, ErrNoCluster)
	}
	return f, owner, nil
}
