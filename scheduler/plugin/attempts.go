package plugin

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/dray-dev/dray/allocator"
)

// attempts keeps the last failed attempt of each of the pods that failed last, as
// Filter left it: nothing is computed anew when somebody asks. A pod that is bound
// is forgotten.
type attempts struct {
	mu    sync.Mutex
	last  map[types.NamespacedName]*attempt
	order []types.NamespacedName // the one that failed longest ago first
}

// keptAttempts bounds the memory: an attempt on 5,000 nodes takes some 200 KB, and
// up to 64 explanations of a few KB each.
const keptAttempts = 128

// attempt is what is known of one attempt at a pod that failed. It is immutable once
// it is kept. The JSON names are stable.
type attempt struct {
	// Pod is namespace/name.
	Pod     string    `json:"pod"`
	UID     types.UID `json:"uid"`
	Profile string    `json:"profile"`
	// Time is zero, and left out, if the pod waits and is not tried.
	Time time.Time `json:"time,omitzero"`
	// Refused is why no node was asked; empty if nodes were.
	Refused string `json:"refused,omitempty"`
	// Nodes is the number of nodes that were refused. Those that another plugin
	// refused first, or that could have the devices, are not among them.
	Nodes int `json:"nodes"`
	// Groups are those nodes by reason, the most frequent first.
	Groups []attemptGroup `json:"groups,omitempty"`
}

// attemptGroup is the nodes with one reason.
type attemptGroup struct {
	Reason string `json:"reason"`
	// Nodes are their names, sorted.
	Nodes []string `json:"nodes"`
	// Explanation is that of one of them, if it has to do with a search.
	Explanation *allocator.Explanation `json:"explanation,omitempty"`
}

// nodeRefusal is one node's reason, noted while Filter runs.
type nodeRefusal struct{ node, reason string }

// noteRefusal remembers the node's reason for the attempt.
func (s *podState) noteRefusal(node string, status *fwk.Status) {
	if status.IsSuccess() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusals = append(s.refusals, nodeRefusal{node, status.Message()})
}

// keepAttempt keeps the cycle as the pod's last failed attempt. refused is why no
// node was asked, if none was.
func (p *Plugin) keepAttempt(pod *corev1.Pod, s *podState, refused string) {
	name := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
	a := &attempt{Pod: name.String(), UID: pod.UID, Profile: p.handle.ProfileName(), Time: p.clock.Now(), Refused: refused}
	s.mu.Lock()
	nodes := map[string]string{} // a node may have been asked again, on behalf of preemption
	for _, r := range s.refusals {
		nodes[r.node] = r.reason
	}
	groups := map[string]*attemptGroup{}
	for node, reason := range nodes {
		if groups[reason] == nil {
			groups[reason] = &attemptGroup{Reason: reason, Explanation: s.examples[reason]}
		}
		groups[reason].Nodes = append(groups[reason].Nodes, node)
	}
	s.mu.Unlock()
	a.Nodes = len(nodes)
	for _, group := range groups {
		slices.Sort(group.Nodes)
		a.Groups = append(a.Groups, *group)
	}
	slices.SortFunc(a.Groups, func(x, y attemptGroup) int {
		if len(x.Nodes) != len(y.Nodes) {
			return len(y.Nodes) - len(x.Nodes)
		}
		return strings.Compare(x.Reason, y.Reason)
	})
	if refused == "" && a.Nodes == 0 {
		return // the plugin refused nothing
	}
	p.engine.attempts.keep(name, a)
}

func (k *attempts) keep(pod types.NamespacedName, a *attempt) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.last == nil {
		k.last = map[types.NamespacedName]*attempt{}
	}
	k.order = append(slices.DeleteFunc(k.order, func(other types.NamespacedName) bool { return other == pod }), pod)
	k.last[pod] = a
	if len(k.order) > keptAttempts {
		delete(k.last, k.order[0])
		k.order = slices.Delete(k.order, 0, 1)
	}
}

// forget drops the pod's attempt: it is bound.
func (k *attempts) forget(pod types.NamespacedName) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.last[pod] != nil {
		delete(k.last, pod)
		k.order = slices.DeleteFunc(k.order, func(other types.NamespacedName) bool { return other == pod })
	}
}

func (k *attempts) of(pod types.NamespacedName) *attempt {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.last[pod]
}

// lastAttempt is the pod's last failed attempt, if it is kept, or what keeps the pod
// from being tried at this moment; nil if neither is known.
func (p *Plugin) lastAttempt(name types.NamespacedName) *attempt {
	a := p.engine.attempts.of(name)
	if p.pods == nil {
		return a
	}
	object, _, _ := p.pods.GetByKey(name.String())
	pod, ok := object.(*corev1.Pod)
	if a != nil && (!ok || a.UID == pod.UID) {
		return a
	}
	// The attempt, if there is one, is that of a pod which had the name before.
	if !ok || pod.Spec.NodeName != "" || pod.Spec.SchedulerName != p.handle.ProfileName() {
		return nil
	}
	if err := p.eachClaim(pod, nil); err != nil {
		return &attempt{Pod: name.String(), UID: pod.UID, Profile: pod.Spec.SchedulerName, Refused: err.Error()}
	}
	return nil
}

// onNode is the part of the attempt about one node; nil if it was not refused.
func (a *attempt) onNode(node string) *attempt {
	for _, group := range a.Groups {
		if _, found := slices.BinarySearch(group.Nodes, node); found {
			part := *a
			part.Nodes, part.Groups = 1, []attemptGroup{{Reason: group.Reason, Nodes: []string{node}, Explanation: group.Explanation}}
			return &part
		}
	}
	return nil
}

// listedNodes is how many nodes of a group the text names.
const listedNodes = 3

// text is the attempt for a terminal.
func (a *attempt) text() string {
	var out strings.Builder
	when := "not tried while its claims are missing"
	if !a.Time.IsZero() {
		when = "last failed attempt at " + a.Time.UTC().Format(time.RFC3339)
	}
	fmt.Fprintf(&out, "pod %s (uid %s), profile %s, %s\n", a.Pod, a.UID, a.Profile, when)
	if a.Refused != "" {
		fmt.Fprintf(&out, "refused before any node was asked: %s\n", a.Refused)
	}
	for _, group := range a.Groups {
		names := strings.Join(group.Nodes[:min(len(group.Nodes), listedNodes)], ", ")
		if more := len(group.Nodes) - listedNodes; more > 0 {
			names += fmt.Sprintf(", and %d more", more)
		}
		fmt.Fprintf(&out, "\n%d of %d nodes (%s): %s\n", len(group.Nodes), a.Nodes, names, group.Reason)
		if group.Explanation == nil {
			continue
		}
		if group.Explanation.Node != group.Nodes[0] || len(group.Nodes) > 1 {
			fmt.Fprintf(&out, "for example node %s:\n", group.Explanation.Node)
		}
		out.WriteString("\n" + group.Explanation.Text())
	}
	return out.String()
}
