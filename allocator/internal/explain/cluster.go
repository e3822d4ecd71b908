package explain

import (
	"cmp"
	"slices"
)

// ClusterExplanation says for many nodes why claims do not fit.
type ClusterExplanation struct {
	// Nodes is the number of nodes that were asked about.
	Nodes int `json:"nodes"`
	// Groups are the nodes that fail alike, the most frequent first, groups of
	// one size by their reason. Nodes on which the claims fit are a group, too.
	Groups []ReasonGroup `json:"groups"`
}

// ReasonGroup is the nodes with one reason.
type ReasonGroup struct {
	// Reason is what Explanation.Reason says of each; empty where the claims fit.
	Reason string `json:"reason"`
	Nodes  int    `json:"nodes"`
	// Examples are the first of them by name.
	Examples []string `json:"examples"`
	// Explanation is the first example's.
	Explanation *Explanation `json:"explanation"`
}

// Fits says whether the claims fit on some node.
func (c *ClusterExplanation) Fits() bool {
	return slices.ContainsFunc(c.Groups, func(g ReasonGroup) bool { return g.Explanation.Fits })
}

// Add takes another node's explanation into account. Nodes are to be added in
// the order of their names, and Sort to be called after the last.
func (c *ClusterExplanation) Add(e *Explanation) {
	c.Nodes++
	reason := e.Reason()
	i := slices.IndexFunc(c.Groups, func(g ReasonGroup) bool { return g.Reason == reason })
	if i < 0 {
		i, c.Groups = len(c.Groups), append(c.Groups, ReasonGroup{Reason: reason, Explanation: e})
	}
	g := &c.Groups[i]
	g.Nodes++
	if len(g.Examples) < maxExamples {
		g.Examples = append(g.Examples, e.Node)
	}
}

const maxExamples = 3

// Sort puts the groups in order.
func (c *ClusterExplanation) Sort() {
	slices.SortStableFunc(c.Groups, func(x, y ReasonGroup) int {
		return cmp.Or(cmp.Compare(y.Nodes, x.Nodes), cmp.Compare(x.Reason, y.Reason))
	})
}
