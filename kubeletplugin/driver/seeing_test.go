package driver

import (
	"errors"
	"testing"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// TestADriverKnowsForHowLongItHasSeenNothing, also while a look does not end.
func TestADriverKnowsForHowLongItHasSeenNothing(t *testing.T) {
	clock := &stopped{now: noon}
	d := newDriver(t, func(o *Options) { o.Clock = clock })
	expect := func(what string, lasted time.Duration, fails bool) {
		t.Helper()
		got, err := d.Seeing()
		if got != lasted || (err != nil) != fails {
			t.Errorf("%s: %v for %s", what, err, got)
		}
	}
	look := func(blind error) {
		d.seeing.begin(clock.now)
		d.seeing.end(blind)
	}
	expect("before the first look", 0, false)
	look(nil)
	expect("after it", 0, false)
	clock.move(time.Hour)
	look(errors.New("dark"))
	clock.move(time.Minute)
	look(errors.New("dark still"))
	expect("when it is dark", time.Minute, true)
	d.seeing.begin(clock.now)
	clock.move(time.Minute)
	expect("while it looks again", 2*time.Minute, true)
	d.seeing.end(nil)
	expect("when it is light", 0, false)
	d.seeing.begin(clock.now)
	clock.move(lookPatience)
	expect("while a look takes long", 0, false)
	clock.move(time.Second)
	expect("while it takes too long", lookPatience+time.Second, true)
	d.seeing.end(nil)
	expect("when it has ended", 0, false)
}

// TestDevicesOfAnEarlierDriverStayWhileThisOneSeesNothing, for a while, and only if
// there are any.
func TestDevicesOfAnEarlierDriverStayWhileThisOneSeesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		devices []resourceapi.Device
		driver  *hardware.GPUDriver
		after   time.Duration
		keeps   bool
	}{
		"devices":                     {devices: []resourceapi.Device{{Name: "gpu-0"}}, keeps: true},
		"devices, for almost as long": {devices: []resourceapi.Device{{Name: "gpu-0"}}, after: 29 * time.Second, keeps: true},
		"devices, for too long":       {devices: []resourceapi.Device{{Name: "gpu-0"}}, after: 30 * time.Second},
		"an empty slice":              {},
		"it sees that there are none": {devices: []resourceapi.Device{{Name: "gpu-0"}}, driver: &hardware.GPUDriver{Version: "580.126.20"}},
	} {
		t.Run(name, func(t *testing.T) {
			client := (&dropping{minor: "37", features: ideal().features}).client()
			node := nodeName
			slice := &resourceapi.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "earlier"}, Spec: resourceapi.ResourceSliceSpec{Driver: driverName,
				NodeName: &node, Pool: resourceapi.ResourcePool{Name: nodeName, Generation: 1, ResourceSliceCount: 1}, Devices: c.devices}}
			if _, err := client.ResourceV1().ResourceSlices().Create(t.Context(), slice, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			clock := &stopped{now: noon}
			d := newDriver(t, func(o *Options) { o.Client, o.Clock = client, clock })
			published := false
			d.options.Step = func(what string) {
				if what == "publish" {
					published = true
					panic(errStopping) // there is no helper
				}
			}
			look := func() {
				defer func() { _ = recover() }()
				if err := d.publish(t.Context(), &hardware.Node{GPUDriver: c.driver}, nil); err != nil {
					t.Error(err)
				}
			}
			look()
			clock.move(c.after)
			look()
			if published == c.keeps {
				t.Errorf("an empty pool was published: %v", published)
			}
		})
	}
}
