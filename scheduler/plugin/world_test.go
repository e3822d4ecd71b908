package plugin

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	schedulingapi "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache"
	resourceslicetracker "k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	schedulercache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestMain(m *testing.M) {
	metrics.InitMetrics()
	// The scheduler's own cache looks at the gates of the process.
	if err := utilfeature.DefaultMutableFeatureGate.Set("GenericWorkload=true,DRAWorkloadResourceClaims=true"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// stableFeatures are the gates of 1.37 that are on by default, and those of pod
// groups with claims.
func stableFeatures() feature.Features {
	return feature.Features{
		EnableDynamicResourceAllocation:    true,
		EnableDRAAdminAccess:               true,
		EnableDRAConsumableCapacity:        true,
		EnableDRADeviceBindingConditions:   true,
		EnableDRADeviceTaints:              true,
		EnableDRAExtendedResource:          true,
		EnableDRAPartitionableDevices:      true,
		EnableDRAPrioritizedList:           true,
		EnableDRAResourceClaimDeviceStatus: true,
		EnableDRASchedulerFilterTimeout:    true,
		EnableDRAWorkloadResourceClaims:    true,
	}
}

// world is a cluster in memory with the real framework's handle and the real
// manager of claims around the plugin.
type world struct {
	t       testing.TB
	ctx     context.Context
	api     *fakeAPI
	manager *dynamicresources.DefaultDRAManager
	claims  *assumecache.AssumeCache
	factory informers.SharedInformerFactory
	plugin  *Plugin
	clock   *clocktesting.FakePassiveClock
	nodes   []fwk.NodeInfo
	pods    map[string]*corev1.Pod
	cycles  map[string]*framework.CycleState // by pod
	group   *framework.CycleState            // of the pod group's cycle that is going on
	told    *told
	// activated are the pods that the plugin woke up.
	activated activated
}

// activated is the scheduling queue as far as the plugin sees it.
type activated struct {
	mu   sync.Mutex
	pods sets.Set[string]
}

func (a *activated) Activate(_ klog.Logger, pods map[string]*corev1.Pod) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pods = sets.KeySet(pods).Union(a.pods)
}

func (a *activated) names() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return sets.List(a.pods)
}

// told is what a handler of the cache of claims was told last. It is registered
// after the manager's, so the manager has been told as well.
type told struct {
	mu       sync.Mutex
	versions map[string]string
}

func (o *told) set(object any, there bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	claim, ok := object.(*resourceapi.ResourceClaim)
	switch {
	case ok && there:
		o.versions[claim.Name] = claim.ResourceVersion
	case ok:
		delete(o.versions, claim.Name)
	}
}

func (o *told) has(name, version string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.versions[name] == version
}

// objects are what a world begins with.
type objects struct {
	nodes   []*corev1.Node
	classes []*resourceapi.DeviceClass
	slices  []*resourceapi.ResourceSlice
	rules   []*resourceapi.DeviceTaintRule
	claims  []*resourceapi.ResourceClaim
	pods    []*corev1.Pod
	groups  []*schedulingapi.PodGroup
}

var worldStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newWorld(t testing.TB, begin objects, args string, features feature.Features) *world {
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), klog.Logger{}))
	w := &world{
		t: t, ctx: ctx, api: newFakeAPI(), clock: clocktesting.NewFakePassiveClock(worldStart),
		pods: map[string]*corev1.Pod{}, cycles: map[string]*framework.CycleState{},
		told: &told{versions: map[string]string{}},
	}
	w.factory = informers.NewSharedInformerFactory(w.api, 0)
	t.Cleanup(func() { cancel(); w.factory.Shutdown() })
	w.create(begin)

	slices, err := resourceslicetracker.StartTracker(ctx, resourceslicetracker.Options{
		EnableDeviceTaintRules: true,
		SliceInformer:          w.factory.Resource().V1().ResourceSlices(),
		TaintInformer:          w.factory.Resource().V1().DeviceTaintRules(),
		KubeClient:             w.api,
	})
	w.check(err)
	w.claims = assumecache.NewAssumeCache(klog.Logger{}, w.factory.Resource().V1().ResourceClaims().Informer(), "resource claim", "", nil)
	w.manager = dynamicresources.NewDRAManager(ctx, w.claims, slices, w.factory)
	synced := []cache.DoneChecker{slices.HasSyncedChecker(), w.claims.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { w.told.set(object, true) },
		UpdateFunc: func(_, object any) { w.told.set(object, true) },
		DeleteFunc: func(object any) { w.told.set(object, false) },
	}).HasSyncedChecker()}
	registered, err := w.factory.Resource().V1().DeviceClasses().Informer().AddEventHandler(w.manager.DeviceClassResolver().(*extendedresourcecache.ExtendedResourceCache))
	w.check(err)
	synced = append(synced, registered.HasSyncedChecker())

	groups := schedulercache.New(ctx, nil, true, false)
	for _, pod := range begin.pods {
		groups.AddPodGroupMember(pod)
	}
	for _, group := range begin.groups {
		groups.AddPodGroup(group)
	}
	handle, err := frameworkruntime.NewFramework(ctx, nil, nil,
		frameworkruntime.WithClientSet(w.api),
		frameworkruntime.WithInformerFactory(w.factory),
		frameworkruntime.WithEventRecorder(&events.FakeRecorder{}),
		frameworkruntime.WithSharedDRAManager(w.manager),
		frameworkruntime.WithPodActivator(&w.activated),
		frameworkruntime.WithPodGroupManager(groups),
		frameworkruntime.WithSnapshotSharedLister(schedulercache.NewTestSnapshotWithPodGroups(nil, nil, begin.groups)),
	)
	w.check(err)
	engine := newEngine(features, newInstruments())
	w.check(engine.keepLedger(handle, features))
	w.plugin, err = newPlugin(ctx, &runtime.Unknown{Raw: []byte(args)}, handle, features, engine)
	w.check(err)
	w.plugin.clock = w.clock
	w.plugin.bindingPoll = time.Millisecond
	w.plugin.assumePoll = time.Millisecond
	w.plugin.doubtPause = time.Millisecond

	w.factory.Start(ctx.Done())
	w.factory.WaitForCacheSync(ctx.Done())
	cache.WaitFor(ctx, "event handlers", synced...)
	<-w.api.watched
	return w
}

func (w *world) create(begin objects) {
	for _, class := range begin.classes {
		_, err := w.api.ResourceV1().DeviceClasses().Create(w.ctx, class, metav1.CreateOptions{})
		w.check(err)
	}
	for _, slice := range begin.slices {
		_, err := w.api.ResourceV1().ResourceSlices().Create(w.ctx, slice, metav1.CreateOptions{})
		w.check(err)
	}
	for _, rule := range begin.rules {
		_, err := w.api.ResourceV1().DeviceTaintRules().Create(w.ctx, rule, metav1.CreateOptions{})
		w.check(err)
	}
	for _, claim := range begin.claims {
		_, err := w.api.ResourceV1().ResourceClaims(claim.Namespace).Create(w.ctx, claim, metav1.CreateOptions{})
		w.check(err)
	}
	for _, pod := range begin.pods {
		created, err := w.api.CoreV1().Pods(pod.Namespace).Create(w.ctx, pod, metav1.CreateOptions{})
		w.check(err)
		w.pods[pod.Name] = created
	}
	for _, node := range begin.nodes {
		info := framework.NewNodeInfo()
		info.SetNode(node)
		w.nodes = append(w.nodes, info)
	}
	w.api.takeCalls()
}

func (w *world) check(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// settle waits until no claim is in doubt and the informers have seen all claims as
// they are in the API.
func (w *world) settle() {
	w.t.Helper()
	var differ string
	store := w.factory.Resource().V1().ResourceClaims().Informer().GetStore()
	err := wait.PollUntilContextTimeout(w.ctx, time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) {
		differ = ""
		if w.plugin.engine.doubts.Load() > 0 {
			differ = "in doubt"
			return false, nil
		}
		inAPI := sets.New[string]()
		for _, claim := range w.listClaims() {
			inAPI.Insert(claim.Namespace + "/" + claim.Name)
			seen, _, _ := store.GetByKey(claim.Namespace + "/" + claim.Name)
			if seen == nil || seen.(*resourceapi.ResourceClaim).ResourceVersion != claim.ResourceVersion ||
				!w.told.has(claim.Name, claim.ResourceVersion) {
				differ = claim.Name
			}
		}
		w.told.mu.Lock()
		defer w.told.mu.Unlock()
		for name := range w.told.versions {
			if !inAPI.Has(testNamespace + "/" + name) {
				differ = name
			}
		}
		return differ == "", nil
	})
	if err != nil {
		w.t.Fatalf("informer does not see claim %s as it is: %v", differ, err)
	}
}

