package prepare

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/dray-dev/dray/kubeletplugin/cdi"
	"github.com/dray-dev/dray/kubeletplugin/checkpoint"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// Options of a Preparer. All but RollbackTimeout are needed.
type Options struct {
	// Driver is the name of the DRA driver, Pool that of this node's pool.
	Driver, Pool string
	// Kinds of devices; the first that matches a device's name has it.
	Kinds []Kind
	Store *checkpoint.Store
	CDI   *cdi.Dir
	// BootID differs after each boot of the machine (hardware.BootID).
	BootID string
	// Hardware returns the hardware as it is when it is called. With an error nothing
	// is prepared, so what discovery says of single devices is not one.
	Hardware func(ctx context.Context) (*hardware.Node, error)
	// RollbackTimeout is how long a call that fails may take to undo what it did,
	// after its context has ended; DefaultRollbackTimeout if it is 0.
	RollbackTimeout time.Duration
}

// DefaultRollbackTimeout is enough to destroy some partitions.
const DefaultRollbackTimeout = 20 * time.Second

// Preparer prepares the claims of one driver on one node. It may be used from any
// goroutine.
type Preparer struct {
	options Options
	locks   keylocks
}

// New fails if an option is missing.
func New(options Options) (*Preparer, error) {
	if options.Driver == "" || options.Pool == "" || options.BootID == "" || len(options.Kinds) == 0 ||
		options.Store == nil || options.CDI == nil || options.Hardware == nil {
		return nil, errors.New("prepare: driver, pool, boot ID, kinds, store, CDI and hardware are needed")
	}
	if options.RollbackTimeout == 0 {
		options.RollbackTimeout = DefaultRollbackTimeout
	}
	return &Preparer{options: options}, nil
}

// Device is a prepared device of a claim, for the kubelet.
type Device struct {
	// Request is the name of the request, "main" or "main/sub".
	Request      string
	Pool, Device string
	ShareID      *types.UID
	CDIDeviceIDs []string
}

// Start undoes what a driver that was killed left half done, and removes CDI files
// of claims that nobody knows. Claims that were completed stay as they are: their
// containers may run. What cannot be undone now stays in the checkpoint, and its
// error is among those returned.
func (p *Preparer) Start(ctx context.Context) error {
	end, err := p.options.Store.Begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	claims, err := p.options.Store.Claims()
	if err != nil {
		return err
	}
	var errs []error
	for _, claim := range claims {
		if claim.State == checkpoint.Started {
			errs = append(errs, p.unprepare(ctx, claim.UID))
		}
	}
	files, err := p.options.CDI.List()
	errs = append(errs, err)
	for _, uid := range files {
		if !slices.ContainsFunc(claims, func(c *checkpoint.Claim) bool { return c.UID == uid }) {
			errs = append(errs, p.options.CDI.Remove(uid))
		}
	}
	return errors.Join(errs...)
}

// Claims returns what the checkpoint has, by UID.
func (p *Preparer) Claims(ctx context.Context) ([]*checkpoint.Claim, error) {
	end, err := p.options.Store.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	return p.options.Store.Claims()
}

// Prepare makes the claim's devices ready and returns them in the order of the
// allocation; none if none is of this driver. Errors about a device that another
// claim has are of type *HeldError, those about the claim's configuration
// *api.Error.
func (p *Preparer) Prepare(ctx context.Context, claim *resourceapi.ResourceClaim) ([]Device, error) {
	devices, err := p.prepare(ctx, claim)
	if err != nil {
		return nil, fmt.Errorf("claim %s/%s (%s): %w", claim.Namespace, claim.Name, claim.UID, err)
	}
	return devices, nil
}

func (p *Preparer) prepare(ctx context.Context, claim *resourceapi.ResourceClaim) ([]Device, error) {
	w, err := p.read(claim)
	if err != nil || len(w.claim.Devices) == 0 {
		return nil, err
	}
	end, err := p.options.Store.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	present, unlock, err := p.lockClaim(ctx, claim.UID, w)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if present != nil {
		if present.State == checkpoint.Completed && present.BootID == p.options.BootID && w.isFor(present) {
			devices, err := p.keep(ctx, present)
			if !errors.Is(err, ErrNotAsLeft) {
				return devices, err
			}
		}
		if err := p.undo(ctx, present); err != nil {
			return nil, fmt.Errorf("what it had before cannot be undone: %w", err)
		}
	}
	return p.make(ctx, w)
}

// lockClaim waits for the claim and for the hardware of what it has and of what it
// wants, if anything, and returns what it has.
func (p *Preparer) lockClaim(ctx context.Context, uid types.UID, want *wanted) (present *checkpoint.Claim, unlock func(), err error) {
	unlockClaim, err := p.locks.lock(ctx, "claim "+string(uid))
	if err != nil {
		return nil, nil, err
	}
	present, err = p.options.Store.Claim(uid)
	if err != nil {
		unlockClaim()
		return nil, nil, err
	}
	var keys []string
	if want != nil {
		if err := want.find(ctx); err != nil {
			unlockClaim()
			return nil, nil, err
		}
		for i := range want.claim.Devices {
			keys = append(keys, "hardware "+want.claim.Devices[i].Lock)
		}
	}
	if present != nil {
		for i := range present.Devices {
			keys = append(keys, "hardware "+p.lockOf(&present.Devices[i]))
		}
	}
	unlockHardware, err := p.locks.lock(ctx, keys...)
	if err != nil {
		unlockClaim()
		return nil, nil, err
	}
	return present, func() { unlockHardware(); unlockClaim() }, nil
}

// Unprepare takes back what was done for a claim. It is no error if that is
// nothing.
func (p *Preparer) Unprepare(ctx context.Context, uid types.UID) error {
	end, err := p.options.Store.Begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	return p.unprepare(ctx, uid)
}

func (p *Preparer) unprepare(ctx context.Context, uid types.UID) error {
	present, unlock, err := p.lockClaim(ctx, uid, nil)
	if err != nil {
		return fmt.Errorf("claim %s: %w", uid, err)
	}
	defer unlock()
	if present == nil {
		return p.options.CDI.Remove(uid)
	}
	if err := p.undo(ctx, present); err != nil {
		return fmt.Errorf("claim %s/%s (%s): %w", present.Namespace, present.Name, uid, err)
	}
	return nil
}
