package localcluster

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
)

// HollowNode is what the role hollow-nodes says of a node, as JSON at /nodes.
type HollowNode struct {
	Name string `json:"name"`
	// Running: it has not been stopped. Ready: it has registered and serves pods.
	Running bool `json:"running"`
	Ready   bool `json:"ready"`
	// Drivers that have registered with it, by the sockets that they serve.
	Drivers map[string]string `json:"drivers"`
}

// serves says whether a process of the driver has registered; of any if uid is empty.
func (n *HollowNode) serves(driver, uid string) bool {
	for socket, name := range n.Drivers {
		if name == driver && (uid == "" || strings.HasSuffix(socket, "/dra-"+uid+".sock")) {
			return true
		}
	}
	return false
}

// NodeStatus is one node, as the role hollow-nodes and the API server see it.
type NodeStatus struct {
	HollowNode
	Machine string
	// Slices and Devices that the driver has published; Missing slices its pool has not
	// got yet.
	Slices, Devices, Missing int
}

// Nodes asks how the nodes are.
func (c *Cluster) Nodes(ctx context.Context) ([]NodeStatus, error) {
	hollow, err := c.hollowNodes(ctx)
	if err != nil {
		return nil, err
	}
	client, err := c.client()
	if err != nil {
		return nil, err
	}
	published, err := client.ResourceV1().ResourceSlices().List(ctx, metav1.ListOptions{ResourceVersion: "0",
		FieldSelector: fields.OneTermEqualSelector(resourceapi.ResourceSliceSelectorDriver, c.driverName()).String()})
	if err != nil {
		return nil, err
	}
	slicesOf := map[string][]*resourceapi.ResourceSliceSpec{}
	for i := range published.Items {
		spec := &published.Items[i].Spec
		if spec.NodeName != nil {
			slicesOf[*spec.NodeName] = append(slicesOf[*spec.NodeName], spec)
		}
	}
	var all []NodeStatus
	for _, node := range hollow {
		status := NodeStatus{HollowNode: node}
		if file, err := ReadNode(c.dir.node(node.Name, "")); err == nil {
			status.Machine = file.Machine
		}
		status.count(slicesOf[node.Name])
		all = append(all, status)
	}
	return all, nil
}

// count counts the newest generation of the node's pool.
func (s *NodeStatus) count(specs []*resourceapi.ResourceSliceSpec) {
	newest := int64(-1)
	for _, spec := range specs {
		newest = max(newest, spec.Pool.Generation)
	}
	s.Missing = 1
	for _, spec := range specs {
		if spec.Pool.Generation == newest {
			s.Slices++
			s.Devices += len(spec.Devices)
			s.Missing = int(spec.Pool.ResourceSliceCount) - s.Slices
		}
	}
}

// hollowNodes asks the role hollow-nodes.
func (c *Cluster) hollowNodes(ctx context.Context) ([]HollowNode, error) {
	body, err := c.askNodes(ctx, http.MethodGet, "/nodes")
	if err != nil {
		return nil, err
	}
	var nodes []HollowNode
	if err := json.Unmarshal(body, &nodes); err != nil {
		return nil, fmt.Errorf("%s: %w", HollowNodes, err)
	}
	return nodes, nil
}

// changeWait bounds how long a node may take to stop or to be ready.
const changeWait = 2 * time.Minute

func (c *Cluster) askNodes(ctx context.Context, method, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.url(HollowNodes, path), nil)
	if err != nil {
		return nil, err
	}
	client := *c.health
	if method != http.MethodGet {
		client.Timeout = changeWait
	}
	answer, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s: %s", HollowNodes, answer.Status, strings.TrimSpace(string(body)))
	}
	return body, nil
}

// StopNode ends a hollow node as if its machine had lost power: it renews its lease no
// longer, and nothing is said of its pods. The driver's process goes on.
func (c *Cluster) StopNode(ctx context.Context, node string) error {
	_, err := c.askNodes(ctx, http.MethodPost, "/nodes/"+node+"/stop")
	return err
}

// StartNode starts a node that was stopped, and returns when it is ready. The driver's
// credentials there are made anew; if the Node object was deleted, the driver has to be
// started anew as well, which would be another pod in a cluster: it keeps the object's
// UID as the owner of its slices.
func (c *Cluster) StartNode(ctx context.Context, node string) error {
	if _, err := c.askNodes(ctx, http.MethodPost, "/nodes/"+node+"/start"); err != nil {
		return err
	}
	return c.writeDriverTokens(ctx, []string{node})
}

// driverReady returns nil when the newest process of the driver is registered with every node that runs, and
// its pools are complete.
func driverReady(ctx context.Context, c *Cluster) error {
	hollow, err := c.hollowNodes(ctx)
	if err != nil {
		return err
	}
	c.mu.Lock()
	newest := ""
	if c.driverRuns > 0 {
		newest = strconv.Itoa(c.driverRuns)
	}
	c.mu.Unlock()
	isMissing := func(node HollowNode) bool { return node.Running && !node.serves(c.driverName(), newest) }
	if i := slices.IndexFunc(hollow, isMissing); i >= 0 {
		return fmt.Errorf("the driver is not registered with node %s", hollow[i].Name)
	}
	nodes, err := c.Nodes(ctx)
	if err != nil {
		return err
	}
	for _, node := range nodes {
		if node.Running && node.Missing != 0 {
			return fmt.Errorf("the driver has published %d slices of node %s, and not all", node.Slices, node.Name)
		}
	}
	return nil
}
