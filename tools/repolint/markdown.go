package repolint

import (
	"path"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// document is what the checks need of one Markdown file.
type document struct {
	links   []markdownLink
	anchors map[string]bool // of the headings, as code hosts derive them
	code    []codeLine      // code spans, and the lines of code blocks
	samples []codeLine      // code blocks in Go, each whole
	html    []int           // lines where raw HTML carries a link or an anchor
}

type markdownLink struct {
	target string
	line   int // of the block that holds the link
}

// codeLine is code and the line where it begins.
type codeLine struct {
	text string
	line int
}

// documents parses every Markdown file of the tree.
func documents(tree Tree) map[string]document {
	parsed := map[string]document{}
	for _, name := range tree.paths(isMarkdown) {
		parsed[name] = readMarkdown(tree[name])
	}
	return parsed
}

// isMarkdown leaves test data out: it is input, broken on purpose or not.
func isMarkdown(name string) bool { return path.Ext(name) == ".md" && !outsideBuild(name) }

func readMarkdown(content string) document {
	source := []byte(content)
	reader := markdownReader{
		source:   source,
		document: document{anchors: map[string]bool{}},
	}
	root := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(source))
	// The walk itself cannot fail: visit returns no error.
	_ = ast.Walk(root, reader.visit)
	return reader.document
}

// markdownReader collects a document while it walks the syntax tree.
type markdownReader struct {
	document
	source []byte
	line   int // where the block that is being walked begins
}

func (r *markdownReader) visit(node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	if node.Type() == ast.TypeBlock && node.Lines().Len() > 0 {
		r.line = lineAt(string(r.source), node.Lines().At(0).Start)
	}
	switch node := node.(type) {
	case *ast.Heading:
		r.addAnchor(plainText(node, r.source))
	case *ast.Link:
		r.links = append(r.links, markdownLink{string(node.Destination), r.line})
	case *ast.Image:
		r.links = append(r.links, markdownLink{string(node.Destination), r.line})
	case *ast.CodeSpan:
		r.code = append(r.code, codeLine{plainText(node, r.source), r.line})
	case *ast.FencedCodeBlock:
		if string(node.Language(r.source)) == "go" {
			r.samples = append(r.samples, codeLine{string(node.Lines().Value(r.source)), r.line})
		} else {
			r.addCode(node.Lines())
		}
	case *ast.CodeBlock:
		r.addCode(node.Lines())
	case *ast.HTMLBlock:
		r.addHTML(string(node.Lines().Value(r.source)))
	case *ast.RawHTML:
		r.addHTML(string(node.Segments.Value(r.source)))
	}
	return ast.WalkContinue, nil
}

func (r *markdownReader) addCode(lines *text.Segments) {
	for i := range lines.Len() {
		line := lines.At(i)
		r.code = append(r.code, codeLine{string(line.Value(r.source)), lineAt(string(r.source), line.Start)})
	}
}

// addAnchor derives the anchor of a heading: lower case, letters, digits,
// hyphens and underscores kept, spaces to hyphens, and a number on a repetition.
func (r *markdownReader) addAnchor(heading string) {
	anchor := strings.Map(func(c rune) rune {
		switch {
		case c == ' ':
			return '-'
		case c == '-' || c == '_' || unicode.IsLetter(c) || unicode.IsDigit(c):
			return unicode.ToLower(c)
		}
		return -1
	}, heading)
	unique := anchor
	for n := 1; r.anchors[unique]; n++ {
		unique = anchor + "-" + strconv.Itoa(n)
	}
	r.anchors[unique] = true
}

func (r *markdownReader) addHTML(html string) {
	for _, attribute := range []string{"href=", "src=", "name=", "id="} {
		if strings.Contains(html, attribute) {
			r.html = append(r.html, r.line)
			return
		}
	}
}

// plainText joins the text of a node's descendants.
func plainText(node ast.Node, source []byte) string {
	var joined strings.Builder
	for child := node.FirstChild(); child != nil; child = child.NextSibling() {
		switch child := child.(type) {
		case *ast.Text:
			joined.Write(child.Value(source))
			if child.SoftLineBreak() {
				joined.WriteByte(' ')
			}
		case *ast.String:
			joined.Write(child.Value)
		default:
			joined.WriteString(plainText(child, source))
		}
	}
	return joined.String()
}
