package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cockroachdb/datadriven"

	"github.com/dray-dev/dray/hwsim/machine"
)

// clockTime is what differs between two runs.
var clockTime = regexp.MustCompile(`\b[0-9]{2}:[0-9]{2}:[0-9]{2}\b`)

// The cases run commands as a shell would: "run" with the arguments in the input,
// a line each, and "file" writes one. Both work in a directory of the case file's
// own, which is DIR in its texts.
func TestCommands(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		dir := t.TempDir()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "file":
				if err := os.WriteFile(filepath.Join(dir, d.CmdArgs[0].Key), []byte(d.Input+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				return ""
			case "run":
				args := strings.Fields(strings.ReplaceAll(d.Input, "DIR", dir))
				var stdout, stderr bytes.Buffer
				code := run(args, &stdout, &stderr)
				out := stdout.String()
				if stderr.Len() > 0 {
					out += "stderr:\n" + stderr.String()
				}
				if code != exitOK {
					out += fmt.Sprintf("exit %d\n", code)
				}
				return clockTime.ReplaceAllString(strings.ReplaceAll(out, dir, "DIR"), "HH:MM:SS")
			}
			t.Fatalf("%s: unknown command %s", d.Pos, d.Cmd)
			return ""
		})
	})
}

// output runs a command that must succeed without a word on the standard error.
func output(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := run(args, &stdout, &stderr); code != exitOK || stderr.Len() > 0 {
		t.Fatalf("hwsim %s: exit %d\n%s", strings.Join(args, " "), code, stderr.String())
	}
	return stdout.String()
}

func TestTextsFitATerminal(t *testing.T) {
	commands := [][]string{{"machines"}, {"--help"}}
	for _, name := range []string{"machines", "run", "state", "reboot", "reset", "inject", "mig", "write"} {
		commands = append(commands, []string{name, "--help"})
	}
	for _, name := range []string{"on", "off", "profiles", "create", "destroy"} {
		commands = append(commands, []string{"mig", name, "--help"})
	}
	for _, name := range machine.Names() {
		commands = append(commands, []string{"machines", name})
	}
	for _, args := range commands {
		for line := range strings.SplitSeq(output(t, args...), "\n") {
			if n := utf8.RuneCountInString(line); n > width {
				t.Errorf("hwsim %s: a line has %d characters:\n%s", strings.Join(args, " "), n, line)
			}
		}
	}
}

func TestPrintedFilesPrintTheSameAgain(t *testing.T) {
	for _, name := range machine.Names() {
		for _, form := range []string{"yaml", "json"} {
			text := output(t, "machines", name, "-o", form)
			file := filepath.Join(t.TempDir(), "my."+form)
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if again := output(t, "machines", "--file", file, name, "-o", form); again != text {
				t.Errorf("%s as %s prints another file when it is read again", name, form)
			}
			if described := output(t, "machines", "--file", file); described != output(t, "machines", name) {
				t.Errorf("%s as %s is described in another way when it is read again", name, form)
			}
		}
	}
}
