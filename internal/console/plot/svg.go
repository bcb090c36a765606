package plot

import (
	"cmp"
	"fmt"
	"html"
	"io"
	"slices"
	"strings"
)

// Sizes of the picture, in its own units. Texts are 12 high; the right margin has room for long
// labels.
const (
	pictureWidth = 760
	leftEdge     = 64
	rightEdge    = 610
	panelHeight  = 190
	panelGap     = 48 // with the title of the panel
	headHeight   = 76 // title and marks
	markHeight   = 18 // for each mark beyond the first
	footHeight   = 48 // numbers and title of the x axis
	textHeight   = 15
)

// style is the style sheet of the picture, with its own background, dark where the reader prefers
// dark.
const style = `
svg { color-scheme: light dark; --ground: #ffffff; --ink: #1f2328; --soft: #59636e; --grid: #e3e7eb; --edge: #8c959f;
  --limit: #c21f2b; --line0: #0860c9; --line1: #1a7f37; --line2: #8250df; --line3: #b45309; --line4: #0e7490 }
@media (prefers-color-scheme: dark) {
  svg { --ground: #0d1117; --ink: #e6edf3; --soft: #9aa4af; --grid: #262c35; --edge: #6e7681;
    --limit: #ff7b72; --line0: #6cb0ff; --line1: #4ac26b; --line2: #c297ff; --line3: #f0a04b; --line4: #4cc9e0 }
}
text { fill: var(--soft); stroke: var(--ground); stroke-width: 4px; paint-order: stroke } .title { fill: var(--ink); font-weight: 600; font-size: 14px } .y { fill: var(--ink); font-weight: 600 }
path { fill: none } .grid { stroke: var(--grid) } .edge { stroke: var(--edge) } .lead { stroke: var(--edge); stroke-width: 0.7 }
.mark { stroke: var(--soft); stroke-dasharray: 2 3 } .line { stroke-width: 2; stroke-linejoin: round } .thin { stroke-dasharray: 4 2 }
path.limit { stroke: var(--limit); stroke-width: 1.5; stroke-dasharray: 6 4 } text.limit { fill: var(--limit) }
path.line0 { stroke: var(--line0) } path.line1 { stroke: var(--line1) } path.line2 { stroke: var(--line2) } path.line3 { stroke: var(--line3) } path.line4 { stroke: var(--line4) }
text.line0, circle.line0 { fill: var(--line0) } text.line1, circle.line1 { fill: var(--line1) } text.line2, circle.line2 { fill: var(--line2) } text.line3, circle.line3 { fill: var(--line3) } text.line4, circle.line4 { fill: var(--line4) }
`

// colours is the number of line colours in style.
const colours = 5

// WriteSVG writes the plot as a picture that needs no other file. Lines of one name have one colour
// in all panels; from the sixth name on, colours repeat. Errors name the part that cannot be drawn,
// or come from w.
func (p Plot) WriteSVG(w io.Writer) error {
	if err := p.check(); err != nil {
		return err
	}
	s := svg{plot: p, x: p.x(9)}
	for _, panel := range p.Panels {
		for _, line := range panel.Lines {
			if line.Name != "" && !slices.Contains(s.names, line.Name) {
				s.names = append(s.names, line.Name)
			}
		}
	}
	for _, panel := range p.Panels {
		if name := panel.Dots.Name; len(panel.Dots.Points) > 0 && !slices.Contains(s.names, name) {
			s.names = append(s.names, name)
		}
	}
	if _, err := io.WriteString(w, s.document()); err != nil {
		return fmt.Errorf("writing a plot: %w", err)
	}
	return nil
}

// svg is a picture of a plot while it is written.
type svg struct {
	plot  Plot
	x     scale
	names []string // of lines and dots, each once
	b     strings.Builder
}

func (s *svg) document() string {
	top := headHeight + markHeight*max(0, len(s.plot.Marks)-1)
	panels := len(s.plot.Panels)
	height := top + panels*panelHeight + panels*panelGap - panelGap + footHeight
	s.printf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" font-family="system-ui, sans-serif" font-size="12">`,
		pictureWidth, height, pictureWidth, height)
	s.printf("<title>%s</title>\n<style>%s</style>", html.EscapeString(s.plot.Title), style)
	s.printf(`<rect width="%d" height="%d" style="fill: var(--ground)"/>`, pictureWidth, height)
	s.text(leftEdge, 24, "title", "start", s.plot.Title)
	bottom := height - footHeight
	s.marks(bottom)
	for i, panel := range s.plot.Panels {
		s.panel(panel, top+i*(panelHeight+panelGap))
	}
	for _, k := range s.x.ticks {
		s.text(s.across(k.at), float64(bottom+18), "", "middle", k.text)
	}
	s.text((leftEdge+rightEdge)/2, float64(bottom+38), "", "middle", s.plot.X)
	s.printf("</svg>")
	return s.b.String()
}

