package driver

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
	"k8s.io/dynamic-resource-allocation/resourceslice"

	"github.com/dray-dev/dray/kubeletplugin/publish"
)

// TestWhatIsDroppedAfterAllIsAskedForAgain, as when an API server was started anew with
// other gates: what it keeps now is published at once.
func TestWhatIsDroppedAfterAllIsAskedForAgain(t *testing.T) {
	const partition = "gpu-0-mig-1g10gb-19-0"
	server := &dropping{minor: "37", features: ideal().features}
	d := newDriver(t, func(o *Options) { o.Client = server.client() })
	node := readNode(t, "dgx-h100")
	publishes := func() bool {
		t.Helper()
		if err := d.learn(t.Context(), noon); err != nil {
			t.Fatal(err)
		}
		return devicesOf(poolOf(t, d, node))[partition].Name != ""
	}
	if !publishes() {
		t.Fatal("there are no partitions")
	}
	asked := server.asked
	if publishes(); server.asked != asked {
		t.Error("the API server is asked in each round")
	}
	server.features = publish.Features{}
	slice := &resourceapi.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "slice"}}
	dropped := &resourceslice.DroppedFieldsError{PoolName: nodeName, DesiredSlice: slice, ActualSlice: slice}
	(*plugin)(d).HandleError(t.Context(), fmt.Errorf("sync: %w", dropped), "processing ResourceSlice objects")
	select {
	case <-d.wake:
	default:
		t.Error("it is not asked at once")
	}
	if publishes() {
		t.Error("partitions are published that cannot be told apart")
	}
}

func TestOnlyWhatTheDriverCannotLiveWithoutEndsIt(t *testing.T) {
	kind := schema.GroupKind{Group: resourceapi.GroupName, Kind: "ResourceSlice"}
	for name, c := range map[string]struct {
		err  error
		ends bool
	}{
		"a slice that is invalid": {fmt.Errorf("create: %w", apierrors.NewInvalid(kind, "slice", nil)), false},
		"what is tried again":     {fmt.Errorf("list: %w", kubeletplugin.ErrRecoverable), false},
		"a server that has ended": {errors.New("accept: use of closed network connection"), true},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDriver(t, nil)
			var cause error
			d.fail = func(err error) { cause = err }
			(*plugin)(d).HandleError(t.Context(), c.err, "what was done")
			if ends := cause != nil; ends != c.ends {
				t.Errorf("it ends with %v", cause)
			}
			if c.ends && (!errors.Is(cause, c.err) || !strings.Contains(cause.Error(), "what was done")) {
				t.Errorf("the cause is %v", cause)
			}
		})
	}
}

// TestEachClaimHasItsAnswer, whatever becomes of the others.
func TestEachClaimHasItsAnswer(t *testing.T) {
	d := newDriver(t, nil)
	claim := func(uid types.UID, driver string) *resourceapi.ResourceClaim {
		return &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "claim-" + string(uid), UID: uid},
			Status: resourceapi.ResourceClaimStatus{Allocation: &resourceapi.AllocationResult{Devices: resourceapi.DeviceAllocationResult{
				Results: []resourceapi.DeviceRequestAllocationResult{{Request: "r", Driver: driver, Pool: nodeName, Device: "gpu-0"}}}}}}
	}
	results, err := (*plugin)(d).PrepareResourceClaims(t.Context(), []*resourceapi.ResourceClaim{claim("a", driverName), claim("b", "other.dev"), claim("c", driverName)})
	if err != nil || len(results) != 3 {
		t.Fatalf("%v, %v", results, err)
	}
	if err := results["b"].Err; err != nil || len(results["b"].Devices) != 0 {
		t.Errorf("another driver's claim: %+v", results["b"])
	}
	for _, uid := range []types.UID{"a", "c"} {
		if err := results[uid].Err; err == nil || !strings.Contains(err.Error(), "default/claim-"+string(uid)) || !strings.Contains(err.Error(), "gpu-0") {
			t.Errorf("a claim for what is not there: %v", err)
		}
	}
	taken, err := (*plugin)(d).UnprepareResourceClaims(t.Context(), []kubeletplugin.NamespacedObject{{UID: "a"}, {UID: "nobody"}})
	if err != nil || len(taken) != 2 || taken["a"] != nil || taken["nobody"] != nil {
		t.Errorf("claims of which nothing is known: %v, %v", taken, err)
	}
}

// waiting is a clock that tells when somebody waits, and ends the wait when it is told.
type waiting struct {
	stopped
	asked chan time.Duration
	over  chan time.Time
}

func (c *waiting) After(d time.Duration) <-chan time.Time {
	c.asked <- d
	return c.over
}

// TestMetadataWaitsForTheFirstLook at the hardware, and not for ever.
func TestMetadataWaitsForTheFirstLook(t *testing.T) {
	three := int64(3)
	device := resourceapi.Device{Name: "gpu-0", Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{"index": {IntValue: &three}}}
	for _, isSeen := range []bool{true, false} {
		clock := &waiting{stopped: stopped{now: noon}, asked: make(chan time.Duration), over: make(chan time.Time, 1)}
		d := newDriver(t, func(o *Options) { o.Clock = clock })
		answer := make(chan *kubeletplugin.DeviceMetadata, 1)
		go func() { answer <- d.metadata(t.Context(), "gpu-0") }()
		select {
		case <-answer:
			t.Fatal("it does not wait")
		case <-clock.asked:
		}
		if isSeen {
			d.show(newView(nil, nil, []resourceapi.Device{device}, noon))
		} else {
			clock.over <- noon
		}
		got := <-answer
		if (got != nil) != isSeen || isSeen && *got.Attributes["index"].IntValue != three {
			t.Errorf("with hardware that is seen, %v, it is %v", isSeen, got)
		}
	}
}
