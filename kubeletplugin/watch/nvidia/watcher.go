package nvidia

import (
	"context"
	"errors"
	"fmt"
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
	xids map[string][]xid
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
		xids: map[string][]xid{}, recovering: map[string]bool{}}
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

func recoveryProblem(gpu *hardware.GPU, action hardware.GPURecoveryAction) watch.Problem {
	return problem(gpu, TaintRecovery, action.String(), resourceapi.DeviceTaintEffectNoSchedule, fmt.Sprintf("the GPU needs to recover: %s", action))
}

func problem(gpu *hardware.GPU, key, value string, effect resourceapi.DeviceTaintEffect, message string) watch.Problem {
	return watch.Problem{Device: publish.NVIDIAGPUName(gpu.Minor), Taint: resourceapi.DeviceTaint{Key: key, Value: value, Effect: effect},
		Unhealthy: effect != resourceapi.DeviceTaintEffectNone, Message: message}
}