// colour returns the class of the lines of one name.
func (s *svg) colour(name string) string {
	return fmt.Sprintf("line%d", max(0, slices.Index(s.names, name))%colours)
}

// across returns the horizontal place of a value of x.
func (s *svg) across(v float64) float64 { return leftEdge + s.x.share(v)*(rightEdge-leftEdge) }

// panel draws one panel whose upper edge is at top.
func (s *svg) panel(p Panel, top int) {
	y := p.y(6)
	bottom := top + panelHeight
	down := func(v float64) float64 { return float64(bottom) - y.share(v)*panelHeight }
	s.text(leftEdge, float64(top-9), "y", "start", p.title(y))
	for _, k := range y.ticks {
		s.printf(`<path class="grid" d="M%d %.1fH%d"/>`, leftEdge, down(k.at), rightEdge)
		s.text(leftEdge-8, down(k.at)+4, "", "end", k.text)
	}
	for _, k := range s.x.ticks {
		s.printf(`<path class="edge" d="M%.1f %dv4"/>`, s.across(k.at), bottom)
	}
	s.printf(`<path class="edge" d="M%d %dV%dH%d"/>`, leftEdge, top, bottom, rightEdge)
	for _, m := range p.Limits {
		s.printf(`<path class="limit" d="M%d %.1fH%d"/>`, leftEdge, down(m.At), rightEdge)
	}
	name := ""
	for _, line := range p.Lines {
		name = cmp.Or(line.Name, name)
		var d strings.Builder
		for n, at := range line.Points {
			step := 'L'
			if n == 0 {
				step = 'M'
			}
			fmt.Fprintf(&d, "%c%.1f %.1f", step, s.across(at.X), down(at.Y))
		}
		class := "line"
		if line.Thin {
			class = "thin"
		}
		s.printf(`<path class="%s %s" d="%s"/>`, class, s.colour(name), d.String())
	}
	for _, at := range p.Dots.Points {
		s.printf(`<circle class="%s" cx="%.1f" cy="%.1f" r="4"/>`, s.colour(p.Dots.Name), s.across(at.X), down(at.Y))
	}
	s.labels(p.labels(y), bottom)
}

// labels draws the labels at the right of a panel, each with a thin line to its height.
func (s *svg) labels(labels []label, bottom int) {
	places := make([]float64, len(labels))
	for i, l := range labels {
		places[i] = l.at * panelHeight
	}
	for i, place := range spread(places, textHeight, panelHeight) {
		class := "limit"
		if !labels[i].limit {
			class = s.colour(labels[i].text)
		}
		at := float64(bottom) - place
		s.printf(`<path class="lead" d="M%d %.1fL%d %.1f"/>`, rightEdge+1, float64(bottom)-places[i], rightEdge+10, at)
		s.text(rightEdge+13, at+4, class, "start", labels[i].text)
	}
}

// marks draws the vertical lines and their labels, one label below the other.
func (s *svg) marks(bottom int) {
	for i, m := range s.plot.Marks {
		at, line := s.across(m.At), float64(44+i*markHeight)
		s.printf(`<path class="mark" d="M%.1f %.1fV%d"/>`, at, line-8, bottom)
		if at < (leftEdge+rightEdge)/2 {
			s.text(at+6, line, "", "start", m.Label)
		} else {
			s.text(at-6, line, "", "end", m.Label)
		}
	}
}

// text writes a text; x and y are the place of its base line.
func (s *svg) text(x, y float64, class, anchor, content string) {
	if content != "" {
		s.printf(`<text x="%.1f" y="%.1f" class="%s" text-anchor="%s">%s</text>`, x, y, class, anchor, html.EscapeString(content))
	}
}

func (s *svg) printf(format string, args ...any) { fmt.Fprintf(&s.b, format+"\n", args...) }
