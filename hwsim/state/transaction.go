package state

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/dray-dev/dray/hwsim/engine"
	"github.com/dray-dev/dray/kubeletplugin/hardware"
)

// View is a machine at one moment. It does not change, and is shared: what it refers
// to must not be changed either.
type View struct {
	// Name of the node or pool.
	Name string
	// Sequence counts the transactions of the folder, LastEvent its events.
	Sequence, LastEvent uint64
	Time                time.Time
	Boot                Boot
	// Node is what a driver finds; nil for a pool.
	Node *hardware.Node
	// Clique of the NVLink fabric, as a label of the node says it.
	Clique string
	// GPUs is what the engine knows of them beyond Node.
	GPUs *engine.State
	// Pool is nil for a node.
	Pool *hardware.FabricPool
	// Attachments of a pool's devices, by device.
	Attachments []Attachment
	// Instructions that the simulated driver obeys now.
	Instructions []Instruction
	// Due is when the next thing happens by itself; zero if nothing will.
	Due time.Time
	// Overrides are the functions that wait for another driver than their own.
	Overrides map[hardware.PCIAddress]string
	// IMEXChannels are those besides channel 0 that have a device node.
	IMEXChannels []int
}

// View looks at the machine. What has fallen due has happened then, and what a
// killed writer left is in order.
func (f *Folder) View() (*View, error) {
	var view *View
	err := f.inStep(func(s *snapshot) error {
		view = f.viewOf(s)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("hardware folder %s: %w", f.dir, err)
	}
	return view, nil
}

func (f *Folder) viewOf(s *snapshot) *View {
	v := &View{Name: f.model.name(), Sequence: s.doc.Sequence, LastEvent: s.doc.LastEvent, Time: s.doc.Time, Boot: s.doc.Boot,
		Node: s.shown.node, GPUs: s.doc.GPUs, Pool: f.model.pool, Attachments: s.doc.Attachments,
		Instructions: active(s.doc.Instructions, f.clock.Now()), Due: s.doc.due(), IMEXChannels: s.doc.IMEXChannels,
		Overrides: map[hardware.PCIAddress]string{}}
	if f.model.node != nil {
		v.Clique = f.model.node.Clique
	}
	for address, function := range s.doc.Functions {
		if function.Override != "" {
			v.Overrides[address] = function.Override
		}
	}
	return v
}

// inStep calls a function while the files are those of the state and nothing is due,
// and nobody changes them.
func (f *Folder) inStep(look func(*snapshot) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for range 10 {
		ok, err := f.tryInStep(look)
		if ok || err != nil {
			return err
		}
		if err := f.update(func(*Tx) error { return nil }); err != nil {
			return err
		}
	}
	return errors.New("it changes faster than it can be read")
}

func (f *Folder) tryInStep(look func(*snapshot) error) (ok bool, err error) {
	unlock, err := f.lock(false)
	if err != nil {
		return false, err
	}
	defer unlock()
	s, err := f.load()
	if err != nil {
		return false, err
	}
	if f.reads {
		if s, err = f.ahead(s); err != nil {
			return false, err
		}
		return true, look(s)
	}
	if f.clock.follow(s.doc) != s.doc.Ahead || !f.synced(s.doc) || s.doc.isDue(f.clock.Now()) {
		return false, nil
	}
	return true, look(s)
}

// ahead is the machine after what has fallen due, which is written nowhere.
func (f *Folder) ahead(s *snapshot) (*snapshot, error) {
	tx := f.begin(s.doc)
	if !tx.settle() && tx.doc.Ahead == s.doc.Ahead {
		return s, nil
	}
	tx.doc.Time = tx.now
	shown, err := f.model.show(tx.doc)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", stateFile, err)
	}
	return &snapshot{s.text, tx.doc, shown}, nil
}

// load reads the state, if it is not the one that was read last.
func (f *Folder) load() (*snapshot, error) {
	text, err := os.ReadFile(filepath.Join(f.dir, stateFile))
	if err != nil {
		return nil, err
	}
	if f.cached != nil && bytes.Equal(f.cached.text, text) {
		return f.cached, nil
	}
	doc, err := decodeDocument(text)
	if err == nil {
		err = f.model.validate(doc)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", stateFile, err)
	}
	shown, err := f.model.show(doc)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", stateFile, err)
	}
	f.cached = &snapshot{text, doc, shown}
	return f.cached, nil
}

// synced says whether files and log are those of the document.
func (f *Folder) synced(d *document) bool {
	text, err := os.ReadFile(filepath.Join(f.dir, syncedFile))
	return err == nil && strings.TrimSpace(string(text)) == strconv.FormatUint(d.Sequence, 10)
}

