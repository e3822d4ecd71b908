package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// columns lays text out: the first column to the left, the others to the right.
type columns struct {
	gap  int
	rows [][]string
}

func (c *columns) add(cells ...string) { c.rows = append(c.rows, cells) }

// write pads every column to its widest cell.
func (c *columns) write(w io.Writer) error {
	var widths []int
	for _, row := range c.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range c.rows {
		var line strings.Builder
		for i, cell := range row {
			padding := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			switch i {
			case 0:
				line.WriteString(cell + padding)
			default:
				line.WriteString(strings.Repeat(" ", c.gap) + padding + cell)
			}
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(line.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}
