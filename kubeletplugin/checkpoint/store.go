package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/dray-dev/dray/kubeletplugin/internal/atomicfile"
	"github.com/dray-dev/dray/kubeletplugin/internal/processlock"
)

// Options say whose checkpoint it is.
type Options struct {
	Driver, Node string
	// Step, if set, is called before each change to the disk (atomicfile.Writer).
	Step func(what string)
}

// Store is the checkpoint in a file. It may be used from any goroutine.
type Store struct {
	path    string
	options Options
	writer  atomicfile.Writer
	lock    *processlock.Lock

	mu     sync.Mutex
	users  int // calls of Begin that have not ended
	claims map[types.UID]*Claim
}

// ErrNotBegun is the answer to calls outside of Begin and its end: a defect.
var ErrNotBegun = errors.New("the checkpoint is used without Begin")

// NewStore makes the directory of the file if there is none. The file is not read
// before Begin. Beside it there is a file that processes exclude each other by.
func NewStore(path string, options Options) (*Store, error) {
	if options.Driver == "" || options.Node == "" {
		return nil, errors.New("checkpoint: driver and node are needed")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	return &Store{path: path, options: options, writer: atomicfile.Writer{Step: options.Step}, lock: processlock.New(path + ".lock")}, nil
}

// Begin waits until no other process uses the file, and reads it unless another
// user in this one has. Until the end that it returns is called, no other process
// does. It fails if the context ends first, or if the file cannot be understood
// (ErrCorrupt, ErrForeign, ErrNewer).
func (s *Store) Begin(ctx context.Context) (end func(), err error) {
	if err := s.lock.Acquire(ctx); err != nil {
		return nil, fmt.Errorf("checkpoint %s: %w", s.path, err)
	}
	begun := false
	defer func() {
		if !begun {
			s.lock.Release()
		}
	}()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users == 0 {
		claims, err := s.read()
		if err == nil {
			err = s.writer.RemoveLeftover(s.path)
		}
		if err != nil {
			return nil, fmt.Errorf("checkpoint %s: %w; the file is kept: move it away to begin without its claims", s.path, err)
		}
		s.claims = claims
	}
	s.users++
	begun = true
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.users--; s.users == 0 {
			s.claims = nil
		}
		s.lock.Release()
	}), nil
}

func (s *Store) read() (map[types.UID]*Claim, error) {
	data, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return map[types.UID]*Claim{}, nil
	}
	if err != nil {
		return nil, err
	}
	return decode(data, s.options.Driver, s.options.Node)
}

// Claim returns a copy of a claim, or nil if it is not there.
func (s *Store) Claim(uid types.UID) (*Claim, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users == 0 {
		return nil, ErrNotBegun
	}
	if claim := s.claims[uid]; claim != nil {
		return claim.clone(), nil
	}
	return nil, nil
}

// Claims returns copies of all claims, by UID.
func (s *Store) Claims() ([]*Claim, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users == 0 {
		return nil, ErrNotBegun
	}
	return s.list(), nil
}

func (s *Store) list() []*Claim {
	list := make([]*Claim, 0, len(s.claims))
	for _, uid := range slices.Sorted(maps.Keys(s.claims)) {
		list = append(list, s.claims[uid].clone())
	}
	return list
}

// Put writes a claim. If admit is not nil it sees all other claims first, and
// nothing is written if it fails: two claims cannot pass it at the same time.
func (s *Store) Put(claim *Claim, admit func(others []*Claim) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users == 0 {
		return ErrNotBegun
	}
	if admit != nil {
		others := slices.DeleteFunc(s.list(), func(c *Claim) bool { return c.UID == claim.UID })
		if err := admit(others); err != nil {
			return err
		}
	}
	changed := maps.Clone(s.claims)
	changed[claim.UID] = claim.clone()
	return s.write(changed)
}

// Delete forgets a claim. It is no error if it is not there.
func (s *Store) Delete(uid types.UID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users == 0 {
		return ErrNotBegun
	}
	if s.claims[uid] == nil {
		return nil
	}
	changed := maps.Clone(s.claims)
	delete(changed, uid)
	return s.write(changed)
}

// write replaces the file, and what is known of it if that succeeded. Where only
// the sync of the directory failed, both may be on the disk, and the next Begin
// finds out.
func (s *Store) write(claims map[types.UID]*Claim) error {
	data, err := encode(s.options.Driver, s.options.Node, claims)
	if err == nil {
		err = s.writer.Write(s.path, data, 0o600)
	}
	if err != nil {
		return fmt.Errorf("checkpoint %s: %w", s.path, err)
	}
	s.claims = claims
	return nil
}
