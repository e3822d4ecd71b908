package hollow

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/component-helpers/apimachinery/lease"
	"k8s.io/klog/v2"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
	"k8s.io/kubernetes/pkg/kubelet/cm/dra"
	"k8s.io/kubernetes/pkg/kubelet/config"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/kubernetes/pkg/kubelet/pluginmanager"
)

const (
	// leaseDuration and leaseRenewal are the kubelet's defaults.
	leaseDuration = 40 * time.Second
	leaseRenewal  = 10 * time.Second
	// workers is how many pods of a node are worked on at once. A preparation that
	// takes long holds one.
	workers = 8
	// firstPause and lastPause are between attempts that fail.
	firstPause = 100 * time.Millisecond
	lastPause  = 5 * time.Second
)

// Node is a hollow node. It runs once: to start it anew, make another one with the
// same options.
type Node struct {
	options  Options
	manager  *dra.Manager
	devices  *devices
	admitter lifecycle.PodAdmitHandler
	recorder record.EventRecorder
	queue    workqueue.TypedRateLimitingInterface[types.UID]
	// self knows the node's own Node object.
	self  corelisters.NodeLister
	ready chan struct{}

	mu   sync.Mutex
	pods map[types.UID]*pod
	// drivers are the names of those that have registered, by their sockets.
	drivers map[string]string
}

// New makes the folders of a node that are not there.
func New(options Options) (*Node, error) {
	if err := options.complete(); err != nil {
		return nil, err
	}
	for _, dir := range []string{options.Dir, options.Registry(), options.CDIDir} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("hollow: node %s: %w", options.Name, err)
		}
	}
	n := &Node{options: options, devices: newDevices(options.CDIDir), ready: make(chan struct{}), pods: map[types.UID]*pod{}, drivers: map[string]string{}}
	n.admitter = lifecycle.NewPredicateAdmitHandler(n.ownNode, noPreemption{}, noDevicePlugins)
	n.queue = workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[types.UID](firstPause, lastPause),
		workqueue.TypedRateLimitingQueueConfig[types.UID]{Clock: options.Clock})
	return n, nil
}

// Ready is closed when the node is registered and looks for drivers and pods.
func (n *Node) Ready() <-chan struct{} { return n.ready }

// Run runs the node until the context ends, and returns when nothing of it runs any
// more. Pods stay as they are: like a kubelet, a node that ends lets containers run.
func (n *Node) Run(ctx context.Context) error {
	log := klog.FromContext(ctx).WithValues("node", n.options.Name)
	ctx, cancel := context.WithCancel(klog.NewContext(ctx, log))
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	defer n.queue.ShutDown()

	// The plugin watcher only logs it when it cannot watch, and then no driver is found.
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("hollow: node %s: drivers could not be noticed: raise fs.inotify.max_user_instances: %w", n.options.Name, err)
	}
	_ = watcher.Close()
	if n.manager, err = dra.NewManager(log, n.options.Client, n.options.Dir); err != nil {
		return fmt.Errorf("hollow: node %s: %w", n.options.Name, err)
	}
	if err := n.register(ctx); err != nil {
		return fmt.Errorf("hollow: node %s: %w", n.options.Name, err)
	}
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: n.options.Client.CoreV1().Events("")})
	n.recorder = broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "hollow", Host: n.options.Name})

	synced, err := n.watch(ctx, &group)
	if err != nil {
		return fmt.Errorf("hollow: node %s: %w", n.options.Name, err)
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return nil // the context has ended
	}
	n.startManager(ctx, &group)
	heartbeat := lease.NewController(n.options.Clock, n.options.Client, n.options.Name, int32(leaseDuration.Seconds()), nil,
		leaseRenewal, n.options.Name, corev1.NamespaceNodeLease, n.ownLease)
	group.Go(func() { heartbeat.Run(ctx) })
	group.Go(func() { n.keepStatus(ctx) })
	group.Go(func() { n.followHealth(ctx) })
	for range workers {
		group.Go(func() { n.work(ctx) })
	}
	close(n.ready)
	<-ctx.Done()
	n.queue.ShutDown()
	return nil
}

// watch follows the node's pods and its own object.
func (n *Node) watch(ctx context.Context, group *sync.WaitGroup) ([]cache.InformerSynced, error) {
	only := func(field, value string) informers.SharedInformerOption {
		return informers.WithTweakListOptions(func(options *metav1.ListOptions) {
			options.FieldSelector = fields.OneTermEqualSelector(field, value).String()
		})
	}
	pods := informers.NewSharedInformerFactoryWithOptions(n.options.Client, 0, only("spec.nodeName", n.options.Name))
	self := informers.NewSharedInformerFactoryWithOptions(n.options.Client, 0, only("metadata.name", n.options.Name))
	informer := pods.Core().V1().Pods().Informer()
	handled, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { n.saw(object) },
		UpdateFunc: func(_, object any) { n.saw(object) },
		DeleteFunc: n.sawGone,
	})
	if err != nil {
		return nil, err
	}
	n.self = self.Core().V1().Nodes().Lister()
	synced := []cache.InformerSynced{handled.HasSynced, self.Core().V1().Nodes().Informer().HasSynced}
	for _, factory := range []informers.SharedInformerFactory{pods, self} {
		factory.StartWithContext(ctx)
		group.Go(func() {
			<-ctx.Done()
			factory.Shutdown()
		})
	}
	return synced, nil
}

// startManager starts the kubelet's managers. All pods are known by now, so that the
// first thing the manager does is to unprepare claims of pods that are gone.
func (n *Node) startManager(ctx context.Context, group *sync.WaitGroup) {
	known := config.NewSourcesReady(func(sets.Set[string]) bool { return true })
	// Its error is always nil.
	_ = n.manager.Start(ctx, n.activePods, func(ctx context.Context) (*corev1.Node, error) { return n.ownNode(ctx, true) }, known)
	plugins := pluginmanager.NewPluginManager(n.options.Registry(), n.recorder)
	plugins.AddHandler(registerapi.DRAPlugin, &registered{PluginHandler: n.manager.GetWatcherHandler(), node: n})
	group.Go(func() { plugins.Run(ctx, known, ctx.Done()) })
	group.Go(func() {
		<-ctx.Done()
		n.manager.Stop()
	})
}

// ownNode returns the node's own object.
func (n *Node) ownNode(ctx context.Context, useCache bool) (*corev1.Node, error) {
	if useCache {
		return n.self.Get(n.options.Name)
	}
	return n.options.Client.CoreV1().Nodes().Get(ctx, n.options.Name, metav1.GetOptions{})
}

// followHealth looks at pods again when a driver says that their devices' health has
// changed.
func (n *Node) followHealth(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case update := <-n.manager.Updates():
			for _, uid := range update.PodUIDs {
				n.queue.Add(types.UID(uid))
			}
		}
	}
}
