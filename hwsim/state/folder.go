package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/dray-dev/dray/hwsim/internal/disk"
	"github.com/dray-dev/dray/hwsim/machine"
	"github.com/dray-dev/dray/hwsim/surface"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// Errors that a caller can test for.
var (
	// ErrExists: Create found a folder with a machine in it.
	ErrExists = errors.New("there is a machine already")
	// ErrNotFolder: Open found no machine.
	ErrNotFolder = errors.New("there is no simulated machine")
	// ErrLocked: another process has had the lock for so long that it must have
	// stopped. Nothing has happened.
	ErrLocked = errors.New("another process holds the lock")
	// ErrBehind: a transaction has happened, and the files or the log could not follow.
	// Who next opens the folder makes up for it.
	ErrBehind = errors.New("the change is made, and its files could not be written")
	// ErrReadOnly: the folder was opened with OpenReadOnly, and is to be changed.
	ErrReadOnly = errors.New("the folder is open for reading only")
)

// Names in a folder.
const (
	identityFile = "hwsim.json" // the machine; written last by Create
	stateFile    = "state.json"
	syncedFile   = "synced" // the sequence that root and events are of
	lockFile     = "lock"
	rootDir      = "root"
	eventsDir    = "events"
	tempDir      = "temp"
)

// lockPatience is far more than any transaction takes.
const lockPatience = 30 * time.Second

// layoutVersion is that of the folder's names and of identityFile.
const layoutVersion = 1

// identityDoc is what identityFile holds. It never changes.
type identityDoc struct {
	Version int             `json:"version"`
	Name    string          `json:"name"`
	Seed    uint64          `json:"seed"`
	Place   int             `json:"place"`
	Machine json.RawMessage `json:"machine"` // its resolved file
}

// Folder is a machine in a directory. Any number of them, in any number of
// processes, can be open on one directory; each method sees and makes whole
// transactions. The methods may be called from any goroutine.
type Folder struct {
	dir     string
	machine *machine.Machine
	// identity is that of the rack, where the machine is one; the model has the node's.
	identity machine.Identity
	model    *model
	clock    *folderClock
	disk     *disk.Disk
	// patience is how long the lock is waited for, by the system's time.
	patience time.Duration
	log      *eventLog
	host     hardware.Host // of the root; nil for a pool
	reads    bool          // it was opened by OpenReadOnly

	mu     sync.Mutex // one goroutine of this process at a time
	cached *snapshot
}

// snapshot is a document with its bytes and what is seen of it.
type snapshot struct {
	text  []byte
	doc   *document
	shown *shown
}

// Option changes how a folder is opened.
type Option func(*Folder)

// WithClock gives the folder another clock than the system's.
func WithClock(clock Clock) Option { return func(f *Folder) { f.clock = &folderClock{Clock: clock} } }

// withStep lets a function stop the folder's writes.
func withStep(before func(step string) error) Option {
	return func(f *Folder) { f.disk.Before = before }
}

// Create makes a folder of a machine that is delivered, and boots it for the first
// time. Of a rack it is the node at place 0; see CreateAt. The directory may be
// missing or empty, or hold what a killed Create left. The machine's name must be
// one that an object of Kubernetes can have.
func Create(dir string, m *machine.Machine, id machine.Identity, options ...Option) (*Folder, error) {
	return CreateAt(dir, m, id, 0, options...)
}

// CreateAt is Create for the node at a place of a rack.
func CreateAt(dir string, m *machine.Machine, id machine.Identity, place int, options ...Option) (*Folder, error) {
	f, err := create(dir, m, id, place, options)
	if err != nil {
		return nil, fmt.Errorf("hardware folder %s: %w", dir, err)
	}
	return f, nil
}

func create(dir string, m *machine.Machine, id machine.Identity, place int, options []Option) (*Folder, error) {
	file, err := m.Resolved().JSON()
	if err != nil {
		return nil, err
	}
	identity, err := json.Marshal(identityDoc{layoutVersion, id.Name, id.Seed, place, file})
	if err != nil {
		return nil, err
	}
	f, err := newFolder(dir, identity, options)
	if err != nil {
		return nil, err
	}
	if problems := validation.IsDNS1123Subdomain(f.Name()); len(problems) > 0 {
		return nil, fmt.Errorf("name %q: %s", f.Name(), problems[0])
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if err := inTheWay(dir); err != nil {
		return nil, err
	}
	unlock, err := f.lock(true)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if _, err := os.Lstat(filepath.Join(dir, identityFile)); err == nil {
		return nil, ErrExists
	}
	return f, f.deliver(identity)
}

// inTheWay says what a directory holds that is not a folder's. Whatever is below root
// would be removed, so names alone do not make it one: the lock, which is empty, is
// the first file that Create makes.
func inTheWay(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) == 0 {
		return err
	}
	if info, err := os.Lstat(filepath.Join(dir, lockFile)); err != nil || !info.Mode().IsRegular() || info.Size() > 0 {
		return fmt.Errorf("%s is in the way: give a directory that is empty or missing", entries[0].Name())
	}
	for _, entry := range entries {
		switch entry.Name() {
		case identityFile, stateFile, syncedFile, lockFile, rootDir, eventsDir, tempDir:
		default:
			return fmt.Errorf("%s is in the way: give a directory that is empty or missing", entry.Name())
		}
	}
	return nil
}

