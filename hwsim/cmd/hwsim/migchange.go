package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dray-dev/dray/hwsim/engine"
	"github.com/dray-dev/dray/hwsim/numbering"
	"github.com/dray-dev/dray/hwsim/state"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// instanceID names a GPU instance, or a compute instance in it.
type instanceID struct{ gpu, compute int }

// wholeInstance stands for the GPU instance itself.
const wholeInstance = -1

func (o *migOptions) create(out io.Writer, profiles []string) error {
	switch {
	case o.in != nowhere && (o.bare || o.at != anywhere):
		return usageError{errors.New("--in is for compute instances, --at and --bare are for GPU instances")}
	case o.at != anywhere && len(profiles) > 1:
		return usageError{errors.New("--at is where one instance begins: give one profile")}
	}
	t, err := o.target()
	if err != nil {
		return err
	}
	if err := t.inMode(o.dir); err != nil {
		return err
	}
	var made []instanceID
	err = t.change(func(gpus *engine.Engine) error {
		made = nil
		for _, name := range profiles {
			one, err := o.createOne(t, gpus, name)
			if err != nil {
				return err
			}
			made = append(made, one)
		}
		return nil
	})
	if err == nil {
		err = t.again()
	}
	if err != nil {
		return err
	}
	for _, id := range made {
		t.print(out, id)
	}
	return nil
}

func (o *migOptions) createOne(t *migTarget, gpus *engine.Engine, name string) (instanceID, error) {
	if o.in != nowhere {
		return t.createCompute(gpus, o.in, name)
	}
	mig := t.gpu.MIG
	i := slices.IndexFunc(mig.Profiles, func(p hardware.MIGProfile) bool { return p.Name == name || strconv.Itoa(p.ID) == name })
	if i < 0 {
		return instanceID{}, fmt.Errorf("there is no profile %q; there are %s", name, profileNames(mig))
	}
	profile := &mig.Profiles[i]
	var at *hardware.Placement
	if o.at != anywhere {
		j := slices.IndexFunc(profile.Placements, func(p hardware.Placement) bool { return p.Start == o.at })
		if j < 0 {
			var starts []string
			for _, placement := range profile.Placements {
				starts = append(starts, strconv.Itoa(placement.Start))
			}
			return instanceID{}, fmt.Errorf("--at is %d: a %s begins at %s", o.at, profile.Name, strings.Join(starts, ", "))
		}
		at = &profile.Placements[j]
	}
	id, err := gpus.CreateGPUInstance(t.gpu.Address, profile.ID, at)
	if err != nil || o.bare {
		return instanceID{id, wholeInstance}, err
	}
	kind, ok := numbering.ComputeProfileID(profile.ComputeSlices)
	if !ok {
		return instanceID{}, fmt.Errorf("%s: there is no compute instance of %d slices: make it with --bare", profile.Name, profile.ComputeSlices)
	}
	compute, err := gpus.CreateComputeInstance(t.gpu.Address, id, kind)
	return instanceID{id, compute}, err
}

// createCompute makes a compute instance by its name, "1c" or "1c.3g.40gb".
func (t *migTarget) createCompute(gpus *engine.Engine, in int, name string) (instanceID, error) {
	count, of, _ := strings.Cut(name, ".")
	digits, found := strings.CutSuffix(count, "c")
	n, err := strconv.Atoi(digits)
	kind, ok := numbering.ComputeProfileID(n)
	if !found || err != nil || !ok {
		return instanceID{}, fmt.Errorf("%q is no compute instance: it must look like 1c or 1c.3g.40gb", name)
	}
	i := slices.IndexFunc(t.gpu.MIG.Instances, func(i hardware.GPUInstanceState) bool { return i.ID == in })
	if i < 0 {
		return instanceID{}, fmt.Errorf("--in: %w", t.errNoInstance(in))
	}
	if profile := profileOf(t.gpu.MIG, t.gpu.MIG.Instances[i].ProfileID); of != "" && of != profile.Name {
		return instanceID{}, fmt.Errorf("%q: GPU instance %d is a %s", name, in, profile.Name)
	}
	compute, err := gpus.CreateComputeInstance(t.gpu.Address, in, kind)
	return instanceID{in, compute}, err
}

func (t *migTarget) errNoInstance(id int) error {
	var ids []string
	for _, instance := range t.gpu.MIG.Instances {
		ids = append(ids, strconv.Itoa(instance.ID))
	}
	if len(ids) == 0 {
		return fmt.Errorf("GPU %d has no GPU instances", t.gpu.Minor)
	}
	return fmt.Errorf("GPU %d has no GPU instance %d; there are %s", t.gpu.Minor, id, strings.Join(ids, ", "))
}

// change makes all of a change to the machine's GPUs, or nothing of it.
func (t *migTarget) change(do func(*engine.Engine) error) error {
	err := t.folder.Update(func(tx *state.Tx) error { return tx.GPUs(do) })
	if err != nil {
		return fmt.Errorf("GPU %d: %w", t.gpu.Minor, err)
	}
	return nil
}

