package nvidia

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
)

// harmless are the XIDs that applications cause and that leave the GPU in order, as
// NVIDIA's driver has them. After any other no pod gets the GPU.
var harmless = []uint64{13, 31, 43, 45, 68, 109}

// Options of a Watcher.
type Options struct {
	Library hardware.GPULibrary
	Clock   Clock
}

// Clock waits.
type Clock interface {
	After(d time.Duration) <-chan time.Time
}

// Watcher is a watch.Watcher.
type Watcher struct {
	options Options

	mu sync.Mutex
	// known are the GPUs that there were, by UUID.
	known map[string]hardware.GPU
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
	return &Watcher{options: options, known: map[string]hardware.GPU{}, xids: map[string][]uint64{}, recovering: map[string]bool{}}
}

// Look implements watch.Watcher.
func (w *Watcher) Look(ctx context.Context, node *hardware.Node) (*hardware.Node, []watch.Problem) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.options.Library.Init(); err != nil {
		return node, nil // then discovery has found no GPUs, and says why
	}
	defer w.options.Library.Shutdown()
	problems := map[string][]watch.Problem{}
	shown := *node
	shown.GPUs = slices.Clone(node.GPUs)
	present := map[string]bool{}
	for i := range node.GPUs {
		gpu := &node.GPUs[i]
		present[gpu.UUID] = true
		w.known[gpu.UUID] = *gpu
		problems[gpu.UUID] = w.ask(ctx, gpu)
	}
	for _, uuid := range slices.Sorted(maps.Keys(w.known)) {
		if present[uuid] {
			continue
		}
		gpu := w.known[uuid]
		if shown.GPUDriver == nil {
			continue // the library has not told what there is: the next discovery will see
		}
		reason, isThere := w.whyMissing(&gpu)
		if !isThere {
			klog.FromContext(ctx).Info("A GPU is not there any more", "gpu", uuid, "address", gpu.Address)
			delete(w.known, uuid)
			delete(w.xids, uuid)
			continue
		}
		shown.GPUs = append(shown.GPUs, gpu)
		problems[uuid] = append(w.xidProblems(&gpu), problem(&gpu, TaintGPULost, "", resourceapi.DeviceTaintEffectNoSchedule,
			fmt.Sprintf("the GPU does not answer: %v", reason)))
	}
	slices.SortFunc(shown.GPUs, func(a, b hardware.GPU) int { return a.Address.Compare(b.Address) })
	var all []watch.Problem
	for i := range shown.GPUs {
		all = append(all, problems[shown.GPUs[i].UUID]...)
	}
	w.renew = w.renew || !slices.Equal(slices.Sorted(maps.Keys(present)), w.registered)
	return &shown, all
}

// whyMissing is what the library says of a GPU that discovery has not read, and
// whether it is one of the machine's at all.
func (w *Watcher) whyMissing(gpu *hardware.GPU) (reason error, isThere bool) {
	device, err := w.options.Library.DeviceByPCIAddress(gpu.Address)
	if err == nil {
		var uuid string
		if uuid, err = device.UUID(); err == nil && uuid != gpu.UUID {
			return nil, false // another one is in its place
		}
	}
	if err == nil {
		err = errors.New("it could not be read")
	}
	return err, !errors.Is(err, hardware.ErrGPUNotFound)
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
		problems = append(problems, problem(gpu, TaintRecovery, recovery.String(), resourceapi.DeviceTaintEffectNoSchedule,
			fmt.Sprintf("the GPU needs to recover: %s", recovery)))
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