// deliver writes all of a new folder, the identity last.
func (f *Folder) deliver(identity []byte) error {
	for _, name := range []string{tempDir, eventsDir, rootDir} {
		if err := f.disk.MakeDir(filepath.Join(f.dir, name)); err != nil {
			return err
		}
	}
	if err := f.disk.Remove(filepath.Join(f.dir, stateFile)); err != nil {
		return err
	}
	old, err := f.log.files()
	if err != nil {
		return err
	}
	for _, first := range old {
		if err := f.disk.Remove(filepath.Join(f.log.dir, logName(first))); err != nil {
			return err
		}
	}
	now := f.clock.Now()
	tx := &Tx{folder: f, doc: f.model.fresh(now, 1), now: now}
	tx.event("boot", "", "%s boots for the first time", f.model.name())
	if err := f.commit(nil, tx); err != nil {
		return err
	}
	return f.disk.WriteSynced(filepath.Join(f.dir, identityFile), identity)
}

// Open opens a folder that Create has made. If the last writer was killed, what it
// had begun is finished or undone, and files that are not as they should be are
// written again. The error matches ErrNotFolder where no machine is.
func Open(dir string, options ...Option) (*Folder, error) {
	f, err := open(dir, options)
	if err != nil {
		return nil, fmt.Errorf("hardware folder %s: %w", dir, err)
	}
	return f, nil
}

// read makes a Folder of the identity in a directory.
func read(dir string, options []Option) (*Folder, error) {
	identity, err := os.ReadFile(filepath.Join(dir, identityFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w here: hwsim run makes one", ErrNotFolder)
	}
	if err != nil {
		return nil, err
	}
	return newFolder(dir, identity, options)
}

func open(dir string, options []Option) (*Folder, error) {
	f, err := read(dir, options)
	if err != nil {
		return nil, err
	}
	unlock, err := f.lock(true)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := f.recover(); err != nil {
		return nil, err
	}
	return f, f.openHost()
}

// OpenReadOnly opens a folder that may not be written to, and writes nothing. Views
// are of the machine as it is, also where something falls due that nobody has written
// down, and where a killed writer's files are not in step. Files of Host are those
// that there are, and all changes fail with ErrReadOnly.
func OpenReadOnly(dir string, options ...Option) (*Folder, error) {
	f, err := openReadOnly(dir, options)
	if err != nil {
		return nil, fmt.Errorf("hardware folder %s: %w", dir, err)
	}
	return f, nil
}

func openReadOnly(dir string, options []Option) (*Folder, error) {
	f, err := read(dir, options)
	if err != nil {
		return nil, err
	}
	f.reads = true
	return f, f.openHost()
}

func newFolder(dir string, identity []byte, options []Option) (*Folder, error) {
	var doc identityDoc
	decoder := json.NewDecoder(bytes.NewReader(identity))
	if err := decoder.Decode(&doc); err != nil {
		return nil, fmt.Errorf("%s: %w", identityFile, err)
	}
	if doc.Version != layoutVersion {
		return nil, fmt.Errorf("%s: it has version %d, and this program knows %d", identityFile, doc.Version, layoutVersion)
	}
	m, err := machine.Parse(identityFile, doc.Machine)
	if err != nil {
		return nil, err
	}
	id := machine.Identity{Name: doc.Name, Seed: doc.Seed}
	model, err := newModel(m, id, doc.Place)
	if err != nil {
		return nil, err
	}
	f := &Folder{dir: dir, machine: m, identity: id, model: model, clock: &folderClock{Clock: SystemClock{}}, patience: lockPatience, disk: &disk.Disk{Temp: filepath.Join(dir, tempDir)}}
	f.log = &eventLog{filepath.Join(dir, eventsDir), f.disk}
	for _, option := range options {
		option(f)
	}
	return f, nil
}

// lock waits for the folder's lock, alone or shared, and returns what gives it back.
func (f *Folder) lock(alone bool) (unlock func(), err error) {
	return lock(filepath.Join(f.dir, lockFile), alone, f.reads, f.patience)
}

func (f *Folder) openHost() error {
	if f.model.node == nil {
		return nil
	}
	host, err := surface.Open(f.Root())
	f.host = host
	return err
}

// Dir is the folder's directory.
func (f *Folder) Dir() string { return f.dir }

// Root is the directory of the machine's files: what a driver takes for "/".
func (f *Folder) Root() string { return filepath.Join(f.dir, rootDir) }

// Machine is the machine that the folder was made of, and Name that of its node or
// pool.
func (f *Folder) Machine() *machine.Machine { return f.machine }

// Name of the node, or of the pool.
func (f *Folder) Name() string { return f.model.name() }

// Identity is what the machine was made with; of a rack, it is the rack's.
func (f *Folder) Identity() machine.Identity { return f.identity }

// Clock is the folder's: the time that things happen at.
func (f *Folder) Clock() Clock { return f.clock }