func (w *world) listClaims() []resourceapi.ResourceClaim {
	w.t.Helper()
	list, err := w.api.ResourceV1().ResourceClaims("").List(w.ctx, metav1.ListOptions{})
	w.check(err)
	slices.SortFunc(list.Items, func(a, b resourceapi.ResourceClaim) int { return strings.Compare(a.Name, b.Name) })
	return list.Items
}

func (w *world) node(name string) fwk.NodeInfo {
	w.t.Helper()
	for _, info := range w.nodes {
		if info.Node().Name == name {
			return info
		}
	}
	w.t.Fatalf("there is no node %s", name)
	return nil
}

func (w *world) pod(name string) *corev1.Pod {
	w.t.Helper()
	if w.pods[name] == nil {
		w.t.Fatalf("there is no pod %s", name)
	}
	return w.pods[name]
}

// begin starts a scheduling cycle of the pod, in its group's cycle if one goes on.
func (w *world) begin(pod string) *framework.CycleState {
	cycle := framework.NewCycleState()
	if w.group != nil && w.pod(pod).Spec.SchedulingGroup != nil {
		cycle.SetPodGroupSchedulingCycle(w.group)
	}
	w.cycles[pod] = cycle
	return cycle
}

func (w *world) cycle(pod string) *framework.CycleState {
	w.t.Helper()
	if w.cycles[pod] == nil {
		w.t.Fatalf("pod %s has no cycle: begin with prefilter", pod)
	}
	return w.cycles[pod]
}

// tellStatus prints a status on one line.
func tellStatus(status *fwk.Status) string {
	if status.IsSuccess() {
		return "ok"
	}
	text := strings.ReplaceAll(status.Message(), "\n", " ")
	if text == "" {
		return status.Code().String()
	}
	return fmt.Sprintf("%s: %s", status.Code(), text)
}

// tellAllocation prints devices, and where they can be used.
func tellAllocation(allocation *resourceapi.AllocationResult) string {
	var devices []string
	for _, device := range allocation.Devices.Results {
		text := fmt.Sprintf("%s=%s/%s", device.Request, device.Pool, device.Device)
		if device.ShareID != nil {
			text += "(shared)"
		}
		devices = append(devices, text)
	}
	if len(devices) == 0 {
		return "nothing"
	}
	return strings.Join(devices, " ")
}

// tellClaims prints the claims in the API, what is in flight, and the devices that
// the manager of claims says are taken.
func (w *world) tellClaims() string {
	w.t.Helper()
	w.settle()
	var out strings.Builder
	uids := sets.New[types.UID]()
	for _, claim := range w.listClaims() {
		uids.Insert(claim.UID)
		fmt.Fprintf(&out, "claim %s:", claim.Name)
		if claim.Status.Allocation == nil {
			out.WriteString(" pending")
		} else {
			out.WriteString(" " + tellAllocation(claim.Status.Allocation))
		}
		for _, consumer := range claim.Status.ReservedFor {
			fmt.Fprintf(&out, " for %s/%s", consumer.Resource, consumer.Name)
		}
		if claim.DeletionTimestamp != nil {
			out.WriteString(" going")
		}
		if pending := w.manager.ResourceClaims().GetPendingAllocation(claim.UID); pending != nil {
			out.WriteString("; in flight " + tellAllocation(pending))
		}
		out.WriteString("\n")
	}
	known, err := w.plugin.cluster.taken(w.ctx)
	w.check(err)
	state := known.allocated()
	var taken []string
	for device := range state.AllocatedDevices {
		taken = append(taken, device.Pool.String()+"/"+device.Device.String())
	}
	slices.Sort(taken)
	fmt.Fprintf(&out, "taken: %s\n", strings.Join(append(taken, ""), " "))
	return strings.ReplaceAll(out.String(), " \n", "\n")
}
