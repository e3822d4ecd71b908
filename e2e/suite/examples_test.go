package suite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/dray-dev/dray/e2e/console"
	"github.com/dray-dev/dray/e2e/examples"
	"github.com/dray-dev/dray/e2e/kubectl"
)

func TestExamplePrioritizedList(t *testing.T) { exampleOnKind(t, "prioritized-list") }
func TestExampleDynamicMIG(t *testing.T)      { exampleOnKind(t, "dynamic-mig") }
func TestExampleDistinctNUMA(t *testing.T)    { exampleOnKind(t, "distinct-numa") }
func TestExampleAdminAccess(t *testing.T)     { exampleOnKind(t, "admin-access") }
func TestExampleTaints(t *testing.T)          { exampleOnKind(t, "taints") }
func TestExampleSharedClaim(t *testing.T)     { exampleOnKind(t, "shared-claim") }
func TestExampleAllDevices(t *testing.T)      { exampleOnKind(t, "all-devices") }
func TestExampleDoesNotFit(t *testing.T)      { exampleOnKind(t, "does-not-fit") }

// exampleOnKind runs the commands of an example's README and compares what they print.
func exampleOnKind(t *testing.T, name string) {
	t.Helper()
	k, ok := cluster.hands.(*kind)
	if !ok {
		t.Skip("this is for kind's machines: make demo runs all examples on the local cluster")
	}
	promise(t, "example "+name+" does on kind what its README says", func(s *scene) {
		all, err := examples.Load(repository)
		s.must(err)
		i := slices.IndexFunc(all, func(e examples.Example) bool { return e.Name == name })
		if i < 0 {
			s.Fatalf("there is no example %s", name)
		}
		shell := s.examplesShell(k, s.oneOfEachMachine())
		s.makeNamespacesOf(all[i])
		s.Cleanup(func() { s.endExample(all[i], shell) })
		s.must(all[i].Run(s.ctx, shell, nil))
	})
}

// examplesShell runs kubectl in a copy of the examples for the names of these nodes.
func (s *scene) examplesShell(k *kind, nodes []corev1.Node) console.Shell {
	s.Helper()
	names, dir := examples.NamesOf(nodes), s.TempDir()
	s.must(names.Copy(repository, dir))
	command, err := kubectl.New(k.Kubeconfig())
	s.must(err)
	s.Chdir(dir) // from there kubectl takes its paths
	return console.Shell{Dir: dir, Patience: patience, Pause: time.Second,
		Builtin: func(ctx context.Context, line string, out, complaints io.Writer) (bool, error) {
			var printed bytes.Buffer
			ours, failed := command.Builtin(ctx, line, &printed, complaints)
			if !ours {
				return true, fmt.Errorf("%q is no command that this test has: kubectl get, apply or delete, and no more", line)
			}
			_, err := io.WriteString(out, names.Printed(printed.String()))
			return true, errors.Join(failed, err)
		}}
}

// oneOfEachMachine keeps pods from all nodes of a machine but the first, until the test is
// over: of a machine that READMEs name, their cluster has one node. It returns all nodes.
func (s *scene) oneOfEachMachine() []corev1.Node {
	s.Helper()
	nodes := cluster.client.CoreV1().Nodes()
	list, err := nodes.List(s.ctx, everything)
	s.must(err)
	cordon := func(node string, yes bool) error {
		_, err := nodes.Patch(s.ctx, node, types.StrategicMergePatchType, fmt.Appendf(nil, `{"spec":{"unschedulable":%t}}`, yes), metav1.PatchOptions{})
		return err
	}
	seen := map[string]bool{}
	for i := range list.Items {
		node := list.Items[i].Name
		machine := list.Items[i].Labels[corev1.LabelInstanceTypeStable]
		if !seen[machine] {
			seen[machine] = true
			continue
		}
		s.Cleanup(func() {
			s.eventually("pods are to be let on node "+node+" again", func() error {
				if err := cordon(node, false); err != nil {
					return err
				}
				return s.cordoned(node, false)
			})
		})
		s.must(cordon(node, true))
		s.eventually("pods are to be kept from node "+node, func() error { return s.cordoned(node, true) })
	}
	return list.Items
}

// cordoned is nil if the taint by which a controller says it is there, or is not.
func (s *scene) cordoned(name string, want bool) error {
	node, err := cluster.client.CoreV1().Nodes().Get(s.ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	is := slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeUnschedulable })
	if is != want {
		return fmt.Errorf("its taints are %v", node.Spec.Taints)
	}
	return nil
}

// makeNamespacesOf makes those of an example and waits for their accounts: a manifest that
// has a namespace and a pod in it can come too early for a busy cluster.
func (s *scene) makeNamespacesOf(e examples.Example) {
	s.Helper()
	for _, name := range e.Namespaces {
		_, err := cluster.client.CoreV1().Namespaces().Create(s.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		s.must(err)
		s.eventually("namespace "+name+" is to have its account", func() error {
			_, err := cluster.client.CoreV1().ServiceAccounts(name).Get(s.ctx, "default", metav1.GetOptions{})
			return err
		})
	}
}

// endExample removes what is left of an example that failed, and keeps it to be looked at.
func (s *scene) endExample(e examples.Example, shell console.Shell) {
	s.Helper()
	if s.Failed() {
		for _, namespace := range e.Namespaces {
			dir, err := failureFolder(filepath.Join(s.Name(), namespace))
			if err == nil {
				err = keep(s.ctx, dir, namespace)
			}
			s.Logf("what is left of namespace %s is in %s (%v)", namespace, dir, err)
		}
		for _, step := range e.Steps {
			if strings.HasPrefix(step.Command, "kubectl delete ") {
				_, _ = shell.Run(s.ctx, step) // what was not applied is not there
			}
		}
	}
	for _, namespace := range e.Namespaces {
		s.eventually("namespace "+namespace+" is to be gone", func() error {
			err := cluster.client.CoreV1().Namespaces().Delete(s.ctx, namespace, metav1.DeleteOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return fmt.Errorf("it is there: %v", err)
		})
	}
}
