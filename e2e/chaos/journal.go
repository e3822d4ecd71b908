package chaos

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// journal is the file of everything that the run did, for whoever looks for the cause
// of a failure beside the scheduler's log.
type journal struct {
	mu   sync.Mutex
	file *os.File
	also io.Writer // gets what say is told
}

func openJournal(path string, also io.Writer) (*journal, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &journal{file: file, also: also}, nil
}

// note writes a line, with the time as servers' logs have it.
func (j *journal) note(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	fmt.Fprintf(j.file, time.Now().UTC().Format("15:04:05.000000")+" "+format+"\n", args...)
}

// say writes a line that people should see as it happens.
func (j *journal) say(format string, args ...any) {
	j.note(format, args...)
	fmt.Fprintf(j.also, format+"\n", args...)
}

func (j *journal) close() { _ = j.file.Close() }
