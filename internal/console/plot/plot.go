package plot

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Plot is a stack of panels over one x axis.
type Plot struct {
	Title  string  // one line; empty for none
	X      string  // quantity of the x axis, with its unit
	Panels []Panel // from top to bottom, at least one
	Marks  []Mark  // vertical lines through all panels, at values of x
}

// Panel is one y axis with its lines, dots and limits.
type Panel struct {
	Y      string // quantity of the y axis, with its unit
	Lines  []Line // at least one
	Dots   Dots   // over the lines
	Limits []Mark // horizontal lines, at values of y
}

// Line is a line, straight from point to point.
type Line struct {
	Name   string  // at its right end; empty for none, in the colour of the line before
	Points []Point // by rising X; at least two
	Thin   bool    // in a picture: dashed, as a bound of another line
}

// Dots are points without a line between them: measured values.
type Dots struct {
	Name   string  // right of the last dot; empty for none
	Points []Point // by rising X; none draws nothing
}

// Point is a point in the units of the axes. Both numbers are 0 or 1e-100 to 1e100 in size.
type Point struct{ X, Y float64 }

// Mark is a line across a panel with its label.
type Mark struct {
	At    float64 // in the unit of the axis that it crosses; 0 or 1e-100 to 1e100 in size
	Label string
}

// check returns an error for the first part that cannot be drawn.
func (p Plot) check() error {
	if len(p.Panels) == 0 {
		return errors.New("plot: there is no panel, want at least one")
	}
	for _, m := range p.Marks {
		if !drawable(m.At) {
			return fmt.Errorf("plot: the mark %q is at %v, want 0 or 1e-100 to 1e100", m.Label, m.At)
		}
	}
	for _, panel := range p.Panels {
		if err := panel.check(); err != nil {
			return fmt.Errorf("plot: panel %q: %w", panel.Y, err)
		}
	}
	return nil
}

func (p Panel) check() error {
	if len(p.Lines) == 0 {
		return errors.New("there is no line, want at least one")
	}
	for _, m := range p.Limits {
		if !drawable(m.At) {
			return fmt.Errorf("the limit %q is at %v, want 0 or 1e-100 to 1e100", m.Label, m.At)
		}
	}
	for _, line := range p.Lines {
		if len(line.Points) < 2 {
			return fmt.Errorf("the line %q has %d points, want at least 2", line.Name, len(line.Points))
		}
		for i, at := range line.Points {
			if !drawable(at.X) || !drawable(at.Y) {
				return fmt.Errorf("point %d of the line %q is at (%v, %v), want each 0 or 1e-100 to 1e100", i, line.Name, at.X, at.Y)
			}
			if i > 0 && at.X <= line.Points[i-1].X {
				return fmt.Errorf("point %d of the line %q is at x = %v, want more than that of the point before, %v",
					i, line.Name, at.X, line.Points[i-1].X)
			}
		}
	}
	for i, at := range p.Dots.Points {
		if !drawable(at.X) || !drawable(at.Y) {
			return fmt.Errorf("dot %d of %q is at (%v, %v), want each 0 or 1e-100 to 1e100", i, p.Dots.Name, at.X, at.Y)
		}
	}
	return nil
}

// drawable reports whether v is 0 or 1e-100 to 1e100 in size, so that differences and quotients
// stay finite.
func drawable(v float64) bool {
	const least, most = 1e-100, 1e100
	size := math.Abs(v)
	return size == 0 || size >= least && size <= most
}

// x returns the x scale of all panels; most is the number of ticks that fit.
func (p Plot) x(most int) scale {
	var values []float64
	for _, panel := range p.Panels {
		for _, line := range panel.Lines {
			values = append(values, line.Points[0].X, line.Points[len(line.Points)-1].X)
		}
		for _, at := range panel.Dots.Points {
			values = append(values, at.X)
		}
	}
	for _, m := range p.Marks {
		values = append(values, m.At)
	}
	return tight(slices.Min(values), slices.Max(values), most)
}

// y returns the y scale of one panel.
func (p Panel) y(most int) scale {
	var values []float64
	for _, line := range p.Lines {
		for _, at := range line.Points {
			values = append(values, at.Y)
		}
	}
	for _, at := range p.Dots.Points {
		values = append(values, at.Y)
	}
	for _, m := range p.Limits {
		values = append(values, m.At)
	}
	return wide(slices.Min(values), slices.Max(values), most)
}

// title returns the line above a panel.
func (p Panel) title(y scale) string {
	if y.log {
		return p.Y + " (logarithmic)"
	}
	return p.Y
}

// label is a text at the right of a panel, for a height in [0, 1].
type label struct {
	text  string
	at    float64
	limit bool
}

// labels returns the names of the lines at their right ends, of the dots and of the limits, from
// the top down.
func (p Panel) labels(y scale) []label {
	var all []label
	for _, line := range p.Lines {
		if line.Name != "" {
			all = append(all, label{text: line.Name, at: y.share(line.Points[len(line.Points)-1].Y)})
		}
	}
	if n := len(p.Dots.Points); n > 0 && p.Dots.Name != "" {
		all = append(all, label{text: p.Dots.Name, at: y.share(p.Dots.Points[n-1].Y)})
	}
	for _, m := range p.Limits {
		all = append(all, label{text: m.Label, at: y.share(m.At), limit: true})
	}
	slices.SortStableFunc(all, func(a, b label) int {
		switch {
		case a.at > b.at:
			return -1
		case a.at < b.at:
			return 1
		}
		return 0
	})
	return all
}

// spread returns the falling places moved apart, so that neighbours are at least gap from each
// other and all are between 0 and top, as far as there is room.
func spread(places []float64, gap, top float64) []float64 {
	out := slices.Clone(places)
	for i := range out {
		if i > 0 {
			out[i] = min(out[i], out[i-1]-gap)
		}
	}
	least := 0.0
	for i := len(out) - 1; i >= 0; i-- {
		out[i] = max(out[i], least)
		least = out[i] + gap
	}
	for i := range out {
		out[i] = min(out[i], top-float64(i)*gap)
	}
	return out
}
