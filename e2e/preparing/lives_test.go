package preparing_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	cdilibrary "tags.cncf.io/container-device-interface/pkg/cdi"

	"github.com/dray-dev/dray/e2e/histories"
	"github.com/dray-dev/dray/hwsim/state"
	"github.com/dray-dev/dray/kubeletplugin/checkpoint"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
	"github.com/dray-dev/dray/kubeletplugin/prepare"
	"github.com/dray-dev/dray/kubeletplugin/publish"
)

// TestLivesOfANode plays DRAY_PREPARING_LIVES lives, from seed DRAY_PREPARING_SEED.
func TestLivesOfANode(t *testing.T) {
	first, count := histories.Number(t, "DRAY_PREPARING_SEED", 1), histories.Number(t, "DRAY_PREPARING_LIVES", 6)
	calls := 0
	machines := []string{"two-gpus", "rtx-pro-6000", "dgx-a100-40-mig"}
	for seed := first; seed < first+count; seed++ {
		name := machines[seed%len(machines)]
		passed := t.Run(fmt.Sprintf("seed=%d/%s", seed, name), func(t *testing.T) {
			l := newLife(t, name, seed)
			for range 14 {
				l.next()
				l.check()
			}
			l.end()
			calls += l.calls
		})
		if !passed {
			t.FailNow()
		}
	}
	t.Logf("lives: %d lives of a node, with %d calls: nothing left in any", count, calls)
}

// life is a node with claims that come and go.
type life struct {
	*node
	*histories.History
	// names of devices that there could be.
	names []string
	// alive are claims that the kubelet knows; ready are those whose devices it was
	// given in this boot.
	alive map[types.UID]*wish
	ready map[types.UID][]prepare.Device
	count int
	// calls of Prepare and Unprepare.
	calls int
	// modes are the MIG modes at the beginning, by GPU; touched are GPUs whose mode an
	// administrator could have wanted since.
	modes   map[string]bool
	touched map[string]bool
	// foreign are the partitions of an administrator.
	foreign map[partition]bool
}

func newLife(t *testing.T, name string, seed int) *life {
	l := &life{node: newNode(t, name), History: histories.New(t, seed, fmt.Sprintf("DRAY_PREPARING_SEED=%d DRAY_PREPARING_LIVES=1", seed)),
		alive: map[types.UID]*wish{}, ready: map[types.UID][]prepare.Device{},
		modes: map[string]bool{}, touched: map[string]bool{}, foreign: map[partition]bool{}}
	node := l.hardware()
	publisher, err := publish.New(publish.Options{Features: publish.DefaultFeatures(), MIG: publish.MIGDynamic})
	if err != nil {
		t.Fatal(err)
	}
	pools, err := publisher.Node("node-1", node, publish.State{})
	if err != nil {
		t.Fatal(err)
	}
	for _, pool := range pools {
		for _, slice := range pool.Slices {
			for _, device := range slice.Spec.Devices {
				// Two GPUs are enough to get into each other's way.
				if gpu, _, ok := publish.NVIDIAName(device.Name); ok && (gpu == "gpu-0" || gpu == "gpu-1") {
					l.names = append(l.names, device.Name)
				}
			}
		}
	}
	for _, gpu := range node.GPUs {
		l.modes[gpu.UUID] = gpu.MIG != nil && gpu.MIG.Enabled
	}
	for p := range partitions(node) {
		l.foreign[p] = true
	}
	return l
}

// next does one thing.
func (l *life) next() {
	switch n := l.IntN(20); {
	case n < 8:
		l.prepare()
	case n < 11:
		l.unprepare()
	case n < 14:
		l.kill()
	case n < 16:
		l.restart()
	case n < 17:
		l.reboot()
	case n < 19:
		l.makeForeign()
	default:
		l.destroyForeign()
	}
}

// pick is a claim that is alive, or a new one.
func (l *life) pick() *wish {
	if known := l.known(); len(known) > 0 && l.IntN(3) == 0 {
		return known[l.IntN(len(known))]
	}
	l.count++
	w := &wish{uid: types.UID(fmt.Sprintf("claim-%d", l.count)), admin: l.IntN(8) == 0}
	w.exclusive = !w.admin && l.IntN(4) == 0
	for range 1 + l.IntN(3) {
		if name := l.names[l.IntN(len(l.names))]; !slices.Contains(w.devices, name) {
			w.devices = append(w.devices, name)
		}
	}
	l.alive[w.uid] = w
	return w
}

func (l *life) known() []*wish {
	var uids []types.UID
	for uid := range l.alive {
		uids = append(uids, uid)
	}
	var known []*wish
	for _, uid := range sorted(uids) {
		known = append(known, l.alive[uid])
	}
	return known
}

