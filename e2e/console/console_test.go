package console

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// The commands of a case:
//
//	parse   the document below, as its steps
//	match   what is printed, after a line ----- what is shown
func TestDocumentsAreReadAndComparedAsTheTextsSay(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "parse":
				steps, err := Parse(filepath.Base(path), []byte(d.Input))
				if err != nil {
					return "error: " + err.Error() + "\n"
				}
				var b strings.Builder
				for _, s := range steps {
					fmt.Fprintf(&b, "%d: %s (fails %t, asks %t)\n", s.Line, s.Command, s.Fails, s.Asks())
					for _, line := range s.Output {
						fmt.Fprintf(&b, "   |%s\n", line)
					}
				}
				return b.String()
			case "match":
				shown, printed, _ := strings.Cut(d.Input, "-----\n")
				if err := Match(strings.Split(shown, "\n"), printed); err != nil {
					return err.Error() + "\n"
				}
				return "as shown\n"
			}
			d.Fatalf(t, "unknown command %s", d.Cmd)
			return ""
		})
	})
}

func shell(t *testing.T) Shell {
	return Shell{Dir: t.TempDir(), Env: []string{"PATH=/usr/bin:/bin"}, Patience: time.Minute, Pause: time.Millisecond}
}

func TestACommandThatFailsTellsWhatItPrinted(t *testing.T) {
	_, err := shell(t).Run(context.Background(), Step{Command: "echo no room >&2; exit 3"})
	if err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "no room") {
		t.Errorf("error %v, want exit status and text", err)
	}
}

func TestACommandShownAsFailingMustFail(t *testing.T) {
	s := shell(t)
	if _, err := s.Run(context.Background(), Step{Command: "true", Fails: true}); err == nil {
		t.Error("a command that succeeds passes as failing")
	}
	if _, err := s.Run(context.Background(), Step{Command: "echo refused >&2; false", Fails: true, Output: []string{"refused"}}); err != nil {
		t.Error(err)
	}
}

// The command appends a line each time that it runs.
func TestAQuestionIsRepeatedAndACommandIsNot(t *testing.T) {
	s := shell(t)
	s.Env = append(s.Env, "PATH="+s.Dir+":/usr/bin:/bin")
	setUp := Step{Command: `printf '#!/bin/sh\necho x >> runs\ncat runs\n' > kubectl && chmod +x kubectl`}
	if _, err := s.Run(context.Background(), setUp); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(context.Background(), Step{Command: "kubectl get pods", Output: []string{"x", "x", "x"}}); err != nil {
		t.Error(err)
	}
	if _, err := s.Run(context.Background(), Step{Command: "kubectl apply", Output: []string{"x", "x", "x", "x", "x"}}); err == nil {
		t.Error("a command that changes something was run again")
	}
}

func TestPatienceEnds(t *testing.T) {
	s := shell(t)
	s.Patience = 5 * time.Millisecond
	if _, err := s.Run(context.Background(), Step{Command: "kubectl get pods"}); err == nil || !strings.Contains(err.Error(), "still after") {
		t.Errorf("error %v, want one that says how long it was tried", err)
	}
}
