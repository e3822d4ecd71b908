package console

import (
	"bufio"
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

// A Step is a command of a document and what it prints.
type Step struct {
	// Line of the command in its document, from 1.
	Line int
	// Command for sh, continued lines joined.
	Command string
	// Output are the lines that are shown below it; nil if it may print anything.
	Output []string
	// Fails says that the command must end with an exit code other than 0.
	Fails bool
}

const (
	fence        = "```"
	language     = "console"
	prompt       = "$ "
	failing      = "! "
	continuation = `\`
)

// Parse returns the steps of a Markdown document's console blocks, in their order.
// Its errors name file and line.
func Parse(file string, document []byte) ([]Step, error) {
	p := parser{file: file}
	lines := bufio.NewScanner(bytes.NewReader(document))
	for lines.Scan() {
		if err := p.line(lines.Text()); err != nil {
			return nil, err
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if p.inside != "" {
		return nil, fmt.Errorf("%s:%d: the block that begins here has no end: add a line %s", file, p.began, p.inside)
	}
	return p.steps, nil
}

type parser struct {
	file   string
	number int
	// inside is what ends the block that the line is in; empty outside of blocks.
	inside string
	began  int
	// reads says that the block is a console block, continues that its last command
	// goes on.
	reads, continues bool
	steps            []Step
}

// A fence of a list's item is indented as the item's text is.
var opening = regexp.MustCompile("^\\s*(`{3,}|~{3,})\\s*([a-z]*)")

func (p *parser) line(text string) error {
	p.number++
	if p.inside == "" {
		if found := opening.FindStringSubmatch(text); found != nil {
			p.inside, p.reads, p.began = found[1], found[2] == language, p.number
			p.continues = false
		}
		return nil
	}
	switch trimmed := strings.TrimSpace(text); {
	case trimmed == p.inside:
		if p.continues {
			return fmt.Errorf("%s:%d: the command above ends with %s, and the block ends here", p.file, p.number, continuation)
		}
		p.inside = ""
	case !p.reads:
	case p.continues:
		p.command(trimmed, len(p.steps)-1)
	case strings.HasPrefix(trimmed, prompt):
		p.steps = append(p.steps, Step{Line: p.number})
		command := strings.TrimPrefix(trimmed, prompt)
		p.steps[len(p.steps)-1].Fails = strings.HasPrefix(command, failing)
		p.command(strings.TrimPrefix(command, failing), len(p.steps)-1)
	default:
		if len(p.steps) == 0 || p.steps[len(p.steps)-1].Line < p.began {
			return fmt.Errorf("%s:%d: this line is printed by no command: a command begins with %q", p.file, p.number, prompt)
		}
		last := &p.steps[len(p.steps)-1]
		// A blank line that sets commands apart is not output.
		if last.Output != nil || trimmed != "" {
			last.Output = append(last.Output, text)
		}
	}
	return nil
}

func (p *parser) command(text string, step int) {
	text, p.continues = strings.CutSuffix(text, continuation)
	if at := &p.steps[step].Command; *at == "" {
		*at = strings.TrimSpace(text)
	} else {
		*at += " " + strings.TrimSpace(text)
	}
}

// questions are the beginnings of commands that change nothing.
var questions = regexp.MustCompile(`^(kubectl (get|describe|logs|events|exec|auth|explain|version|api-resources)|dray explain|curl|dray-local (status|logs|explain|kubeconfig)|hwsim (machines|state))\b`)

// Asks says whether the command changes nothing, so that it can be repeated.
func (s Step) Asks() bool { return questions.MatchString(s.Command) }
