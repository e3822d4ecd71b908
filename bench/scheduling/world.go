package scheduling

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultbinder"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/queuesort"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"

	"github.com/dray-dev/dray/scheduler/plugin"
)

// Contender is a plugin that is measured.
type Contender struct {
	Name   string // as it stands in results: impl=dray
	plugin string // in a profile
	// factory makes a new one, which shares nothing with others.
	factory func() frameworkruntime.PluginFactory
	args    runtime.Object
	// learns says that it keeps what it learns about nodes: the first pod, which no
	// limit is for, pays for the others. Who does not would never end where there is
	// a limit.
	learns bool
}

// Names of contenders.
const (
	Dray   = "dray"
	InTree = "in-tree"
)

// Contenders are ours and Kubernetes' own, both with their default arguments.
func Contenders() []Contender {
	return []Contender{
		{Name: Dray, plugin: plugin.Name, learns: true, factory: func() frameworkruntime.PluginFactory { return (&plugin.Factory{}).New }},
		{Name: InTree, plugin: dynamicresources.Name,
			factory: func() frameworkruntime.PluginFactory {
				features := feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate)
				return frameworkruntime.FactoryAdapter(features, dynamicresources.New)
			},
			// The defaults, which the scheduler fills in when it reads its configuration.
			args: &config.DynamicResourcesArgs{
				FilterTimeout:  &metav1.Duration{Duration: 10 * time.Second},
				BindingTimeout: &metav1.Duration{Duration: 600 * time.Second},
			}},
	}
}

// world is a scheduler with one plugin: its framework, its manager of claims and
// its own claims.
type world struct {
	Contender
	*view
	api       *api
	manager   *dynamicresources.DefaultDRAManager
	framework framework.Framework
	// stored and handled follow the claims' informer and the manager's handlers.
	stored, handled *progress
	// work is what the plugin has counted so far, nil if it does not count.
	work func() plugin.Work
}

var registerMetrics = sync.OnceFunc(metrics.Register)

func newWorld(ctx context.Context, with Contender, v *view) (*world, error) {
	registerMetrics()
	w := &world{Contender: with, view: v, api: newAPI(v.claims), stored: newProgress(), handled: newProgress()}
	claims := informer(&resourceapi.ResourceClaim{}, w.api.list, w.api.watch)
	factory := v.informers()
	factory.InformerFor(&resourceapi.ResourceClaim{}, given(claims))
	assumed := assumecache.NewAssumeCache(klog.FromContext(ctx), claims, "ResourceClaim", "", nil)
	w.manager = dynamicresources.NewDRAManager(ctx, assumed, v.tracker, factory)
	newPlugin := with.factory()
	create := func(ctx context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
		made, err := newPlugin(ctx, args, handle)
		if counting, ok := made.(interface{ Work() plugin.Work }); ok {
			w.work = counting.Work
		}
		return made, err
	}
	var err error
	w.framework, err = frameworkruntime.NewFramework(ctx,
		frameworkruntime.Registry{queuesort.Name: queuesort.New, defaultbinder.Name: defaultbinder.New, with.plugin: create}, with.profile(),
		frameworkruntime.WithClientSet(client{v.client, w.api}),
		frameworkruntime.WithInformerFactory(factory),
		frameworkruntime.WithEventRecorder(&events.FakeRecorder{}),
		frameworkruntime.WithSharedDRAManager(w.manager),
		frameworkruntime.WithSnapshotSharedLister(v.snapshot),
		frameworkruntime.WithMetricsRecorder(metrics.NewMetricsAsyncRecorder(1000, time.Second, ctx.Done())),
	)
	if err != nil {
		return nil, fmt.Errorf("framework with %s: %w", with.plugin, err)
	}
	// Registered after the plugin's and the manager's own, so that these have been
	// told when it is.
	registration, err := claims.AddEventHandler(w.stored)
	if err != nil {
		return nil, err
	}
	registered := assumed.AddEventHandler(w.handled)
	pods := factory.Core().V1().Pods().Informer()
	start(ctx, claims, pods)
	return w, await(ctx, claims.HasSyncedChecker(), registration.HasSyncedChecker(), registered.HasSyncedChecker(), pods.HasSyncedChecker())
}

// profile runs the plugin at the extension points that are measured, and beside it
// only what a framework cannot be without.
func (c *Contender) profile() *config.KubeSchedulerProfile {
	only := func(name string) config.PluginSet {
		return config.PluginSet{Enabled: []config.Plugin{{Name: name, Weight: scoreWeight}}}
	}
	profile := &config.KubeSchedulerProfile{SchedulerName: c.Name, Plugins: &config.Plugins{
		QueueSort: only(queuesort.Name), Bind: only(defaultbinder.Name),
		PreFilter: only(c.plugin), Filter: only(c.plugin), Score: only(c.plugin), Reserve: only(c.plugin), PreBind: only(c.plugin),
	}}
	if c.args != nil {
		profile.PluginConfig = []config.PluginConfig{{Name: c.plugin, Args: c.args}}
	}
	return profile
}

// scoreWeight is what the in-tree plugin has by default.
const scoreWeight = 2

// settle waits until the informer and everybody who listens has seen a write.
func (w *world) settle(ctx context.Context, version int) error {
	for _, p := range []*progress{w.stored, w.handled} {
		if err := p.await(ctx, version); err != nil {
			return fmt.Errorf("%s: wait for the event of version %d: %w", w.Name, version, err)
		}
	}
	return nil
}

// progress is a handler that knows the latest version that it was told of.
type progress struct {
	mu      sync.Mutex
	version int
	told    chan struct{} // closed and replaced when version grows
}

func newProgress() *progress { return &progress{told: make(chan struct{})} }

func (p *progress) OnAdd(object any, _ bool) { p.set(object) }
func (p *progress) OnUpdate(_, object any)   { p.set(object) }
func (p *progress) OnDelete(any)             {}
func (p *progress) set(object any) {
	claim, ok := object.(*resourceapi.ResourceClaim)
	if !ok {
		return
	}
	version, err := strconv.Atoi(claim.ResourceVersion)
	if err != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if version > p.version {
		p.version = version
		close(p.told)
		p.told = make(chan struct{})
	}
}

func (p *progress) await(ctx context.Context, version int) error {
	for {
		p.mu.Lock()
		seen, told := p.version, p.told
		p.mu.Unlock()
		if seen >= version {
			return nil
		}
		select {
		case <-told:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
