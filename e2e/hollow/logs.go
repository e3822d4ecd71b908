package hollow

import "github.com/dray-dev/dray/e2e/hollow/shown"

// Log is what the log of a container says, which is what it got; ok says whether the
// node has started the container. Whoever serves the API server's calls to the kubelet
// asks for it.
func (n *Node) Log(namespace, name, container string) (text string, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range n.pods {
		if p.object.Namespace != namespace || p.object.Name != name || p.gone {
			continue
		}
		// What was given is in the object once the container is said to be started.
		given, ok, err := shown.Of(p.object.Annotations, container)
		if err != nil {
			return err.Error() + "\n", true
		}
		return given.Log(), ok
	}
	return "", false
}
