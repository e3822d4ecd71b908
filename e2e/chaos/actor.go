package chaos

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// actor is everybody else in the cluster: users, drivers, administrators.
type actor struct {
	client  kubernetes.Interface
	keeper  *keeper
	journal *journal
	rand    *rand.Rand
	options Options

	made  int // pods
	nodes []*nodeState
	// lost are shared claims that were deleted and are to be created anew.
	lost map[string]bool
}

// nodeState is what is wrong with a node at the moment.
type nodeState struct {
	name             string
	generation       int64
	missing, tainted map[int]bool
	noSlice          bool
	cordoned         bool
	// Generations of the two slices of partitions.
	counters, parts int64
}

const (
	sharedClaims = 10
	// pace is between two steps, so that the servers keep up.
	pace = 15 * time.Millisecond
	// endedKept is how many pods that ended stay.
	endedKept = 40
)

func sharedName(i int) string { return fmt.Sprintf("shared-%d", i) }

func sharedSpec(i int) resourceapi.ResourceClaimSpec {
	return claimOf(exactly(gpuClass, int64(1+i%3), ""))
}

// build makes the cluster's objects.
func (a *actor) build(ctx context.Context) error {
	if _, err := a.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
		return err
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	if _, err := a.client.CoreV1().ServiceAccounts(namespace).Create(ctx, account, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	for _, class := range classes() {
		if _, err := a.client.ResourceV1().DeviceClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	all := templates()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		template := &resourceapi.ResourceClaimTemplate{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourceapi.ResourceClaimTemplateSpec{Spec: all[name]}}
		if _, err := a.client.ResourceV1().ResourceClaimTemplates(namespace).Create(ctx, template, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	for i := range sharedClaims {
		a.lost[sharedName(i)] = true
	}
	if err := a.recreate(ctx); err != nil {
		return err
	}
	for i := range a.options.Nodes {
		state := &nodeState{name: nodeName(i), generation: 1, counters: 1, parts: 1, missing: map[int]bool{}, tainted: map[int]bool{}}
		a.nodes = append(a.nodes, state)
		if err := a.addNode(ctx, state); err != nil {
			return err
		}
	}
	_, err := a.client.ResourceV1().ResourceSlices().Create(ctx, fabricSlice(a.options.FabricDevices), metav1.CreateOptions{})
	return err
}

func (a *actor) addNode(ctx context.Context, state *nodeState) error {
	made, err := a.client.CoreV1().Nodes().Create(ctx, node(state.name), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	// Admission marks a new node as not ready; nobody else here takes that back.
	made.Spec.Taints = nil
	if _, err := a.client.CoreV1().Nodes().Update(ctx, made, metav1.UpdateOptions{}); err != nil {
		return err
	}
	for _, slice := range append(partSlices(state.name, 1, 1), a.slice(state), nicSlice(state.name)) {
		if _, err := a.client.ResourceV1().ResourceSlices().Create(ctx, slice, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

func (a *actor) slice(state *nodeState) *resourceapi.ResourceSlice {
	return nodeSlice(state.name, a.options.DevicesPerNode, state.generation, state.missing, state.tainted)
}

// run takes steps until the context ends. A step that has begun is taken in full:
// what the actor believes to be wrong with the cluster is what it puts right at the end.
func (a *actor) run(ctx context.Context) error {
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if err := a.step(context.WithoutCancel(ctx)); err != nil {
			return err
		}
	}
}

// step does one thing. What is picked may be impossible at the moment; then nothing
// happens.
func (a *actor) step(ctx context.Context) error {
	if len(a.keeper.names(alive)) < a.options.Alive && a.rand.IntN(3) > 0 {
		return a.addPod(ctx)
	}
	switch n := a.rand.IntN(100); {
	case n < 30:
		return a.withPod(running, func(name string) error { return a.keeper.end(ctx, name) })
	case n < 40:
		return a.withPod(running, func(name string) error { return a.keeper.remove(ctx, name) })
	case n < 46:
		return a.withPod(pending, func(name string) error { return a.keeper.remove(ctx, name) })
	case n < 56:
		if len(a.keeper.names(ended)) <= endedKept {
			return nil
		}
		return a.withPod(ended, func(name string) error { return a.keeper.remove(ctx, name) })
	case n < 62:
		return a.loseShared(ctx)
	case n < 70:
		return a.recreate(ctx)
	case n < 76:
		return a.withPod(pending, func(name string) error { return a.loseGenerated(ctx, name) })
	case n < 82:
		return a.touch(ctx)
	case n < 90:
		return a.changeSlice(ctx, a.nodes[a.rand.IntN(len(a.nodes))])
	case n < 95:
		return a.renewParts(ctx, a.nodes[a.rand.IntN(len(a.nodes))])
	default:
		return a.cordon(ctx, a.nodes[a.rand.IntN(len(a.nodes))])
	}
}

func (a *actor) withPod(match func(*podRecord) bool, do func(string) error) error {
	names := a.keeper.names(match)
	if len(names) == 0 {
		return nil
	}
	return do(names[a.rand.IntN(len(names))])
}

func (a *actor) addPod(ctx context.Context) error {
	a.made++
	p := pod(fmt.Sprintf("pod-%04d", a.made))
	draw := func() string { return templateNames[a.rand.IntN(len(templateNames))] }
	switch n := a.rand.IntN(10); {
	case n < 5:
		withTemplate(p, draw())
	case n < 6:
		// Each pod has to fit on an empty node, which not every two templates do.
		withTemplate(p, draw())
		withTemplate(p, "one")
	case n < 8:
		withClaim(p, sharedName(a.rand.IntN(sharedClaims)))
	case n < 9:
		withClaim(p, sharedName(a.rand.IntN(sharedClaims)))
		withTemplate(p, "one")
	default:
		withExtended(p, int64(1+a.rand.IntN(2)))
	}
	return a.create(ctx, p)
}

func (a *actor) create(ctx context.Context, p *corev1.Pod) error {
	if _, err := a.client.CoreV1().Pods(namespace).Create(ctx, p, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create pod %s: %w", p.Name, err)
	}
	a.keeper.made(p.Name)
	a.journal.note("pod %s is created: %s", p.Name, asks(p))
	return nil
}

// loseShared deletes a claim that pods may use or wait for.
func (a *actor) loseShared(ctx context.Context) error {
	name := sharedName(a.rand.IntN(sharedClaims))
	err := a.client.ResourceV1().ResourceClaims(namespace).Delete(ctx, name, metav1.DeleteOptions{})
	a.lost[name] = true
	a.journal.note("claim %s is deleted: %v", name, err)
	return ignoreNotFound(err)
}

// recreate makes the shared claims that are gone.
func (a *actor) recreate(ctx context.Context) error {
	for i := range sharedClaims {
		name := sharedName(i)
		if !a.lost[name] {
			continue
		}
		claim := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: sharedSpec(i)}
		_, err := a.client.ResourceV1().ResourceClaims(namespace).Create(ctx, claim, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			continue // pods hold it still
		}
		if err != nil {
			return err
		}
		delete(a.lost, name)
		a.journal.note("claim %s is created", name)
	}
	return nil
}

// loseGenerated deletes a claim that was made for a pod, which gets another one.
func (a *actor) loseGenerated(ctx context.Context, podName string) error {
	p, err := a.client.CoreV1().Pods(namespace).Get(ctx, podName, metav1.GetOptions{})
	if err != nil || len(p.Status.ResourceClaimStatuses) == 0 || p.Spec.NodeName != "" {
		return ignoreNotFound(err)
	}
	name := p.Status.ResourceClaimStatuses[0].ResourceClaimName
	if name == nil {
		return nil
	}
	err = a.client.ResourceV1().ResourceClaims(namespace).Delete(ctx, *name, metav1.DeleteOptions{})
	a.journal.note("claim %s of pod %s is deleted: %v", *name, podName, err)
	return ignoreNotFound(err)
}

// touch changes a claim that the scheduler may be about to write.
func (a *actor) touch(ctx context.Context) error {
	list, err := a.client.ResourceV1().ResourceClaims(namespace).List(ctx, metav1.ListOptions{})
	if err != nil || len(list.Items) == 0 {
		return err
	}
	var free []string
	for _, claim := range list.Items {
		if claim.Status.Allocation == nil && claim.Name != markerName {
			free = append(free, claim.Name)
		}
	}
	for range min(3, len(free)) {
		name := free[a.rand.IntN(len(free))]
		patch := fmt.Sprintf(`{"metadata":{"annotations":{"chaos.dray.dev/touched":"%d"}}}`, a.rand.Uint32())
		_, err := a.client.ResourceV1().ResourceClaims(namespace).Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		if ignoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// changeSlice publishes a node's devices anew: some are missing or tainted, or all
// are back, or the whole slice goes for a while.
func (a *actor) changeSlice(ctx context.Context, state *nodeState) error {
	if state.noSlice || a.rand.IntN(3) == 0 {
		return a.restoreSlice(ctx, state)
	}
	if a.rand.IntN(4) == 0 {
		state.noSlice = true
		a.journal.note("slice of %s is deleted", state.name)
		return ignoreNotFound(a.client.ResourceV1().ResourceSlices().Delete(ctx, a.slice(state).Name, metav1.DeleteOptions{}))
	}
	for range 1 + a.rand.IntN(3) {
		set := state.missing
		if a.rand.IntN(2) == 0 {
			set = state.tainted
		}
		set[a.rand.IntN(a.options.DevicesPerNode)] = true
	}
	return a.publish(ctx, state)
}

func (a *actor) restoreSlice(ctx context.Context, state *nodeState) error {
	clear(state.missing)
	clear(state.tainted)
	return a.publish(ctx, state)
}

func (a *actor) publish(ctx context.Context, state *nodeState) error {
	state.generation++
	wanted := a.slice(state)
	a.journal.note("slice of %s: generation %d with %d devices", state.name, state.generation, len(wanted.Spec.Devices))
	slices := a.client.ResourceV1().ResourceSlices()
	if state.noSlice {
		state.noSlice = false
		_, err := slices.Create(ctx, wanted, metav1.CreateOptions{})
		return err
	}
	return a.replace(ctx, wanted)
}

// replace makes a slice that is there the one that is wanted.
func (a *actor) replace(ctx context.Context, wanted *resourceapi.ResourceSlice) error {
	found, err := a.client.ResourceV1().ResourceSlices().Get(ctx, wanted.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	found.Spec = wanted.Spec
	_, err = a.client.ResourceV1().ResourceSlices().Update(ctx, found, metav1.UpdateOptions{})
	return err
}

// renewParts publishes the partitions of a node in a new generation, one slice a
// step: in between the pool is incomplete, and none of it can be used.
func (a *actor) renewParts(ctx context.Context, state *nodeState) error {
	if state.parts < state.counters {
		state.parts = state.counters
		return a.replace(ctx, partSlices(state.name, state.counters, state.parts)[1])
	}
	state.counters++
	a.journal.note("partitions of %s: generation %d begins", state.name, state.counters)
	return a.replace(ctx, partSlices(state.name, state.counters, state.parts)[0])
}

func (a *actor) cordon(ctx context.Context, state *nodeState) error {
	state.cordoned = !state.cordoned
	a.journal.note("node %s cordoned: %v", state.name, state.cordoned)
	patch := fmt.Sprintf(`{"spec":{"unschedulable":%v}}`, state.cordoned)
	_, err := a.client.CoreV1().Nodes().Patch(ctx, state.name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

// restore undoes what keeps pods from being placed, but for claims that pods hold.
func (a *actor) restore(ctx context.Context) error {
	for _, state := range a.nodes {
		if err := a.restoreSlice(ctx, state); err != nil {
			return err
		}
		if state.parts < state.counters {
			if err := a.renewParts(ctx, state); err != nil {
				return err
			}
		}
		if state.cordoned {
			if err := a.cordon(ctx, state); err != nil {
				return err
			}
		}
	}
	return a.recreate(ctx)
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
