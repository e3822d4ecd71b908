package driver

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	resourceapi "k8s.io/api/resource/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/dynamic-resource-allocation/resourceslice"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"

	"github.com/dray-dev/dray/kubeletplugin/checkpoint"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
	"github.com/dray-dev/dray/kubeletplugin/prepare/nvidia"
	"github.com/dray-dev/dray/kubeletplugin/publish"
	"github.com/dray-dev/dray/kubeletplugin/watch"
)

// publishingTo is a driver that knows what its API server keeps.
func publishingTo(t testing.TB, features publish.Features, change func(*Options)) *Driver {
	t.Helper()
	d := newDriver(t, func(o *Options) {
		o.Client = (&dropping{minor: "37", features: features}).client()
		if change != nil {
			change(o)
		}
	})
	if err := d.learn(t.Context(), noon); err != nil {
		t.Fatal(err)
	}
	return d
}

// poolOf is the pool that is published of a node.
func poolOf(t testing.TB, d *Driver, node *hardware.Node, problems ...watch.Problem) *resourceslice.Pool {
	t.Helper()
	pool, _, err := d.pool(t.Context(), node, problems, d.options.Clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	return pool
}

func devicesOf(pool *resourceslice.Pool) map[string]resourceapi.Device {
	devices := map[string]resourceapi.Device{}
	for _, slice := range pool.Slices {
		for _, device := range slice.Devices {
			devices[device.Name] = device
		}
	}
	return devices
}

func lost(gpu string) watch.Problem {
	return watch.Problem{Device: gpu, Unhealthy: true, Message: "the GPU is lost",
		Taint: resourceapi.DeviceTaint{Key: "gpu.nvidia.com/gpu-lost", Effect: resourceapi.DeviceTaintEffectNoSchedule}}
}

func unreadable(gpu string) watch.Problem {
	return watch.Problem{Device: gpu, Unknown: true, Message: "it cannot be read",
		Taint: resourceapi.DeviceTaint{Key: "gpu.nvidia.com/unreadable", Effect: resourceapi.DeviceTaintEffectNoSchedule}}
}

func hot(gpu string) watch.Problem {
	return watch.Problem{Device: gpu, Message: "it is hot",
		Taint: resourceapi.DeviceTaint{Key: "gpu.nvidia.com/thermal-slowdown", Effect: resourceapi.DeviceTaintEffectNone}}
}

// TestWhatIsPublishedFitsWhatIsKept: without counters no two devices of one GPU can
// be told to exclude each other, and without taints a device that nobody must get
// cannot be told to be one.
func TestWhatIsPublishedFitsWhatIsKept(t *testing.T) {
	node := readNode(t, "dgx-h100")
	without := func(change func(*publish.Features)) publish.Features {
		f := ideal().features
		change(&f)
		return f
	}
	for _, c := range []struct {
		name       string
		features   publish.Features
		partitions bool
		lostIsOut  bool
	}{
		{"everything", ideal().features, true, false},
		{"no counters", without(func(f *publish.Features) { f.PartitionableDevices, f.CompatibilityGroups = false, false }), false, false},
		{"no groups", without(func(f *publish.Features) { f.CompatibilityGroups = false }), true, false},
		{"no taints", without(func(f *publish.Features) { f.DeviceTaints = false }), true, true},
		{"nothing", publish.Features{}, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := publishingTo(t, c.features, nil)
			pool := poolOf(t, d, node, lost("gpu-1"), hot("gpu-2"))
			devices := devicesOf(pool)
			if _, ok := devices["gpu-0"]; !ok {
				t.Error("there is no whole GPU")
			}
			_, partition := devices["gpu-0-mig-1g10gb-19-0"]
			if partition != c.partitions {
				t.Errorf("there are partitions: %v", partition)
			}
			parts := slices.Collect(maps.Keys(devices))
			ofLost := slices.DeleteFunc(parts, func(name string) bool { p := lost("gpu-1"); return !p.Concerns(name) })
			if (len(ofLost) == 0) != c.lostIsOut {
				t.Errorf("of the GPU that is lost there are %v", ofLost)
			}
			for _, name := range ofLost {
				if taints := devices[name].Taints; len(taints) != 1 || taints[0].TimeAdded == nil {
					t.Errorf("%s has taints %v", name, taints)
				}
			}
			if _, ok := devices["gpu-2"]; !ok {
				t.Error("a GPU that is hot is withdrawn")
			}
			server := &dropping{features: c.features}
			for _, slice := range pool.Slices {
				spec := resourceapi.ResourceSliceSpec{Devices: slice.Devices, SharedCounters: slice.SharedCounters}
				kept := *spec.DeepCopy()
				server.drop(&kept)
				if !apiequality.Semantic.DeepEqual(spec, kept) {
					t.Error("the API server drops something of a slice")
				}
			}
		})
	}
}

