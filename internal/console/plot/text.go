package plot

import (
	"math"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/console"
)

const (
	// leastWidth is the narrowest plot; labels of 12 cells leave 20 for the lines.
	leastWidth = 40
	// rows is the number of lines of text in a panel without title and axis: a plot of two panels
	// fits a window of 30 lines.
	rows = 10
	// longestLabel is the largest width of a label at the right, in cells.
	longestLabel = 16
)

// Lines returns the plot as lines of text of at most width cells, or 40 if that is more. Where a
// panel has limits, paint colours rows above the lowest limit as bad, its own row as a warning and
// rows below as good. The error names the part that cannot be drawn.
func (p Plot) Lines(width int, paint console.Paint) ([]string, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	t := text{plot: p, paint: paint}
	t.layout(max(width, leastWidth))
	lines := t.heading(max(width, leastWidth))
	for i := range p.Panels {
		lines = append(lines, t.panel(i)...)
	}
	lines = append(lines, t.ticks(), console.Truncate(t.indent(p.X), max(width, leastWidth)))
	return lines, nil
}

// text is a plot while it becomes lines of text.
type text struct {
	plot  Plot
	paint console.Paint
	x     scale
	y     []scale // of the panels
	left  int     // cells left of the axis
	cells int     // between the axis and the labels
	right int     // cells of the labels, with their gap
}

// layout divides width between labels and lines.
func (t *text) layout(width int) {
	for _, panel := range t.plot.Panels {
		y := panel.y(rows / 2)
		t.y = append(t.y, y)
		for _, k := range y.ticks {
			t.left = max(t.left, console.Width(k.text))
		}
		for _, l := range panel.labels(y) {
			t.right = max(t.right, min(console.Width(l.text), longestLabel)+1)
		}
	}
	t.left++
	t.cells = width - t.left - 1 - t.right
	t.x = t.plot.x(max(2, t.cells/10))
}

func (t *text) indent(s string) string { return strings.Repeat(" ", t.left+1) + s }

// heading returns the title and the labels of the marks.
func (t *text) heading(width int) []string {
	var lines []string
	if t.plot.Title != "" {
		lines = append(lines, console.Truncate(t.paint.Strong(t.plot.Title), width))
	}
	for _, m := range t.plot.Marks {
		label := console.Truncate(m.Label, t.cells-2)
		at := t.column(m.At)
		if at+2+console.Width(label) <= t.cells {
			label = strings.Repeat(" ", at) + "╷ " + label
		} else {
			label = strings.Repeat(" ", max(0, at-1-console.Width(label))) + label + " ╷"
		}
		lines = append(lines, t.indent(label))
	}
	return lines
}

// column returns the cell of a value of x.
func (t *text) column(x float64) int {
	return min(int(t.x.share(x)*float64(t.cells)), t.cells-1)
}

// dot returns the row of dots of a share of a y axis, from the top.
func dot(share float64) int {
	return min(max(int(math.Round((1-share)*(4*rows-1))), 0), 4*rows-1)
}

// row returns the line of text of a share of a y axis, from the top.
func row(share float64) int { return dot(share) / 4 }

// panel returns the title, the rows and the axis of one panel.
func (t *text) panel(i int) []string {
	panel, y := t.plot.Panels[i], t.y[i]
	c := newCanvas(t.cells)
	for _, line := range panel.Lines {
		c.draw(line, t.x, y)
	}
	for _, at := range panel.Dots.Points {
		c.over[row(y.share(at.Y))][t.column(at.X)] = '●'
	}
	for _, m := range panel.Limits {
		c.across(row(y.share(m.At)))
	}
	for _, m := range t.plot.Marks {
		c.down(t.column(m.At))
	}
	var axis, beside [rows]string
	for _, k := range y.ticks {
		axis[row(y.share(k.at))] = k.text
	}
	labels := panel.labels(y)
	places := make([]float64, len(labels))
	for n, l := range labels {
		places[n] = float64(rows - 1 - row(l.at))
	}
	for n, place := range spread(places, 1, rows-1) {
		if place >= 0 { // more labels than rows are left out
			beside[rows-1-int(place)] = console.Truncate(labels[n].text, t.right-1)
		}
	}
	lines := []string{t.indent(panel.title(y))}
	for r := range rows {
		edge := "│"
		if axis[r] != "" {
			edge = "┤"
		}
		number := strings.Repeat(" ", t.left-1-console.Width(axis[r])) + axis[r] + " "
		lines = append(lines, strings.TrimRight(number+edge+t.colour(c, r, panel, y)+" "+beside[r], " "))
	}
	return append(lines, strings.Repeat(" ", t.left)+"└"+t.axis())
}

