package server_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/dray-dev/dray/e2e/localcluster"
	"github.com/dray-dev/dray/e2e/localcluster/server"
)

// The test's binary is its own children.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "role" {
		os.Exit(server.Run(os.Args[2], os.Args[3:]))
	}
	if dir := os.Getenv(ownerDir); dir != "" {
		ownUntilKilled(dir)
	}
	os.Exit(m.Run())
}

// ownerDir makes the test's binary the owner of a cluster in that folder.
const ownerDir = "DRAY_LOCALCLUSTER_OWNER"

func ownUntilKilled(dir string) {
	_, err := localcluster.Start(context.Background(), localcluster.Options{Dir: dir, Roles: []localcluster.Role{localcluster.Etcd}})
	fmt.Println("started:", err)
	select {}
}

func start(t *testing.T, options localcluster.Options) *localcluster.Cluster {
	t.Helper()
	options.Say = t.Logf
	cluster, err := localcluster.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	return cluster
}

func client(t *testing.T, cluster *localcluster.Cluster, change func(*rest.Config)) kubernetes.Interface {
	t.Helper()
	config, err := cluster.Config()
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(config)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestAClusterGoesOnFromItsData(t *testing.T) {
	dir := t.TempDir()
	cluster := start(t, localcluster.Options{Dir: dir})
	namespaces := client(t, cluster, nil).CoreV1().Namespaces()
	if _, err := namespaces.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	// An API server that dies takes nothing with it.
	if err := cluster.Kill(localcluster.APIServer); err != nil {
		t.Fatal(err)
	}
	if err := cluster.StartRole(t.Context(), localcluster.APIServer); err != nil {
		t.Fatal(err)
	}
	cluster.Stop()
	cluster = start(t, localcluster.Options{Dir: dir, Roles: []localcluster.Role{localcluster.Etcd, localcluster.APIServer}})
	defer cluster.Stop()
	if _, err := client(t, cluster, nil).CoreV1().Namespaces().Get(t.Context(), "kept", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	nobody := client(t, cluster, func(config *rest.Config) { *config = *rest.AnonymousClientConfig(config) })
	if _, err := nobody.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("nobody in particular lists namespaces: %v", err)
	}
	select {
	case err := <-cluster.Exited():
		t.Error(err)
	default:
	}
}

func TestServersDieWithTheProgram(t *testing.T) {
	dir := t.TempDir()
	owner := exec.Command(os.Args[0])
	owner.Env = append(os.Environ(), ownerDir+"="+dir)
	output, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(output).ReadString('\n')
	if err == nil && strings.TrimSpace(line) != "started: <nil>" {
		err = fmt.Errorf("it says %q", line)
	}
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait()
	if err != nil {
		t.Fatal(err)
	}
	// The lock is the children's as well, so this start shows that they are dead.
	start(t, localcluster.Options{Dir: dir, Roles: []localcluster.Role{localcluster.Etcd}}).Stop()
}

func TestAServerThatDoesNotStartSaysWhy(t *testing.T) {
	_, err := localcluster.Start(t.Context(), localcluster.Options{Dir: t.TempDir(), FeatureGates: "NoSuchFeature=true"})
	if err == nil || !strings.Contains(err.Error(), "kube-apiserver ended by itself") || !strings.Contains(err.Error(), "NoSuchFeature") {
		t.Errorf("got %v", err)
	}
}
