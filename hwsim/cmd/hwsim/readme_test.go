package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// The commands that the README has for folders work in their order, below one another.
func TestTheCommandsOfTheREADMEWork(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var block string
	for _, heading := range []string{"What a driver reads", "Machines that run"} {
		_, rest, _ := strings.Cut(string(text), "\n## "+heading+"\n")
		_, rest, _ = strings.Cut(rest, "\n```\n")
		commands, _, found := strings.Cut(rest, "```\n")
		if !found {
			t.Fatalf("the README has no commands below %q", heading)
		}
		block += commands
	}
	t.Chdir(t.TempDir())
	n := 0
	for line := range strings.Lines(block) {
		args := words(line)
		if len(args) == 0 || args[0] != "hwsim" {
			t.Fatalf("not a command: %s", line)
		}
		if args[len(args)-1] == "--until-done" && strings.Contains(line, "--scenario") {
			args = args[:len(args)-3] // scenarios have times, and their own tests
			args = append(args, "--until-done")
		}
		var stdout, stderr bytes.Buffer
		if code := run(args[1:], &stdout, &stderr); code != exitOK {
			t.Errorf("%sexit %d: %s", line, code, stderr.String())
		}
		n++
	}
	if n < 5 {
		t.Errorf("only %d commands", n)
	}
}

// words splits a line as a shell does that has quotes and comments only.
func words(line string) []string {
	line, _, _ = strings.Cut(line, " #")
	var args []string
	for i, part := range strings.Split(strings.TrimSpace(line), "'") {
		if i%2 == 1 {
			args = append(args, part)
		} else {
			args = append(args, strings.Fields(part)...)
		}
	}
	return args
}
