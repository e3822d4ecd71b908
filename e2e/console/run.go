package console

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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
}

// Run runs a step and returns what it printed. The error of one that does not do what
// is shown has what it printed last.
func (s Shell) Run(ctx context.Context, step Step) (string, error) {
	deadline := time.Now().Add(s.Patience)
	for {
		printed, err := s.once(ctx, step)
		if err == nil || !step.Asks() || ctx.Err() != nil {
			return printed, err
		}
		if time.Now().Add(s.Pause).After(deadline) {
			return printed, fmt.Errorf("still after %s: %w", s.Patience, err)
		}
		select {
		case <-ctx.Done():
			return printed, fmt.Errorf("%w: %w", ctx.Err(), err)
		case <-time.After(s.Pause):
		}
	}
}

func (s Shell) once(ctx context.Context, step Step) (string, error) {
	command := exec.CommandContext(ctx, "sh", "-c", step.Command)
	command.Dir, command.Env = s.Dir, s.Env
	// A command may leave a child behind that holds its output open.
	command.WaitDelay = time.Second
	var out, complaints bytes.Buffer
	command.Stdout, command.Stderr = &out, &complaints
	err := command.Run()
	var exit *exec.ExitError
	switch {
	case err != nil && !errors.As(err, &exit):
		return out.String(), fmt.Errorf("$ %s: %w", step.Command, err)
	case err != nil && !step.Fails:
		return out.String(), fmt.Errorf("$ %s: %w\n%s", step.Command, err, strings.TrimSpace(out.String()+complaints.String()))
	case err == nil && step.Fails:
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
