package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dray-dev/dray/hwsim/internal/disk"
)

// long is an event of a number, and of more than a tenth of a log file.
func long(number uint64) Event {
	return Event{Number: number, Kind: "test", Message: strings.Repeat("x", logBytes/8)}
}

func newLog(t *testing.T) *eventLog {
	return &eventLog{t.TempDir(), &disk.Disk{Temp: t.TempDir()}}
}

// numbers are the events after one, and the error that ends them.
func numbers(l *eventLog, after uint64) (list []uint64, err error) {
	for event, err := range l.read(after) {
		if err != nil {
			return list, err
		}
		list = append(list, event.Number)
	}
	return list, nil
}

func TestTheLogKeepsTheLastEventsOverManyFiles(t *testing.T) {
	l := newLog(t)
	const last = 150
	for n := uint64(1); n <= last; n++ {
		if err := l.append([]Event{long(n)}); err != nil {
			t.Fatal(err)
		}
	}
	files, err := l.files()
	if err != nil || len(files) < 2 || len(files) > logFiles+1 {
		t.Fatalf("%d files, error %v", len(files), err)
	}
	if _, err := numbers(l, 0); !errors.Is(err, ErrEventsGone) {
		t.Errorf("the first event is gone, and the error is %v", err)
	}
	for _, after := range []uint64{files[0] - 1, files[1] - 2, files[1] - 1, files[1], last - 1, last} {
		list, err := numbers(l, after)
		if err != nil || uint64(len(list)) != last-after || len(list) > 0 && list[0] != after+1 {
			t.Fatalf("after %d: %v, error %v", after, list, err)
		}
	}
}

func TestATornEndIsNotReadAndCutOff(t *testing.T) {
	l := newLog(t)
	if err := l.append([]Event{{Number: 1}, {Number: 2}}); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(l.dir, logName(1))
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for end := range len(whole) {
		if err := os.WriteFile(name, whole[:end], 0o600); err != nil {
			t.Fatal(err)
		}
		before, err := numbers(l, 0)
		if err != nil || len(before) != strings.Count(string(whole[:end]), "\n") {
			t.Fatalf("torn at %d: %v, error %v", end, before, err)
		}
		// Who comes next writes what the document has, all or the rest.
		if err := l.append([]Event{{Number: 1}, {Number: 2}}); err != nil {
			t.Fatal(err)
		}
		if after, err := numbers(l, 0); err != nil || fmt.Sprint(after) != "[1 2]" {
			t.Fatalf("torn at %d and mended: %v, error %v", end, after, err)
		}
	}
}

func TestAGapInTheLogIsAnError(t *testing.T) {
	l := newLog(t)
	if err := os.WriteFile(filepath.Join(l.dir, logName(1)), []byte("{\"number\":1}\n{\"number\":3}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if list, err := numbers(l, 0); err == nil || len(list) != 1 {
		t.Errorf("%v, error %v", list, err)
	}
}

func TestAReaderIsToldWhatIsGone(t *testing.T) {
	l := newLog(t)
	for n := uint64(1); n <= 12; n++ {
		if err := l.append([]Event{long(n)}); err != nil {
			t.Fatal(err)
		}
	}
	files, err := l.files()
	if err != nil || len(files) != 2 {
		t.Fatalf("%v, error %v", files, err)
	}
	var last error
	for event, err := range l.read(0) {
		if event.Number == 1 { // a writer forgets the file that is read next
			if err := os.Remove(filepath.Join(l.dir, logName(files[1]))); err != nil {
				t.Fatal(err)
			}
		}
		last = err
	}
	if !errors.Is(last, ErrEventsGone) {
		t.Errorf("it ends with %v", last)
	}
}

func TestALogThatWasCutGoesOnWithWhatComesNext(t *testing.T) {
	l := newLog(t)
	for n := uint64(1); n <= 4; n++ {
		if err := l.append([]Event{{Number: n}}); err != nil {
			t.Fatal(err)
		}
	}
	name := filepath.Join(l.dir, logName(1))
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(name, int64(len(text)*2/3)); err != nil { // 1 and 2 are left
		t.Fatal(err)
	}
	for range 2 { // also when it is done again
		if err := l.append([]Event{{Number: 5}, {Number: 6}}); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := numbers(l, 0); !slices.Equal(list, []uint64{1, 2}) || !errors.Is(err, ErrEventsGone) {
		t.Errorf("all: %v, error %v", list, err)
	}
	if list, err := numbers(l, 4); !slices.Equal(list, []uint64{5, 6}) || err != nil {
		t.Errorf("what is left: %v, error %v", list, err)
	}
}
