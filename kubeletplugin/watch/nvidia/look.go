package nvidia

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/klog/v2"

	"github.com/dray-dev/dray/kubeletplugin/hardware"
	"github.com/dray-dev/dray/kubeletplugin/watch"
)

// looking is one Look.
type looking struct {
	*Watcher
	ctx      context.Context
	now      time.Time
	shown    hardware.Node
	problems map[string][]watch.Problem // by the GPU's UUID
}

// Look implements watch.Watcher.
func (w *Watcher) Look(ctx context.Context, node *hardware.Node) (*hardware.Node, []watch.Problem) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := &looking{Watcher: w, ctx: ctx, now: w.options.Clock.Now(), shown: *node, problems: map[string][]watch.Problem{}}
	l.shown.GPUs = slices.Clone(node.GPUs)
	err := w.options.Library.Init()
	if err == nil {
		defer w.options.Library.Shutdown()
	}
	if err != nil || node.GPUDriver == nil {
		l.missAll(err)
	} else {
		l.see()
	}
	slices.SortFunc(l.shown.GPUs, func(a, b hardware.GPU) int { return a.Address.Compare(b.Address) })
	var all []watch.Problem
	for i := range l.shown.GPUs {
		all = append(all, l.problems[l.shown.GPUs[i].UUID]...)
	}
	return &l.shown, all
}

// Blind implements watch.Watcher.
func (w *Watcher) Blind() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.blind
}

// see looks at the GPUs that there are and at those that there were.
func (l *looking) see() {
	l.blind = nil
	if l.driver != nil && l.driver.Version != l.shown.GPUDriver.Version {
		clear(l.xids) // it was loaded anew, and every GPU with it
	}
	l.driver = l.shown.GPUDriver
	present := map[string]bool{}
	for i := range l.shown.GPUs {
		gpu := &l.shown.GPUs[i]
		present[gpu.UUID] = true
		l.present(gpu)
	}
	for _, uuid := range slices.Sorted(maps.Keys(l.known)) {
		if !present[uuid] {
			gpu := l.known[uuid]
			l.miss(&gpu)
		}
	}
	l.renew = l.renew || !slices.Equal(slices.Sorted(maps.Keys(present)), l.registered)
}

// present looks at a GPU that was discovered. What of it could not be read is as it was.
func (l *looking) present(gpu *hardware.GPU) {
	unread := gpu.Unread
	if before, ok := l.known[gpu.UUID]; ok {
		*gpu = gpu.KeepUnread(&before)
	}
	l.known[gpu.UUID] = *gpu
	if !slices.Contains(unread, hardware.UnreadMIG) {
		l.settle(gpu)
	}
	problems := l.ask(l.ctx, gpu)
	if len(unread) == 0 {
		delete(l.unread, gpu.UUID)
	} else {
		// Partitions that nobody has ever seen may be in the way of whatever is given out.
		isGuess := slices.Contains(gpu.Unread, hardware.UnreadMIG)
		problems = append(problems, l.unreadable(gpu, isGuess, "it does not tell its "+strings.Join(unread, ", "))...)
	}
	l.problems[gpu.UUID] = problems
}

// miss says why a GPU that there was is not among those that were discovered, and shows
// it as it was, unless it is not the machine's any more.
func (l *looking) miss(gpu *hardware.GPU) {
	reason, isThere := l.whyMissing(gpu)
	// Names count by the minor number: who has it now is the GPU of that name.
	hasItsName := func(other hardware.GPU) bool { return other.Minor == gpu.Minor }
	isThere = isThere && !slices.ContainsFunc(l.shown.GPUs, hasItsName)
	switch {
	case !isThere:
		klog.FromContext(l.ctx).Info("A GPU is not there any more", "gpu", gpu.UUID, "address", gpu.Address)
		delete(l.known, gpu.UUID)
		delete(l.xids, gpu.UUID)
		delete(l.unread, gpu.UUID)
		delete(l.recovering, gpu.UUID)
	case errors.Is(reason, hardware.ErrGPULost), l.hasReported(gpu.UUID, xidOffTheBus):
		delete(l.unread, gpu.UUID)
		l.show(gpu, problem(gpu, TaintGPULost, "", resourceapi.DeviceTaintEffectNoSchedule, fmt.Sprintf("the GPU does not answer: %v", reason)))
	case errors.Is(reason, hardware.ErrGPUResetRequired):
		delete(l.unread, gpu.UUID)
		l.recovering[gpu.UUID] = true
		l.show(gpu, recoveryProblem(gpu, hardware.RecoveryGPUReset))
	default:
		l.show(gpu, l.unreadable(gpu, false, reason.Error())...)
	}
}

// missAll shows all GPUs that there were, as they were: the library does not say which
// there are. What is not the machine's any more will be seen when it does.
func (l *looking) missAll(reason error) {
	isNone := reason == nil || errors.Is(reason, hardware.ErrGPULibraryNotFound) || errors.Is(reason, hardware.ErrGPUDriverNotLoaded)
	if len(l.known) == 0 && isNone {
		l.blind = nil
		return
	}
	if reason == nil {
		reason = errors.New("it does not tell which GPUs there are")
	}
	l.blind = fmt.Errorf("the GPU library: %w", reason)
	if l.driver == nil {
		return
	}
	l.shown.GPUDriver, l.shown.GPUs = l.driver, nil
	for _, uuid := range slices.Sorted(maps.Keys(l.known)) {
		gpu := l.known[uuid]
		l.show(&gpu, l.unreadable(&gpu, false, l.blind.Error())...)
	}
}

// show shows a GPU that was not discovered.
func (l *looking) show(gpu *hardware.GPU, problems ...watch.Problem) {
	l.shown.GPUs = append(l.shown.GPUs, *gpu)
	l.problems[gpu.UUID] = append(l.xidProblems(gpu), problems...)
}

// unreadable is the problem of a GPU that cannot be read, once that has lasted or at
// once. Nobody knows more of it than that, so nothing is evicted.
func (l *looking) unreadable(gpu *hardware.GPU, atOnce bool, reason string) []watch.Problem {
	since, ok := l.unread[gpu.UUID]
	if !ok {
		since = l.now
		l.unread[gpu.UUID] = since
	}
	if l.now.Sub(since) < Patience && !atOnce {
		return nil
	}
	p := problem(gpu, TaintUnread, "", resourceapi.DeviceTaintEffectNoSchedule,
		fmt.Sprintf("the GPU cannot be read since %s: %s", since.UTC().Format(time.RFC3339), reason))
	p.Unhealthy, p.Unknown = false, true
	return []watch.Problem{p}
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
