package examples

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
)

// A Row is a pod of an example, as it is on the cluster.
type Row struct {
	Example string
	Pod     string
	// Node is where it is, empty if nowhere.
	Node string
	// Devices are those of all its claims, DRIVER/POOL/DEVICE each, in the order of
	// pod, claim and result.
	Devices []string
	Phase   corev1.PodPhase
	// Annotations of the pod: where a node says there what a container got, they
	// have it.
	Annotations map[string]string
}

// Rows returns the pods of the example's namespaces, by namespace and name.
func (e Example) Rows(ctx context.Context, client kubernetes.Interface) ([]Row, error) {
	var rows []Row
	for _, namespace := range e.Namespaces {
		pods, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("pods of namespace %s: %w", namespace, err)
		}
		claims, err := client.ResourceV1().ResourceClaims(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("claims of namespace %s: %w", namespace, err)
		}
		byName := map[string]*resourceapi.ResourceClaim{}
		for i := range claims.Items {
			byName[claims.Items[i].Name] = &claims.Items[i]
		}
		slices.SortFunc(pods.Items, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
		for _, pod := range pods.Items {
			row := Row{Example: e.Name, Pod: pod.Name, Node: pod.Spec.NodeName, Phase: pod.Status.Phase, Annotations: pod.Annotations}
			for _, name := range claimNames(&pod) {
				row.Devices = append(row.Devices, devices(byName[name])...)
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// claimNames are the claims of a pod, that for its extended resources last.
func claimNames(pod *corev1.Pod) []string {
	var names []string
	for _, claim := range pod.Spec.ResourceClaims {
		if claim.ResourceClaimName != nil {
			names = append(names, *claim.ResourceClaimName)
			continue
		}
		for _, made := range pod.Status.ResourceClaimStatuses {
			if made.Name == claim.Name && made.ResourceClaimName != nil {
				names = append(names, *made.ResourceClaimName)
			}
		}
	}
	if special := pod.Status.ExtendedResourceClaimStatus; special != nil {
		names = append(names, special.ResourceClaimName)
	}
	return names
}

func devices(claim *resourceapi.ResourceClaim) []string {
	if claim == nil || claim.Status.Allocation == nil {
		return nil
	}
	var all []string
	for _, result := range claim.Status.Allocation.Devices.Results {
		all = append(all, strings.Join([]string{result.Driver, result.Pool, result.Device}, "/"))
	}
	return all
}

// RemoveNamespace deletes a namespace, if it is there, and waits until it is gone: what
// its pods have is free then.
func RemoveNamespace(ctx context.Context, client kubernetes.Interface, name string) error {
	err := client.CoreV1().Namespaces().Delete(ctx, name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil {
		err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, false, func(ctx context.Context) (bool, error) {
			_, err := client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return true, nil
			}
			return false, err
		})
	}
	if err != nil {
		return fmt.Errorf("namespace %s is to be removed: %w", name, err)
	}
	return nil
}
