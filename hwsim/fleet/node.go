package fleet

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// CliqueLabel is where NVIDIA's GPU feature discovery puts a node's clique.
const CliqueLabel = "nvidia.com/gpu.clique"

// podsPerNode is the kubelet's default limit.
const podsPerNode = 110

// object makes the Node object: its labels and a status in which it is ready, as
// a kubelet would report it, but for the memory that the kernel keeps for itself.
func (f *Fleet) object(place *Place, node *hardware.Node) (*corev1.Node, error) {
	if problems := validation.IsValidLabelValue(place.Node); len(problems) > 0 {
		return nil, fmt.Errorf("fleet: name: a node would be called %q, which its label %s cannot hold: %s",
			place.Node, corev1.LabelHostname, problems[0])
	}
	labels := map[string]string{
		corev1.LabelHostname:           place.Node,
		corev1.LabelInstanceTypeStable: place.Machine,
		corev1.LabelOSStable:           "linux",
		corev1.LabelArchStable:         place.architecture,
	}
	if place.Zone != "" {
		labels[corev1.LabelTopologyZone] = place.Zone
	}
	if place.Clique != "" {
		labels[CliqueLabel] = place.Clique
	}
	if err := f.names.addLabels(labels, place); err != nil {
		return nil, err
	}
	capacity := corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(podsPerNode, resource.DecimalSI)}
	if cpus := countCPUs(node); cpus > 0 {
		capacity[corev1.ResourceCPU] = *resource.NewQuantity(int64(cpus), resource.DecimalSI)
	}
	if place.memoryGiB > 0 {
		capacity[corev1.ResourceMemory] = *resource.NewQuantity(int64(place.memoryGiB)<<30, resource.BinarySI)
	}
	maps.Copy(capacity, f.spec.Capacity)
	maps.Copy(capacity, place.capacity)
	return &corev1.Node{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{Name: place.Node, Labels: labels},
		Status: corev1.NodeStatus{
			Capacity:    capacity,
			Allocatable: capacity,
			NodeInfo:    corev1.NodeSystemInfo{OperatingSystem: "linux", Architecture: place.architecture},
			Conditions: []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "Simulated", Message: "the node is simulated",
			}},
		},
	}, nil
}

// countCPUs adds up the CPU lists of the NUMA nodes ("0-55,112-167").
func countCPUs(node *hardware.Node) int {
	count := 0
	for i := range node.NUMANodes {
		for part := range strings.SplitSeq(node.NUMANodes[i].CPUs, ",") {
			first, last, isRange := strings.Cut(part, "-")
			from, err := strconv.Atoi(first)
			if err != nil {
				continue // a memory node without CPUs has an empty list
			}
			to := from
			if isRange {
				to, _ = strconv.Atoi(last) // the machine's parser has checked the form
			}
			count += to - from + 1
		}
	}
	return count
}
