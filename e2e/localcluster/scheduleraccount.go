package localcluster

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
)

const (
	systemNamespace  = metav1.NamespaceSystem
	schedulerAccount = "dray-scheduler"
	// tokenLife of the scheduler: a token is made at each start of it.
	tokenLife = 365 * 24 * time.Hour
)

// The roles of the scheduler's ServiceAccount, as docs/scheduler.md names them.
var (
	schedulerClusterRoles = []string{"system:kube-scheduler", "system:volume-scheduler"}
	schedulerRoles        = []string{"extension-apiserver-authentication-reader", "system::leader-locking-kube-scheduler"}
)

// schedulerToken makes the ServiceAccount, if it is not there, and a token for it.
func (c *Cluster) schedulerToken(ctx context.Context) (string, error) {
	config, err := c.Config()
	if err != nil {
		return "", err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return "", err
	}
	if err := bindScheduler(ctx, client); err != nil {
		return "", fmt.Errorf("make the ServiceAccount %s: %w", schedulerAccount, err)
	}
	seconds := int64(tokenLife / time.Second)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	answer, err := client.CoreV1().ServiceAccounts(systemNamespace).CreateToken(ctx, schedulerAccount, request, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("make a token for %s: %w", schedulerAccount, err)
	}
	return answer.Status.Token, nil
}

func bindScheduler(ctx context.Context, client kubernetes.Interface) error {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: schedulerAccount}}
	// A new API server is ready a moment before it has made its namespaces.
	err := wait.PollUntilContextTimeout(ctx, poll, time.Minute, true, func(ctx context.Context) (bool, error) {
		_, err := client.CoreV1().ServiceAccounts(systemNamespace).Create(ctx, account, metav1.CreateOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return true, ignoreExists(err)
	})
	if err != nil {
		return err
	}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: systemNamespace, Name: schedulerAccount}}
	for _, role := range schedulerClusterRoles {
		_, err := client.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: schedulerAccount + ":" + role},
			Subjects:   subjects,
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		}, metav1.CreateOptions{})
		if ignoreExists(err) != nil {
			return err
		}
	}
	for _, role := range schedulerRoles {
		_, err := client.RbacV1().RoleBindings(systemNamespace).Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: schedulerAccount + ":" + role},
			Subjects:   subjects,
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role},
		}, metav1.CreateOptions{})
		if ignoreExists(err) != nil {
			return err
		}
	}
	return nil
}

func ignoreExists(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}
