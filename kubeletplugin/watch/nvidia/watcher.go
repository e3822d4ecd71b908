package nvidia

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/klog/v2"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
	"github.com/dray-dev/dray/kubeletplugin/publish"
	"github.com/dray-dev/dray/kubeletplugin/watch"
)

// Keys of the taints.
const (
	TaintXID      = "gpu.nvidia.com/xid"
	TaintGPULost  = "gpu.nvidia.com/gpu-lost"
	TaintRecovery = "gpu.nvidia.com/recovery-action"
	TaintThermal  = "gpu.nvidia.com/thermal-slowdown"
	TaintUnread   = "gpu.nvidia.com/unreadable"
)

// Patience is how long a GPU that cannot be read is taken for what it was: as long as
// the kubelet keeps the slices of a driver that is away, and believes what it has said
// of health. A library that stumbles is no worse than a driver that restarts.
const Patience = 30 * time.Second

// harmless are the XIDs that applications cause and that leave the GPU in order, as
// NVIDIA's driver has them. After any other no pod gets the GPU.
var harmless = []uint64{13, 31, 43, 45, 68, 109}

// xidOffTheBus says that the GPU is lost, also where the library knows no more than
// that it does not answer.
const xidOffTheBus = 79

// Options of a Watcher.
type Options struct {
	Library hardware.GPULibrary
	Clock   Clock
}

// Clock tells the time and waits.
type Clock interface {
	Now() time.Time
	After(d time.Duration) <-chan time.Time
}

// Watcher is a watch.Watcher.
type Watcher struct {
	options Options

	mu sync.Mutex
	// known are the GPUs that there were, by UUID, and driver what drove them.
	known  map[string]hardware.GPU
	driver *hardware.GPUDriver
	// unread says since when GPUs cannot be read, as a whole or in part.
	unread map[string]time.Time
	// blind is why the last Look saw nothing.
	blind error
	// xids of GPUs that were reported, in order.
	xids map[string][]uint64
	// recovering are GPUs that asked for a reset or a reboot when they were last asked.
	recovering map[string]bool
	// registered are the GPUs whose events are waited for, renew asks to do so anew.
	registered []string
	renew      bool
}

var _ watch.Watcher = (*Watcher)(nil)

// New returns a Watcher that has seen nothing yet.
func New(options Options) *Watcher {
	return &Watcher{options: options, known: map[string]hardware.GPU{}, unread: map[string]time.Time{},
		xids: map[string][]uint64{}, recovering: map[string]bool{}}
}

// ask asks a GPU that answers how it is.
func (w *Watcher) ask(ctx context.Context, gpu *hardware.GPU) []watch.Problem {
	var problems []watch.Problem
	recovery, isHot := hardware.RecoveryNone, false
	device, err := w.options.Library.DeviceByUUID(gpu.UUID)
	if err == nil {
		if recovery, err = device.RecoveryAction(); errors.Is(err, hardware.ErrGPUNotSupported) {
			err = nil
		}
	}
	if err == nil {
		if isHot, err = device.ThermalSlowdown(); errors.Is(err, hardware.ErrGPUNotSupported) {
			err = nil
		}
	}
	if err != nil { // the next discovery will see what it is
		klog.FromContext(ctx).V(3).Info("A GPU does not say how it is", "gpu", gpu.UUID, "err", err)
	}
	if w.recovering[gpu.UUID] && recovery == hardware.RecoveryNone && err == nil {
		delete(w.xids, gpu.UUID)
	}
	w.recovering[gpu.UUID] = recovery != hardware.RecoveryNone
	problems = append(problems, w.xidProblems(gpu)...)
	if recovery != hardware.RecoveryNone {
		problems = append(problems, recoveryProblem(gpu, recovery))
	}
	if isHot {
		problems = append(problems, problem(gpu, TaintThermal, "", resourceapi.DeviceTaintEffectNone, "the GPU is too hot and runs slower"))
	}
	return problems
}

// xidProblems has one taint for all XIDs of a GPU, because a device has no two
// taints of one key and effect: that of the last one that is not harmless, or of the
// last.
func (w *Watcher) xidProblems(gpu *hardware.GPU) []watch.Problem {
	xids := w.xids[gpu.UUID]
	if len(xids) == 0 {
		return nil
	}
	effect, code := resourceapi.DeviceTaintEffectNone, xids[len(xids)-1]
	for _, xid := range xids {
		if !slices.Contains(harmless, xid) {
			effect, code = resourceapi.DeviceTaintEffectNoSchedule, xid
		}
	}
	return []watch.Problem{problem(gpu, TaintXID, strconv.FormatUint(code, 10), effect, fmt.Sprintf("the GPU reported XID %d", code))}
}

func recoveryProblem(gpu *hardware.GPU, action hardware.GPURecoveryAction) watch.Problem {
	return problem(gpu, TaintRecovery, action.String(), resourceapi.DeviceTaintEffectNoSchedule, fmt.Sprintf("the GPU needs to recover: %s", action))
}

func problem(gpu *hardware.GPU, key, value string, effect resourceapi.DeviceTaintEffect, message string) watch.Problem {
	return watch.Problem{Device: publish.NVIDIAGPUName(gpu.Minor), Taint: resourceapi.DeviceTaint{Key: key, Value: value, Effect: effect},
		Unhealthy: effect != resourceapi.DeviceTaintEffectNone, Message: message}
}

// happened records an event.
func (w *Watcher) happened(event hardware.GPUEvent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if event.Type != hardware.EventXidCritical {
		return
	}
	xids := w.xids[event.Device]
	if i := slices.Index(xids, event.Data); i >= 0 {
		xids = slices.Delete(xids, i, i+1)
	}
	w.xids[event.Device] = append(xids, event.Data)
}
