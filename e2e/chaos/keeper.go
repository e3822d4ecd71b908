package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
)

// keeper follows the pods. It looks at each one that is bound, before anybody may
// end it: does it have what it asked for?
type keeper struct {
	client  kubernetes.Interface
	journal *journal
	checks  chan *corev1.Pod

	mu     sync.Mutex
	moved  chan struct{} // closed and replaced when something changes
	pods   map[string]*podRecord
	order  []string // names, as they were made
	wrong  []string // pods that are bound without their devices
	broken error
}

// podRecord is a pod as far as the watch has told. Names are not used twice.
type podRecord struct {
	bound   bool
	checked bool // bound, and looked at
	ended   bool // it was told to be
	gone    bool
}

// checkers is how many bound pods are looked at side by side.
const checkers = 4

func startKeeper(ctx context.Context, client kubernetes.Interface, journal *journal) (*keeper, error) {
	k := &keeper{client: client, journal: journal, checks: make(chan *corev1.Pod, 10000), moved: make(chan struct{}), pods: map[string]*podRecord{}}
	list, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	day := int64(24 * 60 * 60)
	events, err := client.CoreV1().Pods(namespace).Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion, TimeoutSeconds: &day})
	if err != nil {
		return nil, err
	}
	go k.follow(ctx, events)
	for range checkers {
		go func() {
			for {
				select {
				case pod := <-k.checks:
					k.check(ctx, pod)
				case <-ctx.Done():
					return
				}
			}
		}()
	}
	return k, nil
}

func (k *keeper) follow(ctx context.Context, events watch.Interface) {
	defer events.Stop()
	for event := range events.ResultChan() {
		pod, ok := event.Object.(*corev1.Pod)
		if !ok {
			k.update(func() { k.broken = fmt.Errorf("the watch of pods says %v", event.Object) })
			return
		}
		k.see(pod, event.Type == watch.Deleted)
	}
	if ctx.Err() == nil {
		k.update(func() { k.broken = errors.New("the watch of pods ended") })
	}
}

func (k *keeper) see(pod *corev1.Pod, deleted bool) {
	k.update(func() {
		record := k.record(pod.Name)
		if pod.Spec.NodeName != "" && !record.bound {
			record.bound = true
			k.journal.note("pod %s (%s) is bound to %s", pod.Name, pod.UID, pod.Spec.NodeName)
			if !deleted {
				k.checks <- pod
			}
		}
		if deleted {
			record.gone = true
			k.journal.note("pod %s (%s) is gone", pod.Name, pod.UID)
		}
	})
}

func (k *keeper) record(name string) *podRecord {
	record := k.pods[name]
	if record == nil {
		record = &podRecord{}
		k.pods[name] = record
		k.order = append(k.order, name)
	}
	return record
}

// update changes the state and wakes up who waits for it.
func (k *keeper) update(change func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	change()
	close(k.moved)
	k.moved = make(chan struct{})
}

// made says that a pod was created.
func (k *keeper) made(name string) { k.update(func() { k.record(name) }) }

// check looks whether a pod that is bound has its devices.
func (k *keeper) check(ctx context.Context, pod *corev1.Pod) {
	problem := k.problem(ctx, pod)
	if ctx.Err() != nil {
		return
	}
	k.update(func() {
		record := k.pods[pod.Name]
		record.checked = true
		if problem != nil && !record.gone {
			text := fmt.Sprintf("pod %s is bound to %s, but %v", pod.Name, pod.Spec.NodeName, problem)
			k.journal.say("WRONG: %s", text)
			k.wrong = append(k.wrong, text)
		}
	})
}

func (k *keeper) problem(ctx context.Context, pod *corev1.Pod) error {
	var names []string
	for i := range pod.Spec.ResourceClaims {
		name, _, err := resourceclaim.Name(pod, &pod.Spec.ResourceClaims[i])
		if err != nil || name == nil {
			return fmt.Errorf("claim %s of it was not made (%w)", pod.Spec.ResourceClaims[i].Name, err)
		}
		names = append(names, *name)
	}
	if _, extended := pod.Spec.Containers[0].Resources.Limits[extendedGPU]; extended {
		if pod.Status.ExtendedResourceClaimStatus == nil {
			return errors.New("its status names no claim for its extended resources")
		}
		names = append(names, pod.Status.ExtendedResourceClaimStatus.ResourceClaimName)
	}
	for _, name := range names {
		claim, err := k.client.ResourceV1().ResourceClaims(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			if _, gone := k.client.CoreV1().Pods(namespace).Get(ctx, pod.Name, metav1.GetOptions{}); apierrors.IsNotFound(gone) {
				return nil
			}
			return fmt.Errorf("its claim %s: %w", name, err)
		}
		if err := serves(claim, pod); err != nil {
			return fmt.Errorf("its claim %s %w", name, err)
		}
	}
	return nil
}

// serves says why a claim is not the pod's on its node.
func serves(claim *resourceapi.ResourceClaim, pod *corev1.Pod) error {
	if claim.Status.Allocation == nil {
		return errors.New("is not allocated")
	}
	if !slices.ContainsFunc(claim.Status.ReservedFor, func(of resourceapi.ResourceClaimConsumerReference) bool { return of.UID == pod.UID }) {
		return errors.New("is not reserved for it")
	}
	for _, d := range devicesOf(claim) {
		if d.driver != fabricDriver && d.pool != pod.Spec.NodeName {
			return fmt.Errorf("has %s of another node", d)
		}
	}
	return nil
}

// names lists the pods that match, as they were made.
func (k *keeper) names(match func(*podRecord) bool) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var names []string
	for _, name := range k.order {
		if match(k.pods[name]) {
			names = append(names, name)
		}
	}
	return names
}

func pending(r *podRecord) bool { return !r.bound && !r.gone }
func running(r *podRecord) bool { return r.checked && !r.ended && !r.gone }
func ended(r *podRecord) bool   { return r.ended && !r.gone }
func present(r *podRecord) bool { return !r.gone }
func alive(r *podRecord) bool   { return !r.ended && !r.gone }

// counts are of pods that were placed, and of those that had to be: all but those
// that were deleted before they were bound.
func (k *keeper) counts() (placed, wanted int) {
	placed = len(k.names(func(r *podRecord) bool { return r.bound }))
	return placed, placed + len(k.names(pending))
}

// end makes a pod that runs one that has ended.
func (k *keeper) end(ctx context.Context, name string) error {
	pods := k.client.CoreV1().Pods(namespace)
	pod, err := pods.Get(ctx, name, metav1.GetOptions{})
	if err == nil {
		pod.Status.Phase = corev1.PodSucceeded
		_, err = pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	}
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // it is tried again, if it is still there
	}
	if err == nil {
		k.update(func() { k.pods[name].ended = true })
		k.journal.note("pod %s ends", name)
	}
	return err
}

// remove deletes a pod.
func (k *keeper) remove(ctx context.Context, name string) error {
	now := int64(0)
	err := k.client.CoreV1().Pods(namespace).Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &now})
	if apierrors.IsNotFound(err) {
		return nil
	}
	k.journal.note("pod %s is deleted", name)
	return err
}

// state returns a channel that is closed at the next change.
func (k *keeper) state() (moved <-chan struct{}, wrong []string, broken error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.moved, slices.Clone(k.wrong), k.broken
}