// print says what an instance is that has been made.
func (t *migTarget) print(out io.Writer, id instanceID) {
	for _, instance := range t.gpu.MIG.Instances {
		if instance.ID != id.gpu {
			continue
		}
		profile := profileOf(t.gpu.MIG, instance.ProfileID)
		fmt.Fprintf(out, "GPU %d: instance %d is a %s at %s\n", t.gpu.Minor, instance.ID, profile.Name, slicesText(instance.Placement))
		for _, compute := range instance.ComputeInstances {
			if compute.ID == id.compute {
				fmt.Fprintf(out, "       compute instance %d/%d is a %s, %s\n", instance.ID, compute.ID, computeName(profile, compute.ProfileID), compute.UUID)
			}
		}
	}
}

func (o *migOptions) destroy(out io.Writer, names []string) error {
	if o.all == (len(names) > 0) {
		return usageError{errors.New("name the instances to destroy, or give --all")}
	}
	t, err := o.target()
	if err != nil {
		return err
	}
	if err := t.inMode(o.dir); err != nil {
		return err
	}
	ids, err := t.named(names)
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		fmt.Fprintf(out, "GPU %d: there are no instances\n", t.gpu.Minor)
		return nil
	}
	whole, err := t.destroyCompute(ids)
	if err != nil {
		return err
	}
	if err := t.destroyWhole(whole); err != nil {
		return err
	}
	for _, id := range ids {
		if id.compute == wholeInstance {
			fmt.Fprintf(out, "GPU %d: instance %d is gone\n", t.gpu.Minor, id.gpu)
		} else {
			fmt.Fprintf(out, "GPU %d: compute instance %d/%d is gone\n", t.gpu.Minor, id.gpu, id.compute)
		}
	}
	return nil
}

// named reads "1" and "1/0"; without names, it is all GPU instances. Each is there,
// and there once.
func (t *migTarget) named(names []string) ([]instanceID, error) {
	var ids []instanceID
	if len(names) == 0 {
		for _, instance := range t.gpu.MIG.Instances {
			ids = append(ids, instanceID{instance.ID, wholeInstance})
		}
		return ids, nil
	}
	for _, name := range names {
		id := instanceID{compute: wholeInstance}
		first, second, isCompute := strings.Cut(name, "/")
		var err error
		if id.gpu, err = strconv.Atoi(first); err == nil && isCompute {
			id.compute, err = strconv.Atoi(second)
		}
		if err != nil || id.gpu < 0 || isCompute && id.compute < 0 {
			return nil, usageError{fmt.Errorf("%q is no instance: it must look like 1, or 1/0 for a compute instance", name)}
		}
		i := slices.IndexFunc(t.gpu.MIG.Instances, func(i hardware.GPUInstanceState) bool { return i.ID == id.gpu })
		if i < 0 {
			return nil, t.errNoInstance(id.gpu)
		}
		there := t.gpu.MIG.Instances[i].ComputeInstances
		if isCompute && !slices.ContainsFunc(there, func(c hardware.ComputeInstanceState) bool { return c.ID == id.compute }) {
			return nil, fmt.Errorf("GPU instance %d of GPU %d has no compute instance %d", id.gpu, t.gpu.Minor, id.compute)
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// destroyCompute destroys the compute instances, and those of the GPU instances,
// whose IDs it returns.
func (t *migTarget) destroyCompute(ids []instanceID) (whole []int, err error) {
	for _, id := range ids {
		if id.compute == wholeInstance {
			whole = append(whole, id.gpu)
		}
	}
	return whole, t.change(func(gpus *engine.Engine) error {
		for _, instance := range t.gpu.MIG.Instances {
			for _, compute := range instance.ComputeInstances {
				if !slices.Contains(whole, instance.ID) && !slices.Contains(ids, instanceID{instance.ID, compute.ID}) {
					continue
				}
				if err := gpus.DestroyComputeInstance(t.gpu.Address, instance.ID, compute.ID); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// releasePatience is far more than an instance is in use after it has lost its last
// compute instance.
const releasePatience = 10 * time.Second

// destroyWhole destroys GPU instances, all at a time, and waits until they are gone.
func (t *migTarget) destroyWhole(ids []int) error {
	if len(ids) == 0 {
		return nil
	}
	clock := t.folder.Clock()
	var gone time.Time
	for waited := time.Duration(0); ; waited += state.PollInterval {
		err := t.change(func(gpus *engine.Engine) error {
			for _, id := range ids {
				at, err := gpus.DestroyGPUInstance(t.gpu.Address, id)
				if err != nil {
					return err
				}
				gone = at
			}
			return nil
		})
		if err == nil {
			break
		}
		if !errors.Is(err, hardware.ErrGPUInUse) || waited > releasePatience {
			return err
		}
		<-clock.After(state.PollInterval)
	}
	for left := gone.Sub(clock.Now()); left > 0; left = gone.Sub(clock.Now()) {
		<-clock.After(left)
		if _, err := t.folder.View(); err != nil { // it knows of a clock that is set back
			return err
		}
	}
	return t.again()
}
