package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const guide = "../../../docs/hwsim.md"

// The guide's commands do what it says. A block of "console" has commands after "$ "
// and what they print; the line "..." stands for any lines, and times are not
// compared. A block of "yaml NAME" is a file. They come in their order and share a
// directory. With -rewrite, output that is another is written into the guide; lines
// that were left out are then there, to be left out again.
func TestTheCommandsOfTheGuideDoWhatItSays(t *testing.T) {
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	path, err := filepath.Abs(guide)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	commands := 0
	after := eachBlock(string(text), func(info, block string) string {
		if name, isFile := strings.CutPrefix(info, "yaml "); isFile {
			if err := os.WriteFile(name, []byte(block), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if info != "console" {
			return block
		}
		var did strings.Builder
		for _, part := range strings.SplitAfter("\n"+block, "\n$ ")[1:] {
			part = strings.TrimSuffix(part, "\n$ ")
			command, want, _ := strings.Cut(strings.TrimSuffix(part, "\n")+"\n", "\n")
			got := runLine(t, command)
			if !printsAs(want, got) {
				t.Errorf("$ %s\nprints\n%s\nand the guide says\n%s", command, got, want)
				want = got
			}
			did.WriteString("$ " + command + "\n" + want)
			commands++
		}
		return did.String()
	})
	if commands < 20 {
		t.Errorf("the guide has only %d commands", commands)
	}
	if rewrite := flag.Lookup("rewrite"); rewrite != nil && rewrite.Value.String() == "true" && after != string(text) {
		if err := os.WriteFile(path, []byte(after), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// eachBlock replaces the fenced blocks of a document.
func eachBlock(text string, replace func(info, block string) string) string {
	const fence = "```"
	var out strings.Builder
	info, block, inside := "", "", false
	for line := range strings.Lines(text) {
		rest, isFence := strings.CutPrefix(line, fence)
		switch {
		case isFence && !inside:
			info, block, inside = strings.TrimSpace(rest), "", true
			out.WriteString(line)
		case isFence:
			out.WriteString(replace(info, block) + line)
			inside = false
		case inside:
			block += line
		default:
			out.WriteString(line)
		}
	}
	return out.String()
}

// runLine is what a terminal shows of a command.
func runLine(t *testing.T, line string) string {
	t.Helper()
	args := words(line)
	if len(args) == 0 || args[0] != "hwsim" {
		t.Fatalf("not a command of hwsim: %s", line)
	}
	var out bytes.Buffer
	run(args[1:], &out, &out)
	return out.String()
}

// printsAs says whether a text is as it is wanted, times apart.
func printsAs(want, got string) bool {
	const left = "...\n"
	want, got = clockTime.ReplaceAllString(want, "HH:MM:SS"), clockTime.ReplaceAllString(got, "HH:MM:SS")
	parts := strings.Split("\n"+want, "\n"+left)
	for i, part := range parts {
		if part != "" && i < len(parts)-1 {
			part += "\n"
		}
		parts[i] = strings.TrimPrefix(part, "\n")
	}
	rest, found := strings.CutPrefix(got, parts[0])
	for _, part := range parts[1:] {
		if !found {
			return false
		}
		_, rest, found = strings.Cut("\n"+rest, "\n"+part)
		if part == "" { // it is the end, or nothing is between two gaps
			rest, found = "", true
		}
	}
	return found && rest == ""
}

func TestOutputIsComparedWithWhatIsLeftOut(t *testing.T) {
	for _, c := range []struct {
		want, got string
		same      bool
	}{
		{"a\nb\n", "a\nb\n", true},
		{"a\nb\n", "a\n", false},
		{"a\n", "a\nb\n", false},
		{"", "", true},
		{"", "a\n", false},
		{"a\n...\nd\n", "a\nb\nc\nd\n", true},
		{"a\n...\nd\n", "a\nd\n", true},
		{"a\n...\nd\n", "a\nb\nxd\n", false},
		{"a\n...\nd\n", "a\nd\ne\n", false},
		{"a\n...\n", "a\nb\n", true},
		{"a\n...\n", "b\na\n", false},
		{"...\nb\n...\n", "a\nb\nc\n", true},
		{"...\nb\n...\n", "a\nc\n", false},
		{"...\nb\n...\nd\n...\n", "a\nb\nc\nd\ne\n", true},
		{"...\nd\n...\nb\n...\n", "a\nb\nc\nd\ne\n", false},
		{"at 01:02:03 x\n", "at 11:12:13 x\n", true},
	} {
		if same := printsAs(c.want, c.got); same != c.same {
			t.Errorf("%q for %q: %v", c.got, c.want, same)
		}
	}
}
