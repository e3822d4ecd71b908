package prepare

import (
	"context"
	"encoding/json"
	"errors"

	"k8s.io/apimachinery/pkg/types"
	"tags.cncf.io/container-device-interface/specs-go"

	"github.com/dray-dev/dray/kubeletplugin/api"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// Kind is one kind of device. Its calls come under the lock of the hardware, so that
// it is alone with that. Plans and outcomes are JSON that is kept in the
// checkpoint; most kinds are made of a KindOf by Typed.
type Kind interface {
	// Name stands in checkpoints and never changes.
	Name() string
	// Match says whether a device is of this kind, by its name. It is pure.
	Match(device string) bool
	// Find says what calls about the hardware that a device is now exclude each other by.
	// Kinds of the same hardware use the same lock, and it is the hardware's as long as
	// that is there: by its UUID, since another may have its name after a reset. It fails
	// with ErrNotThere if there is no such device.
	Find(ctx context.Context, device string) (lock string, err error)
	// Lock is what Find said when the plan was made. It is pure.
	Lock(plan json.RawMessage) (string, error)
	// Holds names what only one claim can have of the hardware, as paths: "a/b" is a
	// part of "a". It is pure. It is not called for access by administrators.
	Holds(request *Request) ([]string, error)
	// Plan is what is to be done. It is pure, and fails if it can see that it cannot
	// be done, or that what it would make is there already and nobody's.
	Plan(request *Request, others []json.RawMessage) (json.RawMessage, error)
	// Apply does it. The outcome says what was made, also beside an error.
	Apply(ctx context.Context, plan json.RawMessage) (outcome json.RawMessage, err error)
	// Verify is nil if everything is as Apply left it, and ErrNotAsLeft if it has to
	// be undone and made anew. With any other error it could not find out.
	Verify(ctx context.Context, plan, outcome json.RawMessage) error
	// Undo takes back what was made, or what is left of it; that nothing is left is
	// no error. Without an outcome Apply may have done all, a part or nothing.
	Undo(ctx context.Context, plan, outcome json.RawMessage, undo *Undoing) error
	// Content is what containers with the device get.
	Content(ctx context.Context, plan, outcome json.RawMessage) (*Content, error)
}

// ErrNotAsLeft is Verify's answer about what has gone or was changed.
var ErrNotAsLeft = errors.New("it is not as this driver left it")

// ErrNotThere: there is no such device on this node now.
var ErrNotThere = errors.New("there is no such device on this node now")

// Request is a device that a claim was allocated.
type Request struct {
	// Node is the hardware as it is now. It is not changed.
	Node *hardware.Node
	// Device and its share, if it is shared.
	Device  string
	ShareID *types.UID
	// Request is the name of the request, "main" or "main/sub".
	Request     string
	AdminAccess bool
	// Configs of the claim.
	Configs api.Configs
}

// Undoing says around what something is undone.
type Undoing struct {
	// Rebooted says that the machine was started anew since Apply.
	Rebooted bool
	// Others are the plans of this kind that other claims have under the same lock.
	Others []json.RawMessage
}

// Content is what containers with a device get, as in cdi.Device.
type Content struct {
	Edits, Common specs.ContainerEdits
	// Hardware names the device where it is simulated; it is encoded as JSON.
	Hardware any
}
