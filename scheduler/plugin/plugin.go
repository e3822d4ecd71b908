package plugin

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/utils/clock"
)

// Name is the plugin's name in a KubeSchedulerConfiguration.
const Name = "DrayDynamicResources"

// Plugin is the scheduler plugin. One is made for each profile; all of a process
// share an engine.
type Plugin struct {
	enabled  bool
	features feature.Features
	args     Args // with defaults
	handle   fwk.Handle
	client   kubernetes.Interface
	manager  fwk.SharedDRAManager
	cluster  clusterState
	engine   *engine

	pods        cache.Indexer
	podsByClaim string // name of the index in pods

	clock        clock.PassiveClock
	bindingPoll  time.Duration   // between two looks at binding conditions
	assumePoll   time.Duration   // between two tries to assume a claim that was created
	doubtPause   time.Duration   // see doubtPauses
	background   context.Context // of what outlives a cycle
	assumeWithin time.Duration   // in all
	stamping     sync.Mutex      // see stamped
}

var (
	_ fwk.SignPlugin               = &Plugin{}
	_ fwk.EnqueueExtensions        = &Plugin{}
	_ fwk.PreEnqueuePlugin         = &Plugin{}
	_ fwk.PreFilterPlugin          = &Plugin{}
	_ fwk.FilterPlugin             = &Plugin{}
	_ fwk.PostFilterPlugin         = &Plugin{}
	_ fwk.PodGroupPostFilterPlugin = &Plugin{}
	_ fwk.ScorePlugin              = &Plugin{}
	_ fwk.ReservePlugin            = &Plugin{}
	_ fwk.PreBindPlugin            = &Plugin{}
)

// Factory makes the plugins of one process. The zero value is ready. What is
// learned about the cluster's devices is shared by all plugins with the same
// SharedDRAManager, so that profiles do not each compile all slices. The first
// factory of a process adds its metrics to the registry that the process serves.
type Factory struct {
	// ServeExplanations says whether explainAddress of the arguments is listened on.
	// A process that makes several schedulers would want one port several times.
	ServeExplanations bool

	mu      sync.Mutex
	engines map[fwk.SharedDRAManager]*engine
	metrics *instruments
	plugins []*Plugin
	// listening has the addresses at which explanations are served.
	listening map[string]bool
}

// New is the factory of a plugin as the scheduler's registry wants it. The feature
// gates are those of the process.
func (f *Factory) New(ctx context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	return f.make(ctx, args, handle, feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate))
}

func (f *Factory) make(ctx context.Context, args runtime.Object, handle fwk.Handle, features feature.Features) (fwk.Plugin, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.metrics == nil {
		f.metrics = newInstruments()
		if err := f.metrics.register(served{}, f.allEngines); err != nil {
			// Another factory of this process has them.
			klog.FromContext(ctx).Error(err, "Metrics of this scheduler are not served", "plugin", Name)
		}
	}
	known := len(f.engines)
	engine, err := f.engine(handle, features)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Name, err)
	}
	if len(f.engines) > known && features.EnableDynamicResourceAllocation {
		watch := &doublesWatch{client: handle.ClientSet(), recorder: handle.EventRecorder(), counted: f.metrics.doubles.Inc}
		if err := watch.watch(ctx, handle.SharedInformerFactory().Resource().V1().ResourceClaims().Informer()); err != nil {
			return nil, fmt.Errorf("%s: %w", Name, err)
		}
	}
	p, err := newPlugin(ctx, args, handle, features, engine)
	if err != nil {
		return nil, err
	}
	f.plugins = append(f.plugins, p)
	if err := f.serveExplanations(ctx, *p.args.ExplainAddress); err != nil {
		return nil, err
	}
	return p, nil
}

// engine returns what the plugins with the handle's manager share. The caller holds mu.
func (f *Factory) engine(handle fwk.Handle, features feature.Features) (*engine, error) {
	manager := handle.SharedDRAManager()
	if known := f.engines[manager]; known != nil {
		return known, nil
	}
	made := newEngine(features, f.metrics)
	if features.EnableDynamicResourceAllocation && canHaveLedger(manager) {
		if err := made.keepLedger(handle, features); err != nil {
			return nil, err
		}
	}
	if f.engines == nil {
		f.engines = map[fwk.SharedDRAManager]*engine{}
	}
	f.engines[manager] = made
	return made, nil
}

func (f *Factory) allEngines() []*engine {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Values(f.engines))
}

// New makes a plugin that shares nothing with others, with the given features. It asks
// the manager for each pod what is allocated, because another plugin may write to the
// same manager. args are nil or a *runtime.Unknown with Args as JSON or YAML.
func New(ctx context.Context, args runtime.Object, handle fwk.Handle, features feature.Features) (fwk.Plugin, error) {
	return newPlugin(ctx, args, handle, features, newEngine(features, newInstruments()))
}

func newPlugin(ctx context.Context, object runtime.Object, handle fwk.Handle, features feature.Features, engine *engine) (*Plugin, error) {
	args, err := decodeArgs(object)
	if err == nil {
		err = args.validate(features)
	}
	if err == nil {
		err = checkFeatures(features)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Name, err)
	}
	p := &Plugin{
		enabled:      features.EnableDynamicResourceAllocation,
		features:     features,
		args:         args.withDefaults(),
		handle:       handle,
		client:       handle.ClientSet(),
		manager:      handle.SharedDRAManager(),
		engine:       engine,
		clock:        clock.RealClock{},
		bindingPoll:  5 * time.Second,
		assumePoll:   20 * time.Millisecond,
		assumeWithin: 120 * time.Second,
		doubtPause:   100 * time.Millisecond,
		background:   ctx,
	}
	if !p.enabled {
		return p, nil
	}
	state := managerState{manager: p.manager, shares: features.EnableDRAConsumableCapacity, counts: &engine.asked}
	p.cluster = &state
	if engine.ledger != nil {
		p.manager = newLedgerManager(p.manager, engine.ledger)
		if p.args.Allocator != AllocatorUpstream {
			p.cluster = &ledgerState{state, engine.ledger}
		}
	}
	if err := p.indexPods(); err != nil {
		return nil, fmt.Errorf("%s: %w", Name, err)
	}
	return p, nil
}

// Name returns Name.
func (p *Plugin) Name() string { return Name }
