package localcluster

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/dray-dev/dray/kubeletplugin/publish"
)

// DriverAccount is the ServiceAccount of the driver on all nodes, in kube-system. Its
// tokens are bound to a Node each: who holds one can do for that node alone what rules
// and policy tie to a node.
const DriverAccount = "dray-kubeletplugin"

// setUpDriver makes what an installation of the driver makes: the ServiceAccount, its
// rights, the policy about its slices, and DeviceClasses.
func (c *Cluster) setUpDriver(ctx context.Context) error {
	client, err := c.client()
	if err != nil {
		return err
	}
	rights, err := readRights(c.driverName())
	if err != nil {
		return err
	}
	if err := createOrUpdate(ctx, client.CoreV1().ServiceAccounts(systemNamespace), rights.account); err != nil {
		return err
	}
	if err := createOrUpdate(ctx, client.RbacV1().ClusterRoles(), rights.role); err != nil {
		return err
	}
	if err := createOrUpdate(ctx, client.RbacV1().ClusterRoleBindings(), rights.binding); err != nil {
		return err
	}
	policy, binding := slicePolicy()
	if err := createOrUpdate(ctx, client.AdmissionregistrationV1().ValidatingAdmissionPolicies(), policy); err != nil {
		return err
	}
	if err := createOrUpdate(ctx, client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings(), binding); err != nil {
		return err
	}
	made, err := publish.DeviceClasses(c.state.Driver.publish())
	if err != nil {
		return err
	}
	for i := range made {
		if err := createOrUpdate(ctx, client.ResourceV1().DeviceClasses(), &made[i]); err != nil {
			return fmt.Errorf("DeviceClass %s: %w", made[i].Name, err)
		}
	}
	return nil
}

// objects of one kind.
type objects[T metav1.Object] interface {
	Get(context.Context, string, metav1.GetOptions) (T, error)
	Create(context.Context, T, metav1.CreateOptions) (T, error)
	Update(context.Context, T, metav1.UpdateOptions) (T, error)
}

// createOrUpdate makes an object be as given, whether or not it is there.
func createOrUpdate[T metav1.Object](ctx context.Context, of objects[T], object T) error {
	_, err := of.Create(ctx, object, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	present, err := of.Get(ctx, object.GetName(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	object.SetResourceVersion(present.GetResourceVersion())
	_, err = of.Update(ctx, object, metav1.UpdateOptions{})
	return err
}

// shippedRights is deploy/kubeletplugin/rbac.yaml; a test compares them, since a program
// cannot embed a file of another directory.
//
//go:embed driver.yaml
var shippedRights []byte

// rights are what an installation gives to the driver.
type rights struct {
	account *corev1.ServiceAccount
	role    *rbacv1.ClusterRole
	binding *rbacv1.ClusterRoleBinding
}

// readRights reads those that Dray ships, for a driver of any name.
func readRights(driver string) (*rights, error) {
	r := &rights{}
	for document := range strings.SplitSeq(string(shippedRights), "\n---\n") {
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode([]byte(document), nil, nil)
		if err != nil {
			return nil, fmt.Errorf("rights of the driver: %w", err)
		}
		switch of := object.(type) {
		case *corev1.ServiceAccount:
			r.account = of
		case *rbacv1.ClusterRole:
			r.role = of
		case *rbacv1.ClusterRoleBinding:
			r.binding = of
		}
	}
	if r.account == nil || r.role == nil || r.binding == nil || r.account.Name != DriverAccount || r.account.Namespace != systemNamespace {
		return nil, fmt.Errorf("rights of the driver: they are not of a ServiceAccount %s/%s with a role and its binding", systemNamespace, DriverAccount)
	}
	for i := range r.role.Rules {
		for j, name := range r.role.Rules[i].ResourceNames {
			if name == publish.DrayDrivers().GPU {
				r.role.Rules[i].ResourceNames[j] = driver
			}
		}
	}
	return r, nil
}

// slicePolicy refuses slices that the driver's account writes for another node than the
// one that its token is bound to, or into the pool of another: a slice of a higher
// generation would take the place of all that are in it. The driver asks in a pool of its
// own, and without storing anything, what the API server keeps.
func slicePolicy() (*admissionv1.ValidatingAdmissionPolicy, *admissionv1.ValidatingAdmissionPolicyBinding) {
	fail := admissionv1.Fail
	name := "resourceslices-policy-" + DriverAccount
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: &fail,
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
				Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update, admissionv1.Delete},
				Rule:       admissionv1.Rule{APIGroups: []string{resourceapi.GroupName}, APIVersions: []string{"*"}, Resources: []string{"resourceslices"}},
			}}}},
			MatchConditions: []admissionv1.MatchCondition{{Name: "the-driver",
				Expression: `request.userInfo.username == "system:serviceaccount:` + systemNamespace + ":" + DriverAccount + `"`}},
			Variables: []admissionv1.Variable{
				{Name: "node", Expression: `request.userInfo.extra[?"authentication.kubernetes.io/node-name"][?0].orValue("")`},
				{Name: "slice", Expression: `request.operation == "DELETE" ? oldObject : object`},
			},
			Validations: []admissionv1.Validation{
				{Expression: `variables.node != ""`, Message: "the token is not bound to a node"},
				{Expression: `variables.slice.spec.?nodeName.orValue("") == variables.node`,
					MessageExpression: `"the driver on node " + variables.node + " may not write slices of node '" + variables.slice.spec.?nodeName.orValue("") + "'"`},
				{Expression: `request.operation == "DELETE" || variables.slice.spec.pool.name in [variables.node, variables.node + ".probe"]`,
					MessageExpression: `"the driver on node " + variables.node + " may not write slices of pool '" + variables.slice.spec.pool.name + "'"`},
			},
		},
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}},
	}
	return policy, binding
}

// writeDriverTokens writes nodes/NAME/driver.yaml and the token beside it, which
// clients read again from time to time.
func (c *Cluster) writeDriverTokens(ctx context.Context, nodes []string) error {
	client, err := c.client()
	if err != nil {
		return err
	}
	for _, name := range nodes {
		node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("token of the driver on node %s: %w", name, err)
		}
		seconds := int64(tokenLife / time.Second)
		answer, err := client.CoreV1().ServiceAccounts(systemNamespace).CreateToken(ctx, DriverAccount, &authenticationv1.TokenRequest{
			Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds,
				BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Node", Name: name, UID: node.UID}},
		}, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("token of the driver on node %s: %w", name, err)
		}
		file := c.dir.node(name, "driver.token")
		if err := writeFile(file, []byte(answer.Status.Token)); err != nil {
			return err
		}
		if err := c.writeConfigTo(c.dir.node(name, "driver.yaml"), DriverAccount, c.url(APIServer, ""), &clientcmdapi.AuthInfo{TokenFile: file}); err != nil {
			return err
		}
	}
	return nil
}

// DriverKubeconfig is the path of the kubeconfig that the driver has on a node.
func (c *Cluster) DriverKubeconfig(node string) string { return c.dir.node(node, "driver.yaml") }

// client is the administrator's.
func (c *Cluster) client() (kubernetes.Interface, error) {
	config, err := c.Config()
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}
