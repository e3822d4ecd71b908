package driver

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/dray-dev/dray/kubeletplugin/publish"
)

// TestWhatAnAPIServerDropsIsFoundOut turns features off one by one.
func TestWhatAnAPIServerDropsIsFoundOut(t *testing.T) {
	all := ideal().features
	all.ExtendedResources = false // it is of DeviceClasses, which a driver does not write
	for _, c := range []struct {
		name  string
		minor string
		off   func(*publish.Features)
		want  func(*publish.Features) // where more is off than was turned off
		last  int
	}{
		{name: "everything is kept", minor: "37", last: 37},
		{name: "counters", minor: "37", last: 37, off: func(f *publish.Features) { f.PartitionableDevices = false },
			want: func(f *publish.Features) { f.CompatibilityGroups = false }},
		{name: "taints", minor: "37", last: 37, off: func(f *publish.Features) { f.DeviceTaints = false }},
		{name: "groups", minor: "37", last: 37, off: func(f *publish.Features) { f.CompatibilityGroups = false }},
		{name: "lists", minor: "37", last: 37, off: func(f *publish.Features) { f.ListAttributes = false }},
		{name: "binding conditions", minor: "37", last: 37, off: func(f *publish.Features) { f.BindingConditions = false }},
		{name: "shares", minor: "37", last: 37, off: func(f *publish.Features) { f.ConsumableCapacity = false }},
		{name: "an older server", minor: "35+", last: 35, off: func(f *publish.Features) {}, want: func(f *publish.Features) {
			f.CompatibilityGroups, f.ListAttributes = false, false
		}},
		{name: "a server of the future", minor: "52", last: publish.NewestMinor},
		{name: "an ancient server", minor: "31", last: publish.OldestMinor, want: func(f *publish.Features) {
			f.CompatibilityGroups, f.ListAttributes = false, false
		}},
		{name: "a server that does not say", minor: "", last: publish.NewestMinor},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &dropping{minor: c.minor, features: all}
			if c.off != nil {
				c.off(&s.features)
			}
			want := s.features
			if c.want != nil {
				c.want(&want)
			}
			client := s.client()
			got, err := probe(t.Context(), client, driverName, nodeName)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&server{c.last, want}, got, cmp.AllowUnexported(server{})); diff != "" {
				t.Error(diff)
			}
			if s.asked == 0 {
				t.Error("nothing was asked by a dry run")
			}
			for _, action := range client.Actions() {
				if create, ok := action.(clienttesting.CreateActionImpl); ok && len(create.CreateOptions.DryRun) == 0 {
					t.Errorf("the probe was stored: %v", create.GetObject())
				}
			}
		})
	}
}

func TestAnAPIServerThatDoesNotAnswerIsAskedAgainWithPauses(t *testing.T) {
	s := &dropping{minor: "37", features: ideal().features}
	client, clock := s.client(), &stopped{now: noon}
	down := errors.New("connection refused")
	client.PrependReactor("create", "resourceslices", func(clienttesting.Action) (bool, runtime.Object, error) { return down != nil, nil, down })
	d := newDriver(t, func(o *Options) { o.Client, o.Clock = client, clock })
	var texts []string
	calls := func() int { return len(client.Actions()) }
	for range 40 { // twenty seconds
		before := calls()
		err := d.learn(t.Context(), clock.Now())
		if !errors.Is(err, down) {
			t.Fatalf("%v is not what is wrong", err)
		}
		if calls() > before {
			texts = append(texts, clock.Now().Sub(noon).String())
		}
		clock.move(500_000_000)
	}
	if got := strings.Join(texts, " "); got != "0s 1s 3s 7s 15s" {
		t.Errorf("it was asked at %s", got)
	}
	down = nil
	clock.move(30_000_000_000)
	if err := d.learn(t.Context(), clock.Now()); err != nil || d.publishing.server == nil {
		t.Errorf("when it answers: %v", err)
	}
}

// TestOptionsAreReducedToWhatIsKept: what is left is never refused, and what was left
// out is said.
func TestOptionsAreReducedToWhatIsKept(t *testing.T) {
	wished := publish.Options{MIG: publish.MIGDynamic, VGPU: true, AMDPartitions: true, NICs: publish.NICSharedBandwidth}
	for _, c := range []struct {
		name    string
		off     func(*publish.Features)
		leftOut []string
		check   func(publish.Options) bool
	}{
		{"nothing", func(*publish.Features) {}, nil, func(o publish.Options) bool {
			return o.MIG == publish.MIGDynamic && o.VGPU && o.AMDPartitions && o.NICs == publish.NICSharedBandwidth && o.NUMANodeList
		}},
		{"counters and groups", func(f *publish.Features) { f.PartitionableDevices, f.CompatibilityGroups = false, false },
			[]string{"partitions of GPUs", "virtual GPUs", "other partition modes of AMD GPUs"},
			func(o publish.Options) bool { return o.MIG == publish.MIGOff && !o.VGPU && !o.AMDPartitions }},
		{"groups", func(f *publish.Features) { f.CompatibilityGroups = false }, []string{"virtual GPUs"},
			func(o publish.Options) bool { return o.MIG == publish.MIGDynamic && !o.VGPU }},
		{"shares", func(f *publish.Features) { f.ConsumableCapacity = false },
			[]string{"other partition modes of AMD GPUs", "shared bandwidth of network ports"},
			func(o publish.Options) bool { return o.NICs == publish.NICFunctions && o.MIG == publish.MIGDynamic }},
		{"lists", func(f *publish.Features) { f.ListAttributes = false }, nil, func(o publish.Options) bool { return !o.NUMANodeList }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := ideal()
			c.off(&s.features)
			reduced, leftOut := reduce(wished, s)
			if _, err := publish.New(reduced); err != nil {
				t.Error(err)
			}
			if !c.check(reduced) {
				t.Errorf("%+v", reduced)
			}
			if len(leftOut) != len(c.leftOut) {
				t.Fatalf("left out are %q", leftOut)
			}
			for i := range leftOut {
				if !strings.HasPrefix(leftOut[i], c.leftOut[i]+" (the API server does not keep") {
					t.Errorf("left out is %q, not %s", leftOut[i], c.leftOut[i])
				}
			}
		})
	}
	static, _ := reduce(publish.Options{MIG: publish.MIGStatic}, &server{minor: publish.OldestMinor})
	if static.MIG != publish.MIGStatic {
		t.Error("partitions that exist need no counters, and are left out")
	}
}
