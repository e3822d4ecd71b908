package main

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// The commands of both READMEs work as they stand, in their order, below one another.
// Two things are different here: fleets have two of each machine, and scenarios, which
// take time and have their own tests, are not played.
func TestTheCommandsOfTheREADMEsWork(t *testing.T) {
	for _, c := range []struct {
		file, prefix string
		least        int
	}{
		{"../../../README.md", "go run ./hwsim/cmd/hwsim ", 6},
		{"../../README.md", "hwsim ", 15},
	} {
		t.Run(c.file, func(t *testing.T) {
			text, err := os.ReadFile(c.file)
			if err != nil {
				t.Fatal(err)
			}
			t.Chdir(t.TempDir())
			var commands []string
			eachBlock(string(text), func(info, block string) string {
				if info == "yaml" && strings.HasPrefix(block, "name: my-server") {
					if err := os.WriteFile("my.yaml", []byte(block), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				if info == "" {
					commands = append(commands, commandsOf(block, c.prefix)...)
				}
				return block
			})
			for _, line := range commands {
				args := words(machineCount.ReplaceAllString(line, "$1=2"))
				if i := slices.Index(args, "--scenario"); i >= 0 {
					args = slices.Delete(args, i, i+2)
				}
				var stdout, stderr bytes.Buffer
				if code := run(args, &stdout, &stderr); code != exitOK {
					t.Errorf("%s: exit %d: %s", line, code, stderr.String())
				}
			}
			if len(commands) < c.least {
				t.Errorf("only %d commands: %q", len(commands), commands)
			}
		})
	}
}

var machineCount = regexp.MustCompile(`(--machine [a-z0-9-]+)=[0-9]+`)

// commandsOf are the arguments of a block's commands that begin with the prefix.
func commandsOf(block, prefix string) (commands []string) {
	for line := range strings.Lines(strings.ReplaceAll(block, "\\\n", " ")) {
		if rest, found := strings.CutPrefix(line, prefix); found {
			commands = append(commands, strings.TrimSpace(rest))
		}
	}
	return commands
}

// words splits a line as a shell does that has single quotes and comments only.
func words(line string) []string {
	line, _, _ = strings.Cut(line, " #")
	var args []string
	word, quoted, inside := "", false, false
	for _, r := range strings.TrimSpace(line) + " " {
		switch {
		case r == '\'':
			quoted, inside = !quoted, true
		case unicode.IsSpace(r) && !quoted:
			if inside {
				args = append(args, word)
			}
			word, inside = "", false
		default:
			word, inside = word+string(r), true
		}
	}
	return args
}
