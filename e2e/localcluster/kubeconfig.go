package localcluster

import (
	"fmt"
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// clientUser is a user whose certificate is in pki/ under its name.
type clientUser string

const (
	userAdmin       clientUser = "admin"
	userControllers clientUser = "kube-controller-manager"
)

// writeKubeconfig writes the kubeconfig of a user and returns its path. Keys are
// part of it, so that the file can be copied elsewhere.
func (c *Cluster) writeKubeconfig(user clientUser) (string, error) {
	cert, err := os.ReadFile(c.dir.pki(string(user) + ".crt"))
	if err != nil {
		return "", fmt.Errorf("read the certificate of %s: %w", user, err)
	}
	key, err := os.ReadFile(c.dir.pki(string(user) + ".key"))
	if err != nil {
		return "", fmt.Errorf("read the key of %s: %w", user, err)
	}
	return c.writeConfig(string(user), c.url(APIServer, ""), &clientcmdapi.AuthInfo{ClientCertificateData: cert, ClientKeyData: key})
}

// writeTokenKubeconfig writes the kubeconfig of a user who has a token.
func (c *Cluster) writeTokenKubeconfig(name, server, token string) (string, error) {
	return c.writeConfig(name, server, &clientcmdapi.AuthInfo{Token: token})
}

func (c *Cluster) writeConfig(user, server string, auth *clientcmdapi.AuthInfo) (string, error) {
	path := c.dir.kubeconfig(user)
	return path, c.writeConfigTo(path, user, server, auth)
}

func (c *Cluster) writeConfigTo(path, user, server string, auth *clientcmdapi.AuthInfo) error {
	authority, err := os.ReadFile(c.dir.pki("ca.crt"))
	if err != nil {
		return fmt.Errorf("read the certificate of the authority: %w", err)
	}
	const cluster = "dray-local"
	content, err := clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{cluster: {Server: server, CertificateAuthorityData: authority}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{user: auth},
		Contexts:       map[string]*clientcmdapi.Context{cluster: {Cluster: cluster, AuthInfo: user}},
		CurrentContext: cluster,
	})
	if err != nil {
		return fmt.Errorf("kubeconfig of %s: %w", user, err)
	}
	return writeFile(path, content)
}

// Kubeconfig is the path of the administrator's kubeconfig.
func (c *Cluster) Kubeconfig() string { return c.dir.kubeconfig(string(userAdmin)) }

// Config is how the administrator reaches the API server. It does not limit the
// rate of calls.
func (c *Cluster) Config() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig())
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	return config, nil
}
