package localcluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// child is one server: a process and its log.
type child struct {
	role    Role
	command *exec.Cmd
	log     string
	ended   chan struct{} // closed when the process is gone
	how     error         // of its end; not before that
}

// spawner starts all children from one thread that lives as long as the spawner:
// the kernel kills a child when the thread that started it ends.
type spawner chan func()

func newSpawner() spawner {
	s := make(spawner)
	go func() {
		runtime.LockOSThread()
		for start := range s {
			start()
		}
	}()
	return s
}

// start runs the program as a role. What it prints is added to its log.
func (s spawner) start(binary string, as Role, flags []string, log string, lock *os.File) (*child, error) {
	output, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer output.Close()
	command := exec.Command(binary, append([]string{"role", string(as)}, flags...)...)
	command.Stdout, command.Stderr = output, output
	command.ExtraFiles = []*os.File{lock}
	command.SysProcAttr = childAttributes()
	started := make(chan error)
	s <- func() { started <- command.Start() }
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", as, err)
	}
	c := &child{role: as, command: command, log: log, ended: make(chan struct{})}
	go func() {
		c.how = command.Wait()
		close(c.ended)
	}()
	return c, nil
}

// kill ends the process as a crash would, and waits until it is gone.
func (c *child) kill() {
	c.signal(syscall.SIGKILL)
	<-c.ended
}

// stop asks the process to end, waits, and then makes it.
func (c *child) stop(grace time.Duration) {
	c.signal(syscall.SIGTERM)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-c.ended:
	case <-timer.C:
		c.kill()
	}
}

func (c *child) signal(signal os.Signal) {
	// The one error there can be is that the process is gone already.
	_ = c.command.Process.Signal(signal)
}

// obituary is the error of a server that ended by itself, with the end of its log.
func (c *child) obituary() error {
	how := c.how
	if how == nil {
		how = errors.New("exit status 0")
	}
	return fmt.Errorf("%s ended by itself (%w); the end of %s:\n%s", c.role, how, c.log, logEnd(c.log))
}

// logLines and logBytes bound what an error shows of a log.
const logLines, logBytes = 8, 8192

func logEnd(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return "  " + err.Error()
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "  " + err.Error()
	}
	from := max(0, info.Size()-logBytes)
	content := make([]byte, info.Size()-from)
	n, _ := file.ReadAt(content, from)
	lines := strings.Split(strings.TrimRight(string(content[:n]), "\n"), "\n")
	lines = lines[max(0, len(lines)-logLines):]
	return "  " + strings.Join(lines, "\n  ")
}