// colour returns row r of a canvas: good below the lowest limit, a warning at it and bad above.
func (t *text) colour(c canvas, r int, panel Panel, y scale) string {
	content := c.line(r)
	if len(panel.Limits) == 0 {
		return content
	}
	lowest := rows
	for _, m := range panel.Limits {
		if at := row(y.share(m.At)); lowest == rows || at > lowest {
			lowest = at
		}
	}
	switch {
	case r < lowest:
		return t.paint.Bad(content)
	case r == lowest:
		return t.paint.Warn(content)
	}
	return t.paint.Good(content)
}

// axis returns the line below a panel.
func (t *text) axis() string {
	line := []rune(strings.Repeat("─", t.cells))
	for _, k := range t.x.ticks {
		line[t.column(k.at)] = '┬'
	}
	return string(line)
}

// ticks returns the numbers below the last panel, as many as fit.
func (t *text) ticks() string {
	line := ""
	for _, k := range t.x.ticks {
		at := t.left + 1 + t.column(k.at) - console.Width(k.text)/2
		at = min(at, t.left+1+t.cells-console.Width(k.text))
		if used := console.Width(line); used == 0 || at > used {
			line += strings.Repeat(" ", max(0, at-used)) + k.text
		}
	}
	return line
}

// canvas is the inside of a panel: 2 x 4 dots in each cell, as in a braille character, with
// characters behind and over them.
type canvas struct {
	cells  int
	dots   [rows][]byte // bits as in the braille block of Unicode
	behind [rows][]rune
	over   [rows]map[int]rune // by cell
}

func newCanvas(cells int) canvas {
	c := canvas{cells: cells}
	for r := range rows {
		c.dots[r] = make([]byte, cells)
		c.behind[r] = []rune(strings.Repeat(" ", cells))
		c.over[r] = map[int]rune{}
	}
	return c
}

// braille has the bit of each dot: U+2800 plus the bits is the character.
var braille = [4][2]byte{{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}

// draw sets the dots of a line, column by column, and closes the gaps between them.
func (c canvas) draw(line Line, x, y scale) {
	points, before := line.Points, -1
	first, last := points[0].X, points[len(points)-1].X
	slack := 1e-9 * (x.high - x.low) // for rounding at the ends of the line
	next := 1
	for column := range 2 * c.cells {
		at := x.value(float64(column) / float64(2*c.cells-1))
		if at < first-slack || at > last+slack {
			continue
		}
		for next < len(points)-1 && points[next].X < at {
			next++
		}
		a, b := points[next-1], points[next]
		// Interpolate between shares, so that the line is straight in the picture.
		part := min(max((at-a.X)/(b.X-a.X), 0), 1)
		share := y.share(a.Y) + part*(y.share(b.Y)-y.share(a.Y))
		here := dot(share)
		from, to := here, here
		if before >= 0 && before < here-1 {
			from = before + 1
		}
		if before > here+1 {
			to = before - 1
		}
		for d := from; d <= to; d++ {
			c.dots[d/4][column/2] |= braille[d%4][column%2]
		}
		before = here
	}
}

// across draws a horizontal line behind everything.
func (c canvas) across(r int) {
	for i := range c.behind[r] {
		c.behind[r][i] = '┄'
	}
}

// down draws a vertical line behind everything.
func (c canvas) down(column int) {
	for r := range rows {
		if c.behind[r][column] == '┄' {
			c.behind[r][column] = '┼'
		} else {
			c.behind[r][column] = '┊'
		}
	}
}

// line returns row r as text.
func (c canvas) line(r int) string {
	const blank = '\u2800'
	line := make([]rune, c.cells)
	for i, dots := range c.dots[r] {
		line[i] = c.behind[r][i]
		if dots != 0 {
			line[i] = blank + rune(dots)
		}
		if over, is := c.over[r][i]; is {
			line[i] = over
		}
	}
	return string(line)
}