func (l *life) prepare() {
	w := l.pick()
	devices, err := l.process().Prepare(l.t.Context(), w.claim())
	l.Note("prepare %s: %v", w, err)
	l.prepared(w, devices, err)
}

// prepared checks an answer: errors are of hardware or of neighbours.
func (l *life) prepared(w *wish, devices []prepare.Device, err error) {
	l.calls++
	delete(l.ready, w.uid)
	switch {
	case err == nil:
		l.ready[w.uid] = devices
		if len(devices) != len(w.devices) {
			l.t.Errorf("%s has %d devices", w, len(devices))
		}
	case errors.Is(err, prepare.ErrHeld):
		var held *prepare.HeldError
		if !errors.As(err, &held) || held.Claim != w.uid {
			l.t.Errorf("%s: %v", w, err)
		}
	case errors.Is(err, hardware.ErrGPUInsufficientResources), errors.Is(err, hardware.ErrGPUInUse),
		errors.Is(err, hardware.ErrGPUNotFound), errors.Is(err, hardware.ErrGPUResetRequired), errors.Is(err, hardware.ErrGPUNotSupported):
	default:
		l.t.Errorf("%s: %v", w, err)
	}
}

func (l *life) unprepare() {
	known := l.known()
	if len(known) == 0 {
		return
	}
	w := known[l.IntN(len(known))]
	err := l.process().Unprepare(l.t.Context(), w.uid)
	l.Note("unprepare %s: %v", w, err)
	l.gone(w, err)
}

func (l *life) gone(w *wish, err error) {
	l.calls++
	if err != nil {
		l.t.Errorf("unprepare %s: %v", w, err)
		return
	}
	delete(l.alive, w.uid)
	delete(l.ready, w.uid)
}

// kill kills a process in the middle of a call. The next one may or may not be
// started before it is asked.
func (l *life) kill() {
	step := l.IntN(30)
	known := l.known()
	if len(known) == 0 || l.IntN(2) == 0 {
		w := l.pick()
		var devices []prepare.Device
		survived, err := l.survives(step, func(p *prepare.Preparer) (err error) {
			devices, err = p.Prepare(l.t.Context(), w.claim())
			return err
		})
		l.Note("prepare %s, killed before step %d: %v, %v", w, step, !survived, err)
		if survived {
			l.prepared(w, devices, err)
		} else {
			l.calls++
		}
	} else {
		w := known[l.IntN(len(known))]
		survived, err := l.survives(step, func(p *prepare.Preparer) error { return p.Unprepare(l.t.Context(), w.uid) })
		l.Note("unprepare %s, killed before step %d: %v, %v", w, step, !survived, err)
		if survived {
			l.gone(w, err)
		} else {
			l.calls++
			delete(l.ready, w.uid)
		}
	}
	if l.IntN(2) == 0 {
		l.restart()
	}
}

func (l *life) restart() {
	err := l.process().Start(l.t.Context())
	l.Note("start: %v", err)
	if err != nil {
		l.t.Errorf("start: %v", err)
	}
	for _, claim := range l.claims() {
		if claim.State == checkpoint.Started {
			l.t.Errorf("claim %s is started, after a start", claim.UID)
		}
	}
}

func (l *life) reboot() {
	if err := l.folder.Update(func(tx *state.Tx) error { return tx.Reboot() }); err != nil {
		l.t.Fatal(err)
	}
	l.Note("reboot")
	clear(l.ready)
	clear(l.foreign)
	for uuid := range l.touched {
		delete(l.touched, uuid)
	}
	for _, gpu := range l.hardware().GPUs {
		l.modes[gpu.UUID] = gpu.MIG != nil && gpu.MIG.Enabled // as after a boot
	}
	l.restart()
}

// makeForeign makes a partition as an administrator would.
func (l *life) makeForeign() {
	found, ok := publish.FindNVIDIA(l.hardware(), l.names[l.IntN(len(l.names))])
	if !ok || found.Profile == nil || !found.GPU.MIG.Enabled {
		return
	}
	p := partition{found.GPU.UUID, found.Profile.ID, found.Placement}
	if l.isWanted(p) {
		return // an administrator in the place of a claim that was interrupted cannot be told from it
	}
	err := l.withGPU(p.gpu, func(gpu hardware.GPUDevice) error {
		_, err := gpu.CreateGPUInstanceAt(p.profile, p.at)
		return err
	})
	l.Note("an administrator makes %+v: %v", p, err)
	if err == nil {
		l.foreign[p] = true
		l.touched[p.gpu] = true
	}
}

// isWanted says whether a claim of the checkpoint has the place.
func (l *life) isWanted(p partition) bool {
	for _, claim := range l.claims() {
		for _, d := range claim.Devices {
			if found, ok := publish.FindNVIDIA(l.hardware(), d.Device); ok && found.Profile != nil &&
				(partition{found.GPU.UUID, found.Profile.ID, found.Placement}) == p {
				return true
			}
		}
	}
	return false
}

