package console

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// A Shell runs the steps of documents.
type Shell struct {
	// Dir is where commands run: paths in documents are relative to it.
	Dir string
	// Env is the whole environment of the commands.
	Env []string
	// Patience is how long a question is repeated, Pause how long to wait between
	// two times.
	Patience, Pause time.Duration
	// Watch, if not nil, is called before a question is asked, and what it returns when
	// the answer was another one: that waits until there may be news, in place of a
	// pause, but no longer than Pause.
	Watch func(Step) func(context.Context)
	// Builtin, if not nil, is offered each command before sh is: it runs those that are
	// its own, and its error is that of a command that fails.
	Builtin func(ctx context.Context, command string, out, complaints io.Writer) (own bool, err error)
	// Told, if not nil, is called with each step that has done what is shown, and what
	// it printed.
	Told func(step Step, printed string)
}

// Run runs a step and returns what it printed. The error of one that does not do what
// is shown has what it printed last.
func (s Shell) Run(ctx context.Context, step Step) (string, error) {
	deadline := time.Now().Add(s.Patience)
	for {
		await := s.pause
		if s.Watch != nil {
			await = s.Watch(step)
		}
		printed, err := s.once(ctx, step)
		if err == nil && s.Told != nil {
			s.Told(step, printed)
		}
		if err == nil || !step.Asks() || ctx.Err() != nil {
			return printed, err
		}
		if time.Now().Add(s.Pause).After(deadline) {
			return printed, fmt.Errorf("still after %s: %w", s.Patience, err)
		}
		waiting, cancel := context.WithTimeout(ctx, s.Pause)
		await(waiting)
		cancel()
		if ctx.Err() != nil {
			return printed, fmt.Errorf("%w: %w", ctx.Err(), err)
		}
	}
}

func (Shell) pause(ctx context.Context) { <-ctx.Done() }

// start runs the command; failed is that of one which did, and err is any other.
func (s Shell) start(ctx context.Context, step Step, out, complaints io.Writer) (failed, err error) {
	if s.Builtin != nil {
		if own, failed := s.Builtin(ctx, step.Command, out, complaints); own {
			return failed, ctx.Err()
		}
	}
	command := exec.CommandContext(ctx, "sh", "-c", step.Command)
	command.Dir, command.Env = s.Dir, s.Env
	// A command may leave a child behind that holds its output open.
	command.WaitDelay = time.Second
	command.Stdout, command.Stderr = out, complaints
	err = command.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return err, nil
	}
	return nil, err
}

func (s Shell) once(ctx context.Context, step Step) (string, error) {
	var out, complaints bytes.Buffer
	failed, err := s.start(ctx, step, &out, &complaints)
	switch {
	case err != nil: // it may still be printing
		return "", fmt.Errorf("$ %s: %w", step.Command, err)
	case failed != nil && !step.Fails:
		return out.String(), fmt.Errorf("$ %s: %w\n%s", step.Command, failed, strings.TrimSpace(out.String()+complaints.String()))
	case failed == nil && step.Fails:
		return out.String(), fmt.Errorf("$ %s: it is shown as failing, and succeeded", step.Command)
	}
	printed := out.String()
	if step.Fails {
		printed += complaints.String()
	}
	if step.Output == nil {
		return printed, nil
	}
	if err := Match(step.Output, printed); err != nil {
		return printed, fmt.Errorf("$ %s: %w", step.Command, err)
	}
	return printed, nil
}
