package driver_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/dray-dev/dray/e2e/histories"
	"github.com/dray-dev/dray/kubeletplugin/checkpoint"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
	"github.com/dray-dev/dray/kubeletplugin/publish"
)

// TestSequencesWithTheKubeletsOwnCode plays DRAY_PEER_SEQUENCES random sequences, from
// seed DRAY_PEER_SEED, DRAY_PEER_NODES of them at once: pods come and go on a node whose
// driver and kubelet are killed, stopped, started and updated. After each step
// partitions, checkpoint and CDI files are those of the pods that run, and after the
// last nothing is left.
//
// A node mostly waits: for the kubelet's plugin manager, which looks once a second, and
// for pauses between attempts. So many are played at once, each with a driver and a
// kubelet of its own.
func TestSequencesWithTheKubeletsOwnCode(t *testing.T) {
	t.Parallel()
	first, count := histories.Number(t, "DRAY_PEER_SEED", 1), histories.Number(t, "DRAY_PEER_SEQUENCES", 32)
	var pods, played atomic.Int64
	seeds := make(chan int)
	var group sync.WaitGroup
	for range min(count, histories.Number(t, "DRAY_PEER_NODES", 16)) {
		group.Go(func() {
			for seed := range seeds {
				t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
					s := newSequence(t, seed)
					s.play()
					pods.Add(int64(s.count))
					played.Add(1)
				})
			}
		})
	}
	for seed := first; seed < first+count && !t.Failed(); seed++ {
		seeds <- seed
	}
	close(seeds)
	group.Wait()
	if !t.Failed() {
		t.Logf("peer: %d sequences with %d pods: nothing left after any", played.Load(), pods.Load())
	}
}

// sequence is one history of a node.
type sequence struct {
	*peer
	*histories.History
	seed   int
	begun  time.Time
	driver *process
	uid    int
	// pods that run, or are to run, and their devices, by name.
	pods    map[string]*corev1.Pod
	devices map[string][]string
	count   int
}

func newSequence(t *testing.T, seed int) *sequence {
	return &sequence{seed: seed, begun: time.Now(), History: histories.New(t, seed, fmt.Sprintf("DRAY_PEER_SEED=%d DRAY_PEER_SEQUENCES=1", seed)),
		peer: newPeer(t, "two-gpus"), pods: map[string]*corev1.Pod{}, devices: map[string][]string{}}
}

// note says when something happens as well: much of it takes its time.
func (s *sequence) note(format string, arguments ...any) {
	s.Note("%5.1f s: %s", time.Since(s.begun).Seconds(), fmt.Sprintf(format, arguments...))
}

// start returns when the driver answers: before that a signal would end it less than
// gracefully.
func (s *sequence) start() {
	uid := fmt.Sprintf("p%d", s.uid)
	// Nothing happens to the hardware but by claims, after which the driver looks at once.
	s.driver = s.peer.start(nil, "--pod-uid", uid, "--poll-interval", "10s")
	s.kubelet(uid)
	s.note("driver %s serves", uid)
}

func (s *sequence) play() {
	s.start()
	s.registered()
	for range 4 + s.IntN(5) {
		s.step()
		s.settle()
	}
	for _, name := range slices.Sorted(maps.Keys(s.pods)) {
		s.remove(name)
	}
	s.settle()
	s.driver.stop()
	if left := s.left(); left != "" {
		s.t.Errorf("in the end there is still %s", left)
	}
}

// step does one thing, or some at once.
func (s *sequence) step() {
	switch n := s.IntN(20); {
	case n < 9:
		for range 1 + s.IntN(2) {
			s.add()
		}
	case n < 13:
		if name, ok := s.any(); ok {
			s.remove(name)
		}
	case n < 15: // killed while it may be preparing
		s.add()
		s.note("the driver is killed")
		s.driver.kill()
		s.start()
	case n < 16: // away while pods come and go
		s.note("the driver is away")
		s.driver.stop()
		s.add()
		if name, ok := s.any(); ok {
			s.remove(name)
		}
		s.start()
	case n < 18:
		s.note("the kubelet starts anew")
		if s.IntN(2) == 0 {
			s.add()
		}
		s.restartKubelet()
	case n < 19:
		if name, ok := s.any(); ok {
			s.note("there is no kubelet for a while")
			s.stop()
			s.remove(name)
			s.startKubelet()
			s.registered()
		}
	default:
		s.note("the driver is updated")
		old := s.driver
		s.uid++
		s.start()
		s.add()
		old.stop()
	}
}

