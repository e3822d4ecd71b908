// Package stream is what tools share that run another command and read what it says
// as it comes.
package stream

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
)

// Command runs a command and lets read have its output, to the end or until read
// returns an error. Its standard error goes to stderr. An error of read, which is
// readErr, is apart from that of the command, which is an *exec.ExitError if it ran
// and failed.
func Command(name string, args []string, stderr io.Writer, read func(output io.Reader) error) (readErr, err error) {
	command := exec.Command(name, args...)
	command.Stderr = stderr
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("read the output of %s: %w", name, err)
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	readErr = read(output)
	// A command that is not listened to any more must not wait for that.
	_, _ = io.Copy(io.Discard, output)
	return readErr, command.Wait()
}

// Code is the exit code of a tool whose run ended with err: that of the command, if it
// was the command that failed, else 1. It reports the error, unless that is no more
// than the command's failure, which the command has reported.
func Code(tool string, err error, stderr io.Writer) int {
	if err == nil {
		return 0
	}
	code := 1
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		code = exit.ExitCode()
		if err == error(exit) {
			return code
		}
	}
	fmt.Fprintf(stderr, "%s: %v\n", tool, err)
	return code
}
