package nvidia

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/klog/v2"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
	"github.com/dray-dev/dray/kubeletplugin/publish"
	"github.com/dray-dev/dray/kubeletplugin/watch"
)

// harmless are the XIDs that applications cause and that leave the GPU in order, as
// NVIDIA's driver has them. After any other no pod gets the GPU.
var harmless = []uint64{13, 31, 43, 45, 68, 109}

// ofPartition are the XIDs that end with the application, by NVIDIA's catalog: where the
// event names a GPU instance, the others on the GPU have nothing to do with it. All
// others, and those that nobody has described, are of the whole GPU: a reset that one
// asks for takes all partitions with it.
var ofPartition = []uint64{8, 11, 13, 25, 31, 32, 39, 40, 41, 43, 45, 60, 68, 69, 94}

// xidOffTheBus says that the GPU is lost, also where the library knows no more than
// that it does not answer.
const xidOffTheBus = 79

// xid is an error that a GPU has reported.
type xid struct {
	code uint64
	// instance is the ID of the GPU instance that it is of, or wholeGPU.
	instance int
	// device is the name of that partition, once it was seen; missed says that it was
	// not there when it was looked for.
	device string
	missed bool
}

const wholeGPU = -1

// happened records an event.
func (w *Watcher) happened(ctx context.Context, event hardware.GPUEvent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if event.Type != hardware.EventXidCritical {
		return
	}
	if event.Device == "" {
		klog.FromContext(ctx).Error(nil, "A GPU that does not say which one it is has reported an XID", "xid", event.Data)
		return
	}
	x := xid{code: event.Data, instance: wholeGPU}
	if event.GPUInstance >= 0 && slices.Contains(ofPartition, event.Data) {
		x.instance = event.GPUInstance
	}
	isSame := func(other xid) bool { return other.code == x.code && other.instance == x.instance }
	w.xids[event.Device] = append(slices.DeleteFunc(w.xids[event.Device], isSame), x)
}

// hasReported says whether a GPU has reported an XID.
func (w *Watcher) hasReported(uuid string, code uint64) bool {
	return slices.ContainsFunc(w.xids[uuid], func(x xid) bool { return x.code == code })
}

// settle finds the partitions that XIDs are of, and forgets those that have gone: the
// next one in the place is another, with nothing in it. Partitions have no name but their
// place, so one that takes it before the next look keeps the XID; who destroys one wakes
// the driver. One that was made after the GPU was read is there when it is read again.
func (l *looking) settle(gpu *hardware.GPU) {
	l.xids[gpu.UUID] = slices.DeleteFunc(l.xids[gpu.UUID], func(x xid) bool {
		now := partition(gpu, x.instance)
		hasGone := x.instance != wholeGPU && (x.device != "" && x.device != now || x.missed && now == "")
		if hasGone {
			klog.FromContext(l.ctx).Info("A partition that has reported an XID is there no more", "gpu", gpu.UUID, "gpuInstance", x.instance, "xid", x.code)
		}
		return hasGone
	})
	for i := range l.xids[gpu.UUID] {
		if x := &l.xids[gpu.UUID][i]; x.instance != wholeGPU && x.device == "" {
			x.device = partition(gpu, x.instance)
			x.missed = x.device == ""
		}
	}
}

// partition is the name of the device that a GPU instance is, empty if there is none.
func partition(gpu *hardware.GPU, instance int) string {
	if gpu.MIG == nil {
		return ""
	}
	for i := range gpu.MIG.Instances {
		if gpu.MIG.Instances[i].ID == instance {
			return publish.NVIDIAPartitionName(gpu, &gpu.MIG.Instances[i])
		}
	}
	return ""
}

// xidProblems has one taint of a device for all its XIDs, because a device has no two
// taints of one key and effect: that of the last one that is not harmless, or of the
// last. A partition has that of the GPU, and one of its own if it says more.
func (w *Watcher) xidProblems(gpu *hardware.GPU) []watch.Problem {
	var devices []string
	worst := map[string]watch.Problem{}
	for _, x := range w.xids[gpu.UUID] {
		device, what := x.device, "partition"
		if x.instance == wholeGPU {
			device, what = publish.NVIDIAGPUName(gpu.Minor), "GPU"
		}
		if device == "" {
			continue
		}
		effect := resourceapi.DeviceTaintEffectNoSchedule
		if slices.Contains(harmless, x.code) {
			effect = resourceapi.DeviceTaintEffectNone
		}
		before, ok := worst[device]
		if !ok {
			devices = append(devices, device)
		}
		if !ok || effect != resourceapi.DeviceTaintEffectNone || !before.Unhealthy {
			p := problem(gpu, TaintXID, strconv.FormatUint(x.code, 10), effect, fmt.Sprintf("the %s reported XID %d", what, x.code))
			p.Device = device
			worst[device] = p
		}
	}
	whole, ok := worst[publish.NVIDIAGPUName(gpu.Minor)]
	var problems []watch.Problem
	for _, device := range devices {
		p := worst[device]
		if ok && device != whole.Device && (whole.Unhealthy || !p.Unhealthy) {
			continue
		}
		problems = append(problems, p)
	}
	return problems
}
