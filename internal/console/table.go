package console

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// gap separates columns.
const gap = "  "

// Column is the head of a table's column.
type Column struct {
	Title string
	right bool
}

// Left returns a column of words.
func Left(title string) Column { return Column{Title: title} }

// Right returns a column of numbers, aligned at their right.
func Right(title string) Column { return Column{Title: title, right: true} }

// Table is text in aligned columns. Cells may be coloured. A row may be shorter than Columns;
// further cells are kept, as words.
type Table struct {
	Columns []Column
	Rows    [][]string
}

// Lines returns the table's lines without line breaks or trailing spaces: the
// titles, unless all are empty, then the rows.
func (t Table) Lines() []string {
	lines, _ := t.layout(nil)
	return lines
}

// layout returns the lines with columns at least as wide as minimum, and the widths of the columns.
func (t Table) layout(minimum []int) (lines []string, widths []int) {
	titles := make([]string, len(t.Columns))
	titled := false
	for i, c := range t.Columns {
		titles[i] = c.Title
		titled = titled || c.Title != ""
	}
	rows := t.Rows
	if titled {
		rows = append([][]string{titles}, rows...)
	}
	widths = slices.Clone(minimum)
	for _, row := range rows {
		for i, text := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], Width(clean(text)))
		}
	}
	lines = make([]string, len(rows))
	for n, row := range rows {
		cells := make([]string, len(row))
		for i, text := range row {
			right := i < len(t.Columns) && t.Columns[i].right
			cells[i] = pad(clean(text), widths[i], right)
		}
		lines[n] = strings.TrimRight(strings.Join(cells, gap), " ")
	}
	return lines, widths
}

// Write writes the table, a line break after each line.
func (t Table) Write(w io.Writer) error {
	lines := t.Lines()
	if len(lines) == 0 {
		return nil
	}
	if _, err := io.WriteString(w, strings.Join(lines, "\n")+"\n"); err != nil {
		return fmt.Errorf("writing a table: %w", err)
	}
	return nil
}
