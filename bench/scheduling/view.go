package scheduling

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	resourceslicetracker "k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	schedulercache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
)

// view is what all worlds of a case read and none changes: slices as the tracker of
// taints shows them, classes, and nodes in the order in which they are asked.
type view struct {
	*cluster
	client   kubernetes.Interface
	slices   cache.SharedIndexInformer
	classes  cache.SharedIndexInformer
	tracker  *resourceslicetracker.Tracker
	snapshot *schedulercache.Snapshot
	infos    []fwk.NodeInfo // in the order of cluster.nodes
	asked    []fwk.NodeInfo // by Plugin
}

// newView reads everything into informers, which live until the context ends.
func newView(ctx context.Context, c *cluster) (*view, error) {
	v := &view{
		cluster:  c,
		client:   fake.NewClientset(),
		slices:   fixed(&resourceapi.ResourceSlice{}, c.slices),
		classes:  fixed(&resourceapi.DeviceClass{}, c.classes),
		snapshot: schedulercache.NewSnapshot(nil, c.nodes),
	}
	for _, node := range c.nodes {
		info, err := v.snapshot.NodeInfos().Get(node.Name)
		if err != nil {
			return nil, err
		}
		v.infos = append(v.infos, info)
	}
	v.asked = v.infos
	if len(c.ask) > 0 {
		v.asked = nil
		for _, name := range c.ask {
			info, err := v.snapshot.NodeInfos().Get(name)
			if err != nil {
				return nil, err
			}
			v.asked = append(v.asked, info)
		}
	}
	factory := v.informers()
	rules := fixed(&resourceapi.DeviceTaintRule{}, nil)
	factory.InformerFor(&resourceapi.DeviceTaintRule{}, given(rules))
	var err error
	v.tracker, err = resourceslicetracker.StartTracker(ctx, resourceslicetracker.Options{
		EnableDeviceTaintRules:   utilfeature.DefaultFeatureGate.Enabled(features.DRADeviceTaintRules),
		EnableConsumableCapacity: utilfeature.DefaultFeatureGate.Enabled(features.DRAConsumableCapacity),
		SliceInformer:            factory.Resource().V1().ResourceSlices(),
		TaintInformer:            factory.Resource().V1().DeviceTaintRules(),
		KubeClient:               v.client,
	})
	if err != nil {
		return nil, err
	}
	start(ctx, v.slices, v.classes, rules)
	return v, await(ctx, v.slices.HasSyncedChecker(), v.classes.HasSyncedChecker(), rules.HasSyncedChecker(), v.tracker.HasSyncedChecker())
}

// informers is a factory that has the view's informers. Whoever takes it must not
// start it: these run already.
func (v *view) informers() informers.SharedInformerFactory {
	factory := informers.NewSharedInformerFactory(v.client, 0)
	factory.InformerFor(&resourceapi.ResourceSlice{}, given(v.slices))
	factory.InformerFor(&resourceapi.DeviceClass{}, given(v.classes))
	factory.InformerFor(&corev1.Pod{}, given(fixed(&corev1.Pod{}, nil)))
	return factory
}

// given lets a factory have an informer that exists.
func given(informer cache.SharedIndexInformer) func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer {
	return func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer { return informer }
}

func start(ctx context.Context, informers ...cache.SharedIndexInformer) {
	for _, i := range informers {
		go i.RunWithContext(ctx)
	}
}

func await(ctx context.Context, synced ...cache.DoneChecker) error {
	if !cache.WaitFor(ctx, "", synced...) {
		return errors.Join(errors.New("informers did not sync"), context.Cause(ctx))
	}
	return nil
}
