package kindcluster

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// DriverConfig has the rights of the driver on a node: a token that is bound to the
// driver's pod there, as the one is that the pod has.
func (c *Cluster) DriverConfig(ctx context.Context, node string) (*rest.Config, error) {
	pods, err := c.driverPods(ctx)
	if err != nil {
		return nil, err
	}
	for i := range pods {
		if pods[i].Spec.NodeName == node {
			return c.as(ctx, driverAccount, &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pods[i].Name, UID: pods[i].UID})
		}
	}
	return nil, fmt.Errorf("node %s has no driver", node)
}

// SchedulerConfig has the rights of the scheduler.
func (c *Cluster) SchedulerConfig(ctx context.Context) (*rest.Config, error) {
	return c.as(ctx, schedulerName, nil)
}

func (c *Cluster) as(ctx context.Context, account string, bound *authenticationv1.BoundObjectReference) (*rest.Config, error) {
	token, err := c.client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, account,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{BoundObjectRef: bound}}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("token of %s: %w", account, err)
	}
	config := rest.AnonymousClientConfig(c.config)
	config.QPS = -1
	config.BearerToken = token.Status.Token
	return config, nil
}
