package localcluster

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dray-dev/dray/hwsim/fleet"
	"github.com/dray-dev/dray/hwsim/machine"
)

// newCluster is a cluster in a folder of which nothing runs.
func newCluster(t *testing.T, options Options) *Cluster {
	t.Helper()
	short, err := os.MkdirTemp("", "d") // because of sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(short) })
	dir, err := openFolder(short)
	if err != nil {
		t.Fatal(err)
	}
	s, err := readState(dir)
	if err != nil {
		t.Fatal(err)
	}
	return &Cluster{dir: dir, state: s, options: options}
}

func twoNodes(t *testing.T) fleet.Spec {
	t.Helper()
	m, err := machine.Load("l40s")
	if err != nil {
		t.Fatal(err)
	}
	return fleet.Spec{Seed: 1, Machines: []fleet.Count{{Machine: m, Count: 2}}}
}

func TestNodesAreMadeOnceAndFoundAgain(t *testing.T) {
	c := newCluster(t, Options{Fleet: twoNodes(t)})
	want := []string{"l40s-0", "l40s-1"}
	for _, what := range []string{"made", "made again", "found"} {
		if what == "found" {
			c.options.Fleet = fleet.Spec{}
		}
		if err := c.makeNodes(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if !slices.Equal(c.nodes, want) {
			t.Errorf("%s: %v", what, c.nodes)
		}
	}
	node, err := ReadNode(c.dir.node("l40s-0", ""))
	if err != nil || node.Machine != "l40s" || node.Architecture != "amd64" || node.Capacity.Cpu().Value() == 0 {
		t.Errorf("%+v, %v", node, err)
	}
	// A node that was being made when the program was killed is made in full.
	if err := os.Remove(c.dir.node("l40s-1", "node.json")); err != nil {
		t.Fatal(err)
	}
	if err := c.makeNodes(); err != nil || len(c.nodes) != 1 {
		t.Errorf("%v, %v", c.nodes, err)
	}
	c.options.Fleet = twoNodes(t)
	if err := c.makeNodes(); err != nil || !slices.Equal(c.nodes, want) {
		t.Errorf("%v, %v", c.nodes, err)
	}
}

func TestANodeIsNotMadeOverAnother(t *testing.T) {
	c := newCluster(t, Options{Fleet: twoNodes(t)})
	c.options.Fleet.Name = "node-{{.Index}}"
	if err := c.makeNodes(); err != nil {
		t.Fatal(err)
	}
	other, err := machine.Load("t4")
	if err != nil {
		t.Fatal(err)
	}
	c.options.Fleet.Machines = []fleet.Count{{Machine: other, Count: 1}}
	if err := c.makeNodes(); !errors.Is(err, ErrOtherMachine) || !strings.Contains(err.Error(), "node-0") || !strings.Contains(err.Error(), "l40s, not t4") {
		t.Errorf("got %v", err)
	}
}

func TestASocketThatWouldBeTooLongIsSaidBeforeTheNodeIsMade(t *testing.T) {
	c := newCluster(t, Options{Fleet: twoNodes(t)})
	c.options.Fleet.Name = "a-node-with-a-name-that-is-long-enough-for-no-socket-to-fit-{{.Index}}"
	if err := c.makeNodes(); !errors.Is(err, ErrPathTooLong) {
		t.Errorf("got %v", err)
	}
	if entries, err := os.ReadDir(c.dir.path("hw")); err != nil || len(entries) > 0 {
		t.Errorf("there are %v, %v", entries, err)
	}
}

func TestHowTheDriverRunsStays(t *testing.T) {
	c := newCluster(t, Options{})
	given := &DriverOptions{Name: "gpu.example.com", MIG: "off", ExtendedResources: map[string]string{"gpu.example.com": "example.com/gpu"}}
	if err := c.state.setDriver(given); err != nil {
		t.Fatal(err)
	}
	if err := c.state.write(c.dir); err != nil {
		t.Fatal(err)
	}
	again, err := readState(c.dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.setDriver(nil); err != nil || again.Driver.name() != given.Name || again.Driver.MIG != "off" || len(again.Driver.ExtendedResources) != 1 {
		t.Errorf("%+v, %v", again.Driver, err)
	}
	for _, wrong := range []*DriverOptions{{MIG: "sometimes"}, {ExtendedResources: map[string]string{"no-such-class": "example.com/gpu"}}} {
		if err := again.setDriver(wrong); err == nil {
			t.Errorf("%+v was taken", wrong)
		}
	}
}

func TestANodeIsKnownByItsCertificate(t *testing.T) {
	dir := newFolder(t)
	if err := makePKI(dir, time.Now()); err != nil {
		t.Fatal(err)
	}
	a, err := loadAuthority(dir, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	certPEM, _, err := a.nodeCertificate("l40s-0")
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(certPEM)
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if cert.Subject.CommonName != "system:node:l40s-0" || !slices.Equal(cert.Subject.Organization, []string{"system:nodes"}) {
		t.Errorf("it is of %s", cert.Subject)
	}
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	if _, err := cert.Verify(x509.VerifyOptions{Roots: pool, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		t.Error(err)
	}
}

func TestSocketsOfDriversThatWereKilledGo(t *testing.T) {
	c := newCluster(t, Options{})
	c.nodes = []string{"a"}
	keep := c.dir.node("a", "plugins/gpu.dray.dev/checkpoint.json")
	gone := []string{c.dir.node("a", "plugins_registry/gpu.dray.dev-1-reg.sock"), c.dir.node("a", "plugins/gpu.dray.dev/dra-1.sock")}
	for _, path := range append(gone, keep) {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.removeSockets(); err != nil {
		t.Fatal(err)
	}
	for _, path := range gone {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s is there", path)
		}
	}
	if _, err := os.Stat(keep); err != nil {
		t.Error(err)
	}
}
