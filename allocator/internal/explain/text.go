package explain

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// columns is the width of a page.
const columns = 100

// Text is a page for a terminal, at most 100 columns wide unless a name is
// longer, without colours. It ends with a line break.
func (e *Explanation) Text() string {
	var p page
	e.write(&p)
	return p.String()
}

func (e *Explanation) write(p *page) {
	switch {
	case e.Fits:
		p.line("", "%s: the claims fit", e.Node)
	case e.Error != "":
		p.line("", "%s: the claims cannot be allocated", e.Node)
		p.line("  ", "error: %s", e.Error)
	default:
		p.line("", "%s: the claims do not fit", e.Node)
	}
	if e.First != nil {
		p.line("  ", "%s", e.Reason())
		for _, detail := range e.First.Binding.details() {
			p.line("    ", "%s", detail)
		}
	}
	if m := e.NearestMiss; m != nil {
		p.line("    ", "nearest miss: %s, %s", m.Device, m.Why)
	}
	for i := range e.Pools {
		p.line("  ", "pool %s", e.Pools[i].text())
	}
	for i := range e.Claims {
		e.Claims[i].write(p)
	}
}

func (t *PoolTrouble) text() string {
	published := fmt.Sprintf("%s published for the node", plural(t.Devices, "device"))
	if t.State == PoolObsolete {
		return fmt.Sprintf("%s: %s, %s", t.Pool, t.Reason, published)
	}
	return fmt.Sprintf("%s is %s: %s, %s", t.Pool, t.State, t.Reason, published)
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// details are the particulars of a cause, a sentence each.
func (b *Binding) details() []string {
	var list []string
	say := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if b.Stage != "" && !b.Together {
		say("%s wanted, %d left %s", plural(b.Wanted, "device"), b.Left, stageTexts[b.Stage].after)
	}
	if len(b.Requests) > 1 {
		say("not together: requests %s", enumerated(b.Requests, b.MoreRequests))
	} else if b.Together {
		say("%s wanted; one by one %d would do, not together", plural(b.Wanted, "device"), b.Left)
	}
	b.particulars(say)
	for _, cause := range b.With {
		say("and then there is another cause: %s", cause)
	}
	return list
}

func (b *Binding) particulars(say func(format string, args ...any)) {
	if b.Pool != nil && b.Devices > 0 {
		say("pool %s is %s; %s of it would match", b.Pool.Pool, b.Pool.State, plural(b.Devices, "device"))
	} else if b.Pool != nil {
		say("pool %s is %s", b.Pool.Pool, b.Pool.State)
	}
	if b.Feature != "" {
		say("feature gate %s is off", b.Feature)
	}
	if b.Class != "" && b.Cause == NoClass {
		say("device class %s does not exist", b.Class)
	}
	if s := b.Selector; s != nil {
		say("%s: %s", selectorName(*s), s.Expression)
	}
	for _, t := range b.Taints {
		say("%s tainted with %s", plural(t.Devices, "device"), t.Taint)
	}
	if b.MoreTaints > 0 {
		say("and %s", plural(b.MoreTaints, "more taint"))
	}
	if b.Cause == InUse {
		say("%s in use", plural(b.Devices, "device"))
	}
	if b.Capacity != nil {
		say("%s", b.Capacity.text())
	}
	for _, c := range b.Counters {
		say("%s", c.text())
	}
	if b.MoreCounters > 0 {
		say("and %s", plural(b.MoreCounters, "more counter"))
	}
	if g := b.Groups; g != nil {
		say("counter set %s of pool %s: %s not shared by all", g.CounterSet, g.Pool, groupNames(g.Groups, g.MoreGroups))
	}
	if c := b.Constraint; c != nil {
		say("%s", c.text())
	}
	if b.Limit > 0 {
		say("a claim can hold %s", plural(b.Limit, "device"))
	}
	if m := b.Member; m != nil {
		say("not available: %s, %s", m.Device, m.Why)
	}
}

func (c *CounterShortage) text() string {
	text := fmt.Sprintf("counter %s of set %s in pool %s: ", c.Counter, c.CounterSet, c.Pool)
	if c.Needed != "" {
		return text + fmt.Sprintf("%s needed, %s left, keeps %s away", c.Needed, c.Left, plural(c.Devices, "device"))
	}
	return text + c.Left + " left"
}

func (c *ConstraintShortage) text() string {
	kind := "matchAttribute"
	common := fmt.Sprintf("at most %s with a value in common", plural(c.Largest, "device"))
	if c.Several {
		common = "no value with devices enough for all requests"
	}
	if c.Distinct {
		kind = "distinctAttribute"
		common = plural(c.Largest, "different value")
		if c.Several {
			common = "too few different values for all requests"
		}
	}
	text := fmt.Sprintf("constraint #%d, %s %s: %s", c.Index, kind, c.Attribute, common)
	if c.Lacking > 0 {
		text += fmt.Sprintf(", %s without a value", plural(c.Lacking, "device"))
	}
	return text
}

// stageTexts has the stages in words: as a line of the table, and after "left".
var stageTexts = map[Stage]struct{ row, after string }{
	StagePools:      {"in the pools", "in the pools"},
	StageSupported:  {"supported", "that the cluster's features support"},
	StageClass:      {"of the class", "of the class"},
	StageSelectors:  {"selected", "after the selectors"},
	StageNode:       {"on the node", "for the node"},
	StageUntainted:  {"not tainted", "without taints"},
	StageFree:       {"free", "free"},
	StageCapacity:   {"with capacity", "with enough capacity"},
	StageCounters:   {"with counters", "with enough counters"},
	StageCompatible: {"compatible", "that are compatible"},
	StageConstraint: {"under constraints", "under the constraints"},
}

// write draws the table of one claim: a line for each stage, a column for each
// alternative, as many tables below each other as the width of the page demands.
func (c *ClaimFunnel) write(p *page) {
	const label = 20
	var group []*Funnel
	width := label
	flush := func() {
		if len(group) > 0 {
			p.blank()
			c.table(p, group, label)
		}
		group, width = nil, label
	}
	for i := range c.Requests {
		for j := range c.Requests[i].Alternatives {
			f := &c.Requests[i].Alternatives[j]
			if width += 2 + f.width(); width > columns {
				flush()
				width += 2 + f.width()
			}
			group = append(group, f)
		}
	}
	flush()
}

func (c *ClaimFunnel) table(p *page, group []*Funnel, label int) {
	p.line("", "claim %s", c.Claim)
	row := func(name string, cell func(*Funnel) string) {
		line := fmt.Sprintf("%-*s", label, "  "+name)
		for _, f := range group {
			line += fmt.Sprintf("  %*s", f.width(), cell(f))
		}
		p.raw(strings.TrimRight(line, " "))
	}
	row("request", func(f *Funnel) string { return f.head() })
	row("wanted", func(f *Funnel) string { return f.want() })
	for i, stage := range stageOrder {
		row(stageTexts[stage].row, func(f *Funnel) string { return f.cell(i) })
	}
}

// maxHead is the width from which on a request's name is cut.
const maxHead = 30

func (f *Funnel) head() string {
	if utf8.RuneCountInString(f.Name) > maxHead {
		return string([]rune(f.Name)[:maxHead-3]) + "..."
	}
	return f.Name
}

func (f *Funnel) want() string {
	switch {
	case len(f.Stages) == 0:
		return "-"
	case f.All:
		return fmt.Sprintf("all %d", f.Wanted)
	}
	return strconv.Itoa(f.Wanted)
}

// cell is the number of devices left, marked where the alternative fails alone.
func (f *Funnel) cell(stage int) string {
	if stage >= len(f.Stages) {
		return "-"
	}
	s := f.Stages[stage]
	text := strconv.Itoa(s.Left)
	if s.Faults > 0 {
		text = fmt.Sprintf("(%s) %s", plural(s.Faults, "fault"), text)
	}
	if f.Binding != nil && f.Binding.Stage == s.Stage {
		text = "> " + text
	}
	return text
}

func (f *Funnel) width() int {
	width := max(utf8.RuneCountInString(f.head()), len(f.want()))
	for i := range f.Stages {
		width = max(width, len(f.cell(i)))
	}
	return width
}

// Text is a page for a terminal: the groups, and then each group's example.
func (c *ClusterExplanation) Text() string {
	var p page
	for _, g := range c.Groups {
		reason := g.Reason
		if reason == "" {
			reason = "the claims fit"
		}
		more := ""
		if g.Nodes > len(g.Examples) {
			more = ", ..."
		}
		p.line("", "%s (%s%s): %s", plural(g.Nodes, "node"), strings.Join(g.Examples, ", "), more, reason)
	}
	for _, g := range c.Groups {
		p.blank()
		g.Explanation.write(&p)
	}
	return p.String()
}

// page is text broken into lines.
type page struct{ strings.Builder }

// raw writes a line. Expressions and texts of errors are whatever somebody wrote:
// what could steer the terminal becomes a question mark.
func (p *page) raw(line string) { p.WriteString(strings.Map(printable, line) + "\n") }

func printable(r rune) rune {
	if !unicode.IsPrint(r) {
		return '?'
	}
	return r
}

func (p *page) blank() { p.WriteByte('\n') }

// line writes a sentence. What does not fit on the line goes onto lines that are
// indented deeper.
func (p *page) line(indent, format string, args ...any) {
	line := indent
	for i, word := range strings.Fields(fmt.Sprintf(format, args...)) {
		if i > 0 && len(line)+1+len(word) > columns {
			p.raw(line)
			line = indent + "  " + word
			continue
		}
		if i > 0 {
			line += " "
		}
		line += word
	}
	p.raw(line)
}
