package machine

import "fmt"

// Document is a file of another kind that has been read as machine files are:
// strictly, with the place of every field.
type Document struct{ problems *problems }

// Decode fills the struct that v points to from a YAML document, by its json tags.
// The kind of file stands in messages ("scenario"), and needs is what an empty file
// lacks ("a scenario needs steps"). What is wrong is in the Document: its Err is a
// *FileError.
func Decode(file, kind, needs string, text []byte, v any) *Document {
	p := &problems{file: file, kind: kind, needs: needs, places: map[string]place{}}
	p.decode(text, v)
	return &Document{p}
}

// Add records a problem of the field at a path, such as "steps[2].xid.gpu"; of one
// that the file does not have, at the place of the closest field around it.
func (d *Document) Add(path, format string, args ...any) { d.problems.add(path, format, args...) }

// Err is nil for a file without problems, or a *FileError with all of them by line.
func (d *Document) Err() error { return d.problems.err() }

// Place is where a field stands, as "file:line:column".
func (d *Document) Place(path string) string {
	at := d.problems.place(path)
	return fmt.Sprintf("%s:%d:%d", d.problems.file, at.line, at.column)
}

// Clean is the document without its problems.
func (d *Document) Clean() *Document {
	p := *d.problems
	p.list, p.omitted = nil, 0
	return &Document{&p}
}
