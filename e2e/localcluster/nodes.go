package localcluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/dray-dev/dray/hwsim/fleet"
	"github.com/dray-dev/dray/hwsim/machine"
	hwstate "github.com/dray-dev/dray/hwsim/state"
)

// NodeFile is nodes/NAME/node.json, by which the role hollow-nodes knows a node.
type NodeFile struct {
	Machine      string              `json:"machine"`
	Architecture string              `json:"architecture"`
	Labels       map[string]string   `json:"labels,omitempty"`
	Capacity     corev1.ResourceList `json:"capacity,omitempty"`
}

// ReadNode reads the node.json of a folder of a node.
func ReadNode(dir string) (*NodeFile, error) {
	path := filepath.Join(dir, "node.json")
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	node := &NodeFile{}
	if err := json.Unmarshal(content, node); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", path, err)
	}
	return node, nil
}

// NodeNames are the nodes whose folders are in a directory, sorted.
func NodeNames(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		// A folder without the file is of a node that was being made.
		if _, err := os.Stat(filepath.Join(dir, entry.Name(), "node.json")); err == nil {
			names = append(names, entry.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

func listNodes(dir folder) ([]string, error) { return NodeNames(dir.path("nodes")) }

// ErrOtherMachine: the folder has a node of the name, with another machine.
var ErrOtherMachine = errors.New("the folder has it as another machine: take another folder, or another name")

// makeNodes makes the nodes of the fleet that are not there yet: the hardware, and then
// the file that says that the node is complete.
func (c *Cluster) makeNodes() error {
	if len(c.options.Fleet.Machines) > 0 {
		spec := c.options.Fleet
		spec.Publish = c.state.Driver.publish()
		made, err := fleet.New(spec)
		if err != nil {
			return err
		}
		machines := map[string]*machine.Machine{}
		for _, count := range c.options.Fleet.Machines {
			machines[count.Machine.Name()] = count.Machine
		}
		for member, err := range made.Members() {
			if err != nil {
				return err
			}
			if member.Node == nil {
				return fmt.Errorf("machine %s is a fabric pool, and no driver here serves one", member.Machine)
			}
			if err := c.makeNode(&member, machines[member.Machine]); err != nil {
				return fmt.Errorf("node %s: %w", member.Node.Name, err)
			}
		}
	}
	var err error
	if c.nodes, err = listNodes(c.dir); err != nil {
		return err
	}
	for _, node := range c.nodes {
		if err := c.checkSocket(node); err != nil {
			return err
		}
	}
	if len(c.nodes) == 0 {
		return nil
	}
	return CheckWatches(ServerWatches + len(c.nodes)*nodeWatches)
}

func (c *Cluster) makeNode(member *fleet.Member, m *machine.Machine) error {
	name := member.Node.Name
	if err := c.checkSocket(name); err != nil {
		return err
	}
	id := machine.Identity{Name: member.Instance, Seed: c.options.Fleet.Seed}
	_, err := hwstate.CreateAt(c.dir.hardware(name), m, id, member.Place)
	if errors.Is(err, hwstate.ErrExists) {
		var folder *hwstate.Folder
		if folder, err = hwstate.Open(c.dir.hardware(name)); err == nil && folder.Machine().Name() != m.Name() {
			err = fmt.Errorf("%w (%s, not %s)", ErrOtherMachine, folder.Machine().Name(), m.Name())
		}
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.dir.node(name, ""), 0o700); err != nil {
		return err
	}
	content, err := json.MarshalIndent(NodeFile{
		Machine: m.Name(), Architecture: cmp.Or(member.Node.Labels[corev1.LabelArchStable], "amd64"),
		Labels: member.Node.Labels, Capacity: member.Node.Status.Capacity,
	}, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(c.dir.node(name, "node.json"), append(content, '\n'))
}

// NodeNames are the names of the cluster's hollow nodes, sorted.
func (c *Cluster) NodeNames() []string { return slices.Clone(c.nodes) }

// Hardware is the folder of a node's simulated machine.
func (c *Cluster) Hardware(node string) string { return c.dir.hardware(node) }

// NodeConfig is how a node of any name reaches the API server: as the user
// system:node:NAME in the group system:nodes. It does not limit the rate of calls.
func (c *Cluster) NodeConfig(node string) (*rest.Config, error) {
	config, err := c.Config()
	if err != nil {
		return nil, err
	}
	signer, err := loadAuthority(c.dir, c.now())
	if err != nil {
		return nil, err
	}
	cert, key, err := signer.nodeCertificate(node)
	if err != nil {
		return nil, fmt.Errorf("certificate of node %s: %w", node, err)
	}
	config.CertData, config.KeyData, config.CertFile, config.KeyFile = cert, key, "", ""
	return config, nil
}

// writeNodeKubeconfigs writes nodes/NAME/kubeconfig.yaml of each node.
func (c *Cluster) writeNodeKubeconfigs() error {
	signer, err := loadAuthority(c.dir, c.now())
	if err != nil {
		return err
	}
	for _, node := range c.nodes {
		cert, key, err := signer.nodeCertificate(node)
		if err != nil {
			return fmt.Errorf("certificate of node %s: %w", node, err)
		}
		user := &clientcmdapi.AuthInfo{ClientCertificateData: cert, ClientKeyData: key}
		if err := c.writeConfigTo(c.dir.node(node, "kubeconfig.yaml"), node, c.url(APIServer, ""), user); err != nil {
			return err
		}
	}
	return nil
}

// hollowFlags run all nodes in one process.
func hollowFlags(_ context.Context, c *Cluster) ([]string, error) {
	if err := c.writeNodeKubeconfigs(); err != nil {
		return nil, err
	}
	flags := append(c.servingFlags(HollowNodes),
		"--dir="+c.dir.path("nodes"),
		"--client-ca-file="+c.dir.pki("ca.crt"),
	)
	return append(flags, gateFlags(c.options.FeatureGates)...), nil
}
