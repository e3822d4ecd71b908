package stream_test

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/dray-dev/dray/tools/stream"
)

func TestTheReaderGetsTheOutputAndStderrPasses(t *testing.T) {
	var said strings.Builder
	var read []byte
	readErr, err := stream.Command("sh", []string{"-c", "echo out; echo aside >&2"}, &said, func(output io.Reader) (err error) {
		read, err = io.ReadAll(output)
		return err
	})
	if readErr != nil || err != nil || string(read) != "out\n" || said.String() != "aside\n" {
		t.Errorf("read %q, passed %q; %v, %v", read, said.String(), readErr, err)
	}
}

// A command that has more to say than is read ends all the same.
func TestAReaderThatGivesUpDoesNotHoldTheCommand(t *testing.T) {
	enough := errors.New("enough")
	readErr, err := stream.Command("sh", []string{"-c", "i=0; while [ $i -lt 20000 ]; do echo a line of output; i=$((i+1)); done; exit 3"}, io.Discard,
		func(io.Reader) error { return enough })
	var exit *exec.ExitError
	if readErr != enough || !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("%v, %v", readErr, err)
	}
}

func TestTheExitCodeIsTheCommandsAndItsFailureIsNotReportedTwice(t *testing.T) {
	_, failed := stream.Command("sh", []string{"-c", "exit 3"}, io.Discard, func(io.Reader) error { return nil })
	_, missing := stream.Command("no-such-command-anywhere", nil, io.Discard, func(io.Reader) error { return nil })
	for _, test := range []struct {
		err  error
		code int
		says string
	}{
		{nil, 0, ""},
		{failed, 3, ""},
		{fmt.Errorf("go test: %w", failed), 3, "tool: go test: "},
		{errors.New("nothing there"), 1, "tool: nothing there\n"},
		{missing, 1, "tool: start no-such-command-anywhere: "},
	} {
		var said strings.Builder
		if code := stream.Code("tool", test.err, &said); code != test.code || !strings.HasPrefix(said.String(), test.says) || test.says == "" && said.Len() > 0 {
			t.Errorf("%v: code %d, said %q, want %d %q", test.err, code, said.String(), test.code, test.says)
		}
	}
}