// recover brings files and log in step with the state, whatever they are. The
// caller has the lock alone.
func (f *Folder) recover() error {
	s, err := f.load()
	if err != nil {
		return err
	}
	return f.follow(nil, s)
}

// follow lets log and files follow the state, from what they were; nil if that is
// not known.
func (f *Folder) follow(from, to *snapshot) error {
	if err := f.log.append(to.doc.Outbox); err != nil {
		return err
	}
	if to.shown.files != nil {
		before := (*shown)(nil)
		if from != nil {
			before = from.shown
		}
		if before == nil {
			before = &shown{}
		}
		if err := to.shown.files.Sync(f.disk, f.Root(), before.files); err != nil {
			return err
		}
	}
	if f.synced(to.doc) {
		return nil
	}
	return f.disk.Write(filepath.Join(f.dir, syncedFile), []byte(strconv.FormatUint(to.doc.Sequence, 10)+"\n"))
}

// Tx is a transaction: changes to a machine that happen together or not at all.
type Tx struct {
	folder *Folder
	doc    *document // the next one
	now    time.Time
	events []Event
	engine *engine.Engine // over doc.GPUs, once it is asked for
}

// Now is the transaction's time.
func (tx *Tx) Now() time.Time { return tx.now }

// event makes an event part of the transaction.
func (tx *Tx) event(kind, device, format string, args ...any) {
	tx.events = append(tx.events, Event{Time: tx.now, Boot: tx.doc.Boot.Number, Kind: kind, Device: device, Message: fmt.Sprintf(format, args...)})
}

// Update makes a transaction. If change returns an error, or what it made is not a
// machine that can be, nothing has happened. The files follow before Update
// returns; if they cannot, the error matches ErrBehind.
func (f *Folder) Update(change func(*Tx) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.update(change)
}

func (f *Folder) update(change func(*Tx) error) error {
	if f.reads {
		return fmt.Errorf("hardware folder %s: %w", f.dir, ErrReadOnly)
	}
	unlock, err := f.lock(true)
	if err != nil {
		return err
	}
	defer unlock()
	s, err := f.load()
	if err != nil {
		return fmt.Errorf("hardware folder %s: %w", f.dir, err)
	}
	if !f.synced(s.doc) {
		if err := f.follow(nil, s); err != nil {
			return fmt.Errorf("hardware folder %s: %w", f.dir, err)
		}
	}
	tx := f.begin(s.doc)
	settled := tx.settle()
	if err := change(tx); err != nil {
		return err
	}
	if !settled && len(tx.events) == 0 && tx.unchanged(s.doc) {
		return nil
	}
	return f.commit(s, tx)
}

// begin makes a transaction on a document, which nothing has happened in so far.
func (f *Folder) begin(doc *document) *Tx {
	tx := &Tx{folder: f, doc: doc.clone()}
	if tx.doc.Ahead = f.clock.follow(doc); tx.doc.Ahead == 0 && doc.Ahead > 0 {
		tx.doc.hasten(doc.Ahead)
	}
	if tx.now = f.clock.Now(); tx.now.Before(doc.Time) {
		tx.now = doc.Time
	}
	return tx
}

// unchanged says whether a transaction has left all as it was.
func (tx *Tx) unchanged(old *document) bool {
	before := *old
	before.Outbox = nil
	a, errA := before.encode()
	b, errB := tx.doc.encode()
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

// commit writes the transaction's document, which makes it happen, and lets the rest
// follow. The caller has the lock alone.
func (f *Folder) commit(old *snapshot, tx *Tx) error {
	d := tx.doc
	if old != nil {
		tx.gpuEvents(old.doc.GPUs)
	}
	d.Sequence++
	d.Time = tx.now
	d.Outbox = tx.events
	for i := range d.Outbox {
		d.LastEvent++
		d.Outbox[i].Number = d.LastEvent
	}
	if err := f.model.validate(d); err != nil {
		return fmt.Errorf("hardware folder %s: the machine would not be one: %w", f.dir, err)
	}
	shown, err := f.model.show(d)
	if err != nil {
		return fmt.Errorf("hardware folder %s: the machine would not be one: %w", f.dir, err)
	}
	text, err := d.encode()
	if err != nil {
		return err
	}
	if err := f.disk.WriteSynced(filepath.Join(f.dir, stateFile), text); err != nil {
		return fmt.Errorf("hardware folder %s: %w", f.dir, err)
	}
	next := &snapshot{text, d, shown}
	f.cached = next
	if err := f.follow(old, next); err != nil {
		return fmt.Errorf("hardware folder %s: %w: %w", f.dir, ErrBehind, err)
	}
	return nil
}