func TestThereIsAlwaysASlice(t *testing.T) {
	pool := poolOf(t, newDriver(t, nil), &hardware.Node{})
	if len(pool.Slices) != 1 || len(pool.Slices[0].Devices) != 0 {
		t.Errorf("without hardware there are %d slices", len(pool.Slices))
	}
}

// TestWhatNothingPreparesIsNotPublished, and that is said once.
func TestWhatNothingPreparesIsNotPublished(t *testing.T) {
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
	d := publishingTo(t, ideal().features, nil)
	for range 2 {
		pool, devices, err := d.pool(klog.NewContext(t.Context(), logger), readNode(t, "mi300x"), nil, noon)
		if err != nil || len(devicesOf(pool)) != 0 || len(devices) != 0 {
			t.Fatalf("%d devices are published, %v", len(devicesOf(pool)), err)
		}
	}
	text := logger.GetSink().(ktesting.Underlier).GetBuffer().String()
	if strings.Count(text, "does not know how to prepare") != 1 {
		t.Errorf("it says %s", text)
	}
}

// TestATaintKeepsItsTime while the problem lasts, over a restart of the driver, and
// not when it comes back.
func TestATaintKeepsItsTime(t *testing.T) {
	node := readNode(t, "dgx-h100")
	clock := &stopped{now: noon}
	d := publishingTo(t, ideal().features, func(o *Options) { o.Clock = clock })
	timeOf := func(d *Driver, problems ...watch.Problem) string {
		taints := devicesOf(poolOf(t, d, node, problems...))["gpu-1-mig-1g10gb-19-0"].Taints
		if len(taints) == 0 {
			return "no taint"
		}
		return taints[0].TimeAdded.UTC().Format(time.TimeOnly)
	}
	var got []string
	got = append(got, timeOf(d, lost("gpu-1")))
	clock.move(time.Minute)
	got = append(got, timeOf(d, lost("gpu-1")))

	pool := poolOf(t, d, node, lost("gpu-1"))
	next := newDriver(t, func(o *Options) { o.Clock = clock })
	name := nodeName
	for i, slice := range pool.Slices {
		object := &resourceapi.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("slice-", i)},
			Spec: resourceapi.ResourceSliceSpec{Driver: driverName, NodeName: &name, Devices: slice.Devices}}
		if _, err := next.options.Client.ResourceV1().ResourceSlices().Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := next.learn(t.Context(), clock.Now()); err != nil {
		t.Fatal(err)
	}
	got = append(got, timeOf(next, lost("gpu-1")), timeOf(next), timeOf(next, lost("gpu-1")))
	if diff := cmp.Diff([]string{"12:00:00", "12:00:00", "12:00:00", "no taint", "12:01:00"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestHealthIsKnownWithoutTheAPIServer, and the times of taints are not forgotten
// before they could be read.
func TestHealthIsKnownWithoutTheAPIServer(t *testing.T) {
	clock := &stopped{now: noon}
	d := newDriver(t, func(o *Options) { o.Clock = clock })
	d.publishing.retry = backoff{at: noon.Add(time.Hour), err: errStopping}
	if err := d.publish(t.Context(), readNode(t, "dgx-h100"), []watch.Problem{lost("gpu-1"), hot("gpu-1"), hot("gpu-2"),
		unreadable("gpu-1"), unreadable("gpu-3"), hot("gpu-3")}); err == nil {
		t.Fatal("it was published")
	}
	view, _ := d.current()
	if view == nil {
		t.Fatal("there is no view")
	}
	report := d.health(view)
	got := map[string]string{}
	for _, device := range report.Devices {
		if device.PoolName != nodeName || device.HealthCheckTimeout != healthTimeout || !device.LastUpdated.Equal(noon) {
			t.Fatalf("%+v", device)
		}
		got[device.DeviceName] = fmt.Sprintf("%s: %s", device.Health, device.Message)
	}
	for name, want := range map[string]string{
		"gpu-0": "Healthy: ", "gpu-1": "Unhealthy: the GPU is lost", "gpu-1-mig-1g10gb-19-0": "Unhealthy: the GPU is lost", "gpu-2": "Healthy: it is hot",
		"gpu-3": "Unknown: it cannot be read",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, not %q", name, got[name], want)
		}
	}
	if d.publishing.since != nil {
		t.Error("the times of taints are known before they were read")
	}
}

func TestMessagesOfOneDeviceAreJoined(t *testing.T) {
	devices := []resourceapi.Device{{Name: "gpu-1"}, {Name: "gpu-10"}}
	second := lost("gpu-1")
	second.Message = "and more"
	v := newView(nil, []watch.Problem{lost("gpu-1"), second}, devices, noon)
	if diff := cmp.Diff(map[string]string{"gpu-1": "the GPU is lost; and more"}, v.unhealthy); diff != "" {
		t.Error(diff)
	}
}

// TestNothingIsPublishedThatAnAdministratorsPartitionIsInTheWayOf, of random ones.
// GPUs without any keep all their devices.
func TestNothingIsPublishedThatAnAdministratorsPartitionIsInTheWayOf(t *testing.T) {
	d := publishingTo(t, ideal().features, func(o *Options) { o.Foreign = nvidia.ForeignDevices })
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 0))
		node := readNode(t, "dgx-h100")
		all := devicesOf(poolOf(t, d, node))
		for range 1 + r.IntN(6) {
			makePartition(r, node)
		}
		pool := poolOf(t, d, node)
		left := devicesOf(pool)
		for name := range all {
			found, _ := publish.FindNVIDIA(node, name)
			_, isPublished := left[name]
			instances := found.GPU.MIG.Instances
			covers := func(i hardware.GPUInstanceState) bool {
				return found.Profile == nil || overlap(found.Placement, i.Placement)
			}
			switch {
			case slices.ContainsFunc(instances, covers) && isPublished:
				t.Errorf("seed %d: %s is published beside %v", seed, name, instances)
			case len(instances) == 0 && !isPublished:
				t.Errorf("seed %d: %s has gone, and its GPU has no partitions", seed, name)
			}
		}
		for _, slice := range pool.Slices {
			for _, set := range slice.SharedCounters {
				for name, counter := range set.Counters {
					if counter.Value.Sign() < 0 {
						t.Errorf("seed %d: of %s in %s there is %s left", seed, name, set.Name, counter.Value.String())
					}
				}
			}
		}
	}
	node := readNode(t, "dgx-h100")
	found, _ := publish.FindNVIDIA(node, "gpu-0-mig-3g40gb-9-0")
	found.GPU.MIG.Enabled = true
	found.GPU.MIG.Instances = []hardware.GPUInstanceState{{ID: 1, ProfileID: found.Profile.ID, Placement: found.Placement}}
	if devices := devicesOf(poolOf(t, d, node)); devices["gpu-0-mig-3g40gb-9-4"].Name == "" || devices["gpu-0-mig-1g10gb-19-6"].Name == "" {
		t.Error("what fits beside a partition is not published")
	}
}

