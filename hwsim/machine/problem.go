package machine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ErrNotFound is matched by the error of a machine that is not embedded.
var ErrNotFound = errors.New("no such machine")

// maxProblems bounds how many problems of one file are kept.
const maxProblems = 50

// FileError is what is wrong with a machine file.
type FileError struct {
	// File is its name, as the caller gave it.
	File string
	// Problems by line; at least one.
	Problems []Problem
	// Omitted counts the problems beyond those.
	Omitted int
}

// Problem is one thing that is wrong with a file.
type Problem struct {
	// Line and Column count from 1. They are those of the field, or of the closest
	// one around it that is in the file.
	Line, Column int
	// Field is the path of the field, "roots[0].functions[1].address"; empty for
	// the file as a whole.
	Field   string
	Message string
}

// Error has a line per problem, "file:line:column: field: message".
func (e *FileError) Error() string {
	var lines []string
	for _, p := range e.Problems {
		line := fmt.Sprintf("%s:%d:%d: ", e.File, p.Line, p.Column)
		if p.Field != "" {
			line += p.Field + ": "
		}
		lines = append(lines, line+p.Message)
	}
	if e.Omitted > 0 {
		lines = append(lines, fmt.Sprintf("%s: and %d more", e.File, e.Omitted))
	}
	return strings.Join(lines, "\n")
}

// problems collects what is wrong with one file, and knows where its fields are.
type problems struct {
	file string
	// kind of file, for messages: "machine".
	kind string
	// needs says what an empty file lacks.
	needs   string
	places  map[string]place
	list    []Problem
	omitted int
}

// place is where a field begins.
type place struct{ line, column int }

// add records a problem of the field at the path.
func (p *problems) add(path, format string, args ...any) {
	p.addAt(p.place(path), path, fmt.Sprintf(format, args...))
}

func (p *problems) addAt(at place, path, message string) {
	if len(p.list) == maxProblems {
		p.omitted++
		return
	}
	p.list = append(p.list, Problem{at.line, at.column, shorten(path), shorten(message)})
}

// maxMessage bounds what is said of one problem, which may quote the file.
const maxMessage = 1000

// shorten cuts out the middle of a text that is too long: what is wrong stands at
// its ends.
func shorten(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	return strings.ToValidUTF8(text[:maxMessage/2], "") + "…" + strings.ToValidUTF8(text[len(text)-maxMessage/2:], "")
}

// place finds the field, or the closest one around it that the file has.
func (p *problems) place(path string) place {
	for {
		if at, ok := p.places[path]; ok {
			return at
		}
		end := strings.LastIndexAny(path, ".[")
		if end < 0 {
			return place{1, 1}
		}
		path = path[:end]
	}
}

// line is that of a field, for messages that name a second place.
func (p *problems) line(path string) int { return p.place(path).line }

func (p *problems) err() error {
	if len(p.list) == 0 {
		return nil
	}
	slices.SortStableFunc(p.list, func(x, y Problem) int {
		return cmp.Or(cmp.Compare(x.Line, y.Line), cmp.Compare(x.Column, y.Column))
	})
	return &FileError{File: p.file, Problems: p.list, Omitted: p.omitted}
}

// index is the path of an element.
func index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// field is the path of a field; the path of the file itself is empty.
func field(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
