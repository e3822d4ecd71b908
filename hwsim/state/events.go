package state

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dray-dev/dray/hwsim/fault"
	"github.com/dray-dev/dray/hwsim/internal/disk"
)

// Event is something that happened to a machine.
type Event struct {
	// Number counts all events of a folder from 1, over boots and resets.
	Number uint64    `json:"number"`
	Time   time.Time `json:"time"`
	// Boot is the number of the boot in which it happened.
	Boot int `json:"boot"`
	// Kind is one word, such as "boot", "sriov", "link" or "fault".
	Kind string `json:"kind"`
	// Device that it concerns, by its PCI address or name; empty for the machine.
	Device  string `json:"device,omitempty"`
	Message string `json:"message"`
	// Fault that was injected, of an event of kind "fault", and what a driver must
	// show of it.
	Fault *fault.Fault `json:"fault,omitempty"`
	Signs []fault.Sign `json:"signs,omitempty"`
}

// ErrEventsGone is matched by the error of a reader that asks for events so old that
// they are not kept.
var ErrEventsGone = errors.New("the events are no longer kept")

const (
	// logBytes is when the next file of the log begins, logFiles how many are kept.
	logBytes = 1 << 20
	logFiles = 8
	// maxLine bounds one event.
	maxLine = 1 << 20
)

// eventLog is a directory of files with an event a line, as JSON. A file is named
// after the number of its first event. It keeps:
//
//  1. Events are numbered without gaps, over all files; if somebody has cut one, in
//     each file, and readers are told what is gone.
//  2. Only the end of the last file can be torn: a line without its newline, which
//     readers do not see and the next writer cuts off.
type eventLog struct {
	dir  string
	disk *disk.Disk
}

func logName(first uint64) string { return fmt.Sprintf("%020d.jsonl", first) }

// files are the numbers of the first events, sorted.
func (l *eventLog) files() ([]uint64, error) {
	entries, err := os.ReadDir(l.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var firsts []uint64
	for _, entry := range entries {
		digits, ok := strings.CutSuffix(entry.Name(), ".jsonl")
		if first, err := strconv.ParseUint(digits, 10, 64); ok && err == nil && entry.Name() == logName(first) {
			firsts = append(firsts, first)
		}
	}
	slices.Sort(firsts)
	return firsts, nil
}

// append adds events, which follow the last one that there is. What is there already
// is left out, so that it can be done again.
func (l *eventLog) append(events []Event) error {
	firsts, err := l.files()
	if err != nil || len(events) == 0 {
		return err
	}
	name, size, last := "", int64(0), uint64(0)
	if len(firsts) > 0 {
		name = filepath.Join(l.dir, logName(firsts[len(firsts)-1]))
		if size, last, err = l.mend(name, firsts[len(firsts)-1]); err != nil {
			return err
		}
	}
	events = events[min(len(events), int(max(0, int64(last)-int64(events[0].Number)+1))):]
	if len(events) == 0 {
		return nil
	}
	if name == "" || size >= logBytes || events[0].Number > last+1 { // some may be lost, and a file has no gaps
		name = filepath.Join(l.dir, logName(events[0].Number))
	}
	var text bytes.Buffer
	for _, event := range events {
		line, err := json.Marshal(event)
		if err != nil {
			return err
		}
		text.Write(line)
		text.WriteByte('\n')
	}
	if err := l.disk.Append(name, text.Bytes()); err != nil {
		return err
	}
	return l.forget(firsts)
}

// forget removes the oldest files.
func (l *eventLog) forget(firsts []uint64) error {
	for len(firsts) > logFiles {
		if err := l.disk.Remove(filepath.Join(l.dir, logName(firsts[0]))); err != nil {
			return err
		}
		firsts = firsts[1:]
	}
	return nil
}

// mend cuts a torn end off and returns the file's size and last event.
func (l *eventLog) mend(name string, first uint64) (size int64, last uint64, err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, 0, err
	}
	whole := bytes.LastIndexByte(text, '\n') + 1
	if whole < len(text) {
		if err := l.disk.Truncate(name, int64(whole)); err != nil {
			return 0, 0, err
		}
	}
	return int64(whole), first + uint64(bytes.Count(text[:whole], []byte("\n"))) - 1, nil
}

// read yields the events after a number that are in the log. Its error ends it.
func (l *eventLog) read(after uint64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		firsts, err := l.files()
		if err != nil {
			yield(Event{}, err)
			return
		}
		for i, first := range firsts {
			if i+1 < len(firsts) && firsts[i+1] <= after+1 {
				continue
			}
			if first > after+1 {
				yield(Event{}, fmt.Errorf("event %d: %w; the next is %d", after+1, ErrEventsGone, first))
				return
			}
			if !l.readFile(first, &after, yield) {
				return
			}
		}
	}
}

// readFile yields the events of one file and counts them.
func (l *eventLog) readFile(first uint64, after *uint64, yield func(Event, error) bool) bool {
	text, err := os.ReadFile(filepath.Join(l.dir, logName(first)))
	if errors.Is(err, fs.ErrNotExist) { // a writer has just forgotten it
		err = fmt.Errorf("event %d: %w", *after+1, ErrEventsGone)
	}
	if err != nil {
		return yield(Event{}, err) && false
	}
	for len(text) > 0 {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		if !whole {
			return true // torn, or about to be written
		}
		text = rest
		event, err := decodeEvent(line)
		if err == nil && event.Number <= *after {
			continue
		}
		if err == nil && event.Number != *after+1 {
			err = fmt.Errorf("event %d follows event %d", event.Number, *after)
		}
		if err != nil {
			return yield(Event{}, fmt.Errorf("event log %s: %w", logName(first), err)) && false
		}
		*after = event.Number
		if !yield(event, nil) {
			return false
		}
	}
	return true
}

func decodeEvent(line []byte) (Event, error) {
	var event Event
	if len(line) > maxLine {
		return event, fmt.Errorf("a line has %d bytes", len(line))
	}
	decoder := json.NewDecoder(bytes.NewReader(line))
	if err := decoder.Decode(&event); err != nil {
		return event, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return event, errors.New("more follows after an event")
	}
	return event, nil
}

// PollInterval is how often followers look for what is new, and event sets for events.
const PollInterval = 50 * time.Millisecond

// Events yields what happened after the event of a number (0 for all that is kept),
// and ends with what there is now.
func (f *Folder) Events(after uint64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		view, err := f.View() // what a killed writer left unsaid is in the log then
		if err != nil {
			yield(Event{}, err)
			return
		}
		if view.LastEvent > after {
			f.log.read(after)(yield)
		}
	}
}

// Follow is Events that waits for more, by the folder's clock, until the context is
// done. What falls due meanwhile happens.
func (f *Folder) Follow(ctx context.Context, after uint64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for ctx.Err() == nil {
			for event, err := range f.Events(after) {
				if !yield(event, err) || err != nil {
					return
				}
				after = event.Number
			}
			select {
			case <-ctx.Done():
			case <-f.clock.After(PollInterval):
			}
		}
	}
}
