package driver_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/dray-dev/dray/hwsim/fault"
)

// asPod lets the node's driver call the API server as its pod would, with the rights
// that are shipped and no others.
func (n *node) asPod() {
	n.t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", "kubeletplugin", "rbac.yaml"))
	if err != nil {
		n.t.Fatal(err)
	}
	var role rbacv1.ClusterRole
	var binding rbacv1.ClusterRoleBinding
	for _, document := range strings.Split(string(text), "\n---\n") {
		var kind metav1.TypeMeta
		err := yaml.Unmarshal([]byte(document), &kind)
		switch kind.Kind {
		case "ClusterRole":
			err = errors.Join(err, yaml.UnmarshalStrict([]byte(document), &role))
		case "ClusterRoleBinding":
			err = errors.Join(err, yaml.UnmarshalStrict([]byte(document), &binding))
		}
		if err != nil {
			n.t.Fatal(err)
		}
	}
	_, roleErr := n.client.RbacV1().ClusterRoles().Create(n.t.Context(), &role, metav1.CreateOptions{})
	_, bindingErr := n.client.RbacV1().ClusterRoleBindings().Create(n.t.Context(), &binding, metav1.CreateOptions{})
	for _, err := range []error{roleErr, bindingErr} {
		if err != nil && !apierrors.IsAlreadyExists(err) {
			n.t.Fatal(err)
		}
	}
	config, err := clientcmd.LoadFromFile(n.kubeconfig)
	if err != nil {
		n.t.Fatal(err)
	}
	account := binding.Subjects[0]
	for _, user := range config.AuthInfos {
		user.Impersonate = fmt.Sprintf("system:serviceaccount:%s:%s", account.Namespace, account.Name)
		user.ImpersonateGroups = []string{"system:serviceaccounts", "system:serviceaccounts:" + account.Namespace, "system:authenticated"}
		user.ImpersonateUserExtra = map[string][]string{"authentication.kubernetes.io/node-name": {n.name}}
	}
	n.kubeconfig = n.path("kubeconfig")
	if err := clientcmd.WriteToFile(*config, n.kubeconfig); err != nil {
		n.t.Fatal(err)
	}
}

// TestTheRightsThatAreShippedAreEnough for slices, claims and statuses, with nothing
// refused on the way.
func TestTheRightsThatAreShippedAreEnough(t *testing.T) {
	n := newNode(t, "two-gpus")
	n.asPod()
	driver := n.start(nil)
	n.published("the GPUs", hasDevice("gpu-1"))
	k, claim := n.kubelet(), n.claim("a", "gpu-1")
	if _, err := k.prepare(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	ready := func(status metav1.ConditionStatus) {
		t.Helper()
		n.eventually("status.devices", func() error {
			object, err := n.client.ResourceV1().ResourceClaims("default").Get(t.Context(), claim.Name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if len(object.Status.Devices) != 1 || object.Status.Devices[0].Conditions[0].Status != status {
				return fmt.Errorf("it is %+v", object.Status.Devices)
			}
			return nil
		})
	}
	ready(metav1.ConditionTrue)
	n.inject(fault.Fault{XID: &fault.XID{GPU: "1", Code: 119}})
	n.published("the taint", hasTaint("gpu-1", fault.TaintXID))
	ready(metav1.ConditionFalse)
	if err := k.unprepare(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	// Fewer slices than before: the helper deletes.
	n.inject(fault.Fault{PoolVanished: &fault.PoolVanished{For: fault.Duration(time.Hour)}})
	n.eventually("no slices", n.hasNoSlices)
	if log := driver.log(); strings.Contains(log, "forbidden") {
		t.Error("something was forbidden")
	}
}