func (s *sequence) any() (name string, ok bool) {
	names := slices.Sorted(maps.Keys(s.pods))
	if len(names) == 0 {
		return "", false
	}
	return names[s.IntN(len(names))], true
}

// add makes a pod with devices that nobody has.
func (s *sequence) add() {
	var devices []string
	for range 1 + s.IntN(2) {
		if device, ok := s.free(devices); ok {
			devices = append(devices, device)
		}
	}
	if len(devices) == 0 {
		return
	}
	s.count++
	name := fmt.Sprintf("s%d-%d", s.seed, s.count)
	s.note("pod %s with %v", name, devices)
	s.pods[name], s.devices[name] = s.pod(name, devices...), devices
}

func (s *sequence) remove(name string) {
	s.note("pod %s is deleted", name)
	s.deletes(s.pods[name])
	delete(s.pods, name)
	delete(s.devices, name)
}

// free is a device that excludes none of those that pods have, nor of these.
func (s *sequence) free(also []string) (string, bool) {
	node := s.hardware()
	used := slices.Clone(also)
	for _, name := range slices.Sorted(maps.Keys(s.devices)) {
		used = append(used, s.devices[name]...)
	}
	var names []string
	for i := range node.GPUs {
		gpu := &node.GPUs[i]
		names = append(names, publish.NVIDIAGPUName(gpu.Minor))
		for _, profile := range gpu.MIG.Profiles {
			if strings.Contains(profile.Name, "+") { // of these a GPU has only so many
				continue
			}
			for _, at := range profile.Placements {
				names = append(names, publish.NVIDIAPartitionName(gpu, &hardware.GPUInstanceState{ProfileID: profile.ID, Placement: at}))
			}
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		return slices.ContainsFunc(used, func(other string) bool { return exclude(node, name, other) })
	})
	if len(names) == 0 {
		return "", false
	}
	return names[s.IntN(len(names))], true
}

// exclude says whether two devices have a part of a GPU in common.
func exclude(node *hardware.Node, a, b string) bool {
	x, okX := publish.FindNVIDIA(node, a)
	y, okY := publish.FindNVIDIA(node, b)
	if !okX || !okY || x.GPU.UUID != y.GPU.UUID {
		return false
	}
	if x.Profile == nil || y.Profile == nil {
		return true
	}
	return x.Placement.Start < y.Placement.Start+y.Placement.Size && y.Placement.Start < x.Placement.Start+x.Placement.Size
}

// settle waits until the pods run, and what there is of claims is theirs.
func (s *sequence) settle() {
	s.t.Helper()
	for _, name := range slices.Sorted(maps.Keys(s.pods)) {
		s.runs(s.pods[name])
	}
	s.eventually("partitions, checkpoint and CDI files are those of the pods", s.agree)
	s.note("settled")
}

// agree compares what there is with the pods.
func (s *sequence) agree() error {
	node := s.hardware()
	want := map[string]int{} // partitions
	claims := map[string]bool{}
	for name, devices := range s.devices {
		claims[s.pods[name].Name] = true
		for _, device := range devices {
			if found, ok := publish.FindNVIDIA(node, device); ok && found.Profile != nil {
				want[device]++
			}
		}
	}
	for i := range node.GPUs {
		for _, instance := range node.GPUs[i].MIG.Instances {
			want[publish.NVIDIAPartitionName(&node.GPUs[i], &instance)]--
		}
	}
	for _, device := range slices.Sorted(maps.Keys(want)) {
		if want[device] != 0 {
			return fmt.Errorf("%s: %+d partitions are missing", device, want[device])
		}
	}
	recorded, err := s.recorded()
	if err != nil {
		return err
	}
	files := s.cdiFiles()
	for _, claim := range recorded {
		if claim.State != checkpoint.Completed || !claims[claim.Name] {
			return fmt.Errorf("claim %s is %s", claim.Name, claim.State)
		}
		delete(claims, claim.Name)
		// One of the driver, and one of the helper for each request.
		its := func(file string) bool { return strings.Contains(file, string(claim.UID)) }
		count := len(files)
		if files = slices.DeleteFunc(files, its); count-len(files) != 1+len(claim.Devices) {
			return fmt.Errorf("claim %s with %d devices has %d files", claim.Name, len(claim.Devices), count-len(files))
		}
	}
	if len(claims) > 0 {
		return fmt.Errorf("of %v nothing is recorded", claims)
	}
	if len(files) > 0 {
		return fmt.Errorf("there are files of nobody: %v", files)
	}
	return nil
}