func (l *life) destroyForeign() {
	ids := partitions(l.hardware())
	var list []partition
	for p := range l.foreign {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b partition) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	for _, p := range list {
		err := l.withGPU(p.gpu, func(gpu hardware.GPUDevice) error { return destroy(gpu, ids[p]) })
		l.Note("an administrator destroys %+v: %v", p, err)
		if err != nil {
			l.t.Errorf("an administrator's partition %+v: %v", p, err)
		}
		delete(l.foreign, p)
		l.touched[p.gpu] = true
	}
}

func destroy(gpu hardware.GPUDevice, id int) error {
	instance, err := gpu.GPUInstanceByID(id)
	if err != nil {
		return err
	}
	for compute := range 8 {
		if c, err := instance.ComputeInstanceByID(compute); err == nil {
			if err := c.Destroy(); err != nil {
				return err
			}
		}
	}
	return instance.Destroy()
}

func (l *life) withGPU(uuid string, do func(gpu hardware.GPUDevice) error) error {
	library := l.folder.GPULibrary()
	if err := library.Init(); err != nil {
		return err
	}
	defer library.Shutdown()
	gpu, err := library.DeviceByUUID(uuid)
	if err != nil {
		return err
	}
	return do(gpu)
}

// check is what holds after everything that happens.
func (l *life) check() {
	l.t.Helper()
	node := l.hardware()
	claims := l.claims()
	there := partitions(node)
	for p := range l.foreign {
		if _, ok := there[p]; !ok {
			l.t.Errorf("the administrator's partition %+v has gone", p)
		}
		delete(there, p)
	}
	for _, claim := range claims {
		if l.alive[claim.UID] == nil {
			l.t.Errorf("claim %s is in the checkpoint and nowhere else", claim.UID)
		}
		for _, d := range claim.Devices {
			if found, ok := publish.FindNVIDIA(node, d.Device); ok && found.Profile != nil {
				delete(there, partition{found.GPU.UUID, found.Profile.ID, found.Placement})
			}
		}
	}
	for p := range there {
		l.t.Errorf("nobody knows of partition %+v", p)
	}
	for uid, devices := range l.ready {
		if !slices.ContainsFunc(claims, func(c *checkpoint.Claim) bool { return c.UID == uid && c.State == checkpoint.Completed }) {
			l.t.Errorf("claim %s was given devices and is not complete", uid)
		}
		l.checkFiles(devices)
	}
	l.checkHolders(claims)
}

// checkFiles finds devices as a container runtime would.
func (l *life) checkFiles(devices []prepare.Device) {
	cache, err := cdilibrary.NewCache(cdilibrary.WithSpecDirs(l.cdiDir()), cdilibrary.WithAutoRefresh(false))
	if err != nil {
		l.t.Fatal(err)
	}
	for _, d := range devices {
		for _, id := range d.CDIDeviceIDs {
			if cache.GetDevice(id) == nil {
				l.t.Errorf("a container runtime does not find %s: %v", id, cache.GetErrors())
			}
		}
	}
}

// checkHolders sees to it that no part of the hardware is held twice.
func (l *life) checkHolders(claims []*checkpoint.Claim) {
	holders := map[string]types.UID{}
	for _, claim := range claims {
		for _, d := range claim.Devices {
			for _, part := range d.Holds {
				gpu, _, _ := strings.Cut(part, "/")
				for held, holder := range holders {
					if (held == part || held == gpu || strings.HasPrefix(held, part+"/")) && holder != claim.UID {
						l.t.Errorf("%s is held by %s and %s", part, claim.UID, holder)
					}
				}
				holders[part] = claim.UID
			}
		}
	}
}

// end gives everything back, and nothing is left.
func (l *life) end() {
	for _, w := range l.known() {
		l.gone(w, l.process().Unprepare(l.t.Context(), w.uid))
	}
	l.check()
	if claims := l.claims(); len(claims) > 0 {
		l.t.Errorf("left in the checkpoint: %v", claims)
	}
	if files, err := l.files().List(); err != nil || len(files) > 0 {
		l.t.Errorf("left for container runtimes: %v, %v", files, err)
	}
	node := l.hardware()
	modes := map[string]bool{}
	for _, gpu := range node.GPUs {
		modes[gpu.UUID] = gpu.MIG != nil && gpu.MIG.Enabled
		if l.touched[gpu.UUID] {
			modes[gpu.UUID] = l.modes[gpu.UUID]
		}
	}
	if diff := cmp.Diff(l.modes, modes); diff != "" {
		l.t.Errorf("MIG modes: %s", diff)
	}
}