// TestWhatAClaimHasIsNobodyElses, also if the claim is taken back, or prepared, between
// the look at the hardware and that at the claims.
func TestWhatAClaimHasIsNobodyElses(t *testing.T) {
	const partition = "gpu-0-mig-3g40gb-9-0"
	d := publishingTo(t, ideal().features, func(o *Options) { o.Foreign = nvidia.ForeignDevices })
	node := readNode(t, "dgx-h100")
	found, _ := publish.FindNVIDIA(node, partition)
	found.GPU.MIG.Enabled = true
	found.GPU.MIG.Instances = []hardware.GPUInstanceState{{ID: 1, ProfileID: found.Profile.ID, Placement: found.Placement}}
	plan := asJSON(t, map[string]any{"uuid": found.GPU.UUID, "profileID": found.Profile.ID, "start": 0, "size": 4})
	claim := &checkpoint.Claim{UID: "a", Namespace: "default", Name: "a", State: checkpoint.Completed, BootID: d.bootID, Devices: []checkpoint.Device{
		{Kind: "mig", Request: "r", Pool: nodeName, Device: partition, Lock: "gpu-0", Plan: json.RawMessage(plan)}}}
	change := func(do func() error) {
		t.Helper()
		end, err := d.store.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer end()
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
	isPublished := func(what string, want bool) {
		t.Helper()
		if _, ok := devicesOf(poolOf(t, d, node))[partition]; ok != want {
			t.Errorf("%s: it is published: %v", what, ok)
		}
	}
	isPublished("of no claim", false)
	change(func() error { return d.store.Put(claim, nil) })
	isPublished("of a claim that was prepared meanwhile", true)
	if err := d.rememberClaims(t.Context()); err != nil {
		t.Fatal(err)
	}
	change(func() error { return d.store.Delete(claim.UID) })
	isPublished("of a claim that was taken back meanwhile", true)
	if err := d.rememberClaims(t.Context()); err != nil {
		t.Fatal(err)
	}
	isPublished("of no claim any more", false)
}

// makePartition makes a random one where there is room for it.
func makePartition(r *rand.Rand, node *hardware.Node) {
	gpu := &node.GPUs[r.IntN(3)]
	profile := gpu.MIG.Profiles[r.IntN(len(gpu.MIG.Profiles))]
	at := profile.Placements[r.IntN(len(profile.Placements))]
	if slices.ContainsFunc(gpu.MIG.Instances, func(i hardware.GPUInstanceState) bool { return overlap(at, i.Placement) }) {
		return
	}
	// As many as the GPU has engines for: +me and +gfx ones are few.
	same := 0
	for _, instance := range gpu.MIG.Instances {
		if other := profileOf(gpu, instance.ProfileID); strings.Contains(other.Name, "+") {
			same++
		}
	}
	if strings.Contains(profile.Name, "+") && same > 0 {
		return
	}
	gpu.MIG.Enabled, gpu.MIG.Pending = true, true
	gpu.MIG.Instances = append(gpu.MIG.Instances, hardware.GPUInstanceState{ID: len(gpu.MIG.Instances) + 1, ProfileID: profile.ID, Placement: at})
}

func profileOf(gpu *hardware.GPU, id int) *hardware.MIGProfile {
	i := slices.IndexFunc(gpu.MIG.Profiles, func(p hardware.MIGProfile) bool { return p.ID == id })
	return &gpu.MIG.Profiles[i]
}

func overlap(a, b hardware.Placement) bool {
	return a.Start < b.Start+b.Size && b.Start < a.Start+a.Size
}

func TestOneOfTwoProcessesPublishesUntilItEnds(t *testing.T) {
	first := newDriver(t, nil)
	second := newDriver(t, func(o *Options) { o.Folders, o.Clock = first.options.Folders, systemClock{} })
	first.options.Clock = systemClock{}
	if !first.ownsPublishing(t.Context()) {
		t.Fatal("the first does not publish")
	}
	if second.ownsPublishing(t.Context()) {
		t.Error("both publish")
	}
	first.publishing.giveUp()
	deadline := time.After(20 * time.Second)
	for !second.ownsPublishing(t.Context()) {
		select {
		case <-second.wake:
		case <-deadline:
			t.Fatal("the second does not publish when the first has ended")
		}
	}
	second.publishing.giveUp()
}

func problems(list ...watch.Problem) []watch.Problem { return list }
