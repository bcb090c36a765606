package picture

import (
	"fmt"
	"html"
	"math"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/promql/dashboard"
)

// Measures of a plot, in pixels.
const (
	axisWidth  = 52
	axisHeight = 18
	legendLine = 16
	character  = 6.3 // mean width of the small type
)

// plot is a time series panel in the making.
type plot struct {
	*canvas

	answer dashboard.Answer
	area   box
	ticks  []float64 // of the value axis, the first and the last are its ends
}

// plot draws a time series panel.
func (c *canvas) plot(b box, a dashboard.Answer) {
	lines := c.legend(b, a)
	p := &plot{canvas: c, answer: a, area: box{
		b.x + axisWidth, b.y + 4, b.w - axisWidth, b.h - 4 - axisHeight - float64(lines)*legendLine - 4,
	}}
	p.ticks = p.axis()
	p.grid()
	if a.Panel.FieldConfig.Defaults.Custom.ThresholdsStyle.Mode == "dashed" {
		for _, step := range a.Panel.FieldConfig.Defaults.Thresholds.Steps {
			if step.Value != nil && *step.Value < p.ticks[len(p.ticks)-1] {
				fmt.Fprintf(c, `<path class="limit" d="M%.1f %.1fh%.1f"/>`+"\n", p.area.x, p.y(*step.Value), p.area.w)
			}
		}
	}
	for i, s := range a.Series {
		if a.Panel.FieldConfig.Defaults.Custom.DrawStyle == "bars" {
			p.bars(i, s)
		} else {
			p.line(i, s)
		}
	}
}

// reach returns the least and the largest value that the axis must show.
func (p *plot) reach() (least, most float64) {
	field := p.answer.Panel.FieldConfig.Defaults
	least, most = math.Inf(1), math.Inf(-1)
	for _, s := range p.answer.Series {
		for _, point := range s.Points {
			if v := float64(point.Value); !math.IsNaN(v) && !math.IsInf(v, 0) {
				least, most = min(least, v), max(most, v)
			}
		}
	}
	if math.IsInf(least, 1) {
		least, most = 0, 1
	}
	if field.Min != nil {
		least = min(*field.Min, least)
	}
	if field.Max != nil {
		most = max(*field.Max, most)
	}
	if most == least {
		least, most = min(0, least), max(1, most)
	}
	return least, most
}

// axis returns the ticks of the value axis: round numbers in the unit of the largest value, whole
// numbers for a field without decimals.
func (p *plot) axis() []float64 {
	field := p.answer.Panel.FieldConfig.Defaults
	least, most := p.reach()
	per := of(max(math.Abs(least), math.Abs(most)), field.Unit).per
	smallest := 0.0
	if field.Decimals != nil && *field.Decimals == 0 {
		smallest = 1
	}
	all := ticks(least/per, most/per, smallest)
	for i := range all {
		all[i] *= per
	}
	return all
}

// ticks returns two to seven round numbers, at least smallest apart, that enclose
// the values.
func ticks(least, most, smallest float64) []float64 {
	size := max(smallest, math.Pow(10, math.Floor(math.Log10((most-least)/4))))
	for _, by := range []float64{1, 2, 2.5, 5, 10} {
		if (most-least)/(size*by) <= 5 {
			size *= by
			break
		}
	}
	var out []float64
	for i := math.Floor(least/size + 1e-9); ; i++ {
		out = append(out, i*size)
		if i*size >= most-size*1e-9 {
			return out
		}
	}
}

// y returns the vertical place of a value.
func (p *plot) y(v float64) float64 {
	low, high := p.ticks[0], p.ticks[len(p.ticks)-1]
	return p.area.y + p.area.h*(1-(v-low)/(high-low))
}

// x returns the horizontal place of an instant.
func (p *plot) x(at model.Time) float64 {
	look := p.look
	return p.area.x + p.area.w*(1-float64(look.At.Sub(at.Time()))/float64(look.Range))
}

// grid draws the axes.
func (p *plot) grid() {
	unit := p.answer.Panel.FieldConfig.Defaults.Unit
	for _, v := range p.ticks {
		fmt.Fprintf(p, `<path class="grid" d="M%.1f %.1fh%.1f"/>`+"\n", p.area.x, p.y(v), p.area.w)
		p.text(p.area.x-6, p.y(v)+4, "", "end", number(v, unit, nil))
	}
	every := time.Minute
	for _, d := range []time.Duration{2 * time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour, 24 * time.Hour} {
		if p.look.Range/every > 8 {
			every = d
		}
	}
	begin := p.look.At.Add(-p.look.Range)
	for at := begin.Truncate(every); !at.After(p.look.At); at = at.Add(every) {
		if x := p.x(model.TimeFromUnixNano(at.UnixNano())); x >= p.area.x+14 && x <= p.area.x+p.area.w-12 {
			p.text(x, p.area.y+p.area.h+14, "", "middle", at.UTC().Format("15:04"))
		}
	}
}

// line draws one series. It is broken where values are missing.
func (p *plot) line(i int, s dashboard.Series) {
	custom := p.answer.Panel.FieldConfig.Defaults.Custom
	var path, area strings.Builder
	var before *model.SamplePair
	start := 0.0
	closeArea := func() {
		if before != nil {
			fmt.Fprintf(&area, "V%.1fH%.1fZ", p.y(max(0, p.ticks[0])), start)
		}
	}
	for k := range s.Points {
		point := &s.Points[k]
		v := float64(point.Value)
		if math.IsNaN(v) || math.IsInf(v, 0) {
			closeArea()
			before = nil
			continue
		}
		x, y := p.x(point.Timestamp), p.y(v)
		piece := fmt.Sprintf("L%.1f %.1f", x, y)
		switch {
		case before == nil || point.Timestamp.Sub(before.Timestamp) > p.look.Step*3/2:
			closeArea()
			start = x
			piece = fmt.Sprintf("M%.1f %.1f", x, y)
		case custom.LineInterpolation == "stepAfter":
			piece = fmt.Sprintf("H%.1fV%.1f", x, y)
		}
		path.WriteString(piece)
		area.WriteString(piece)
		before = point
	}
	closeArea()
	if custom.FillOpacity > 0 && !p.answer.Panel.Dashed(s.RefID) {
		fmt.Fprintf(p, `<path class="area %s" d="%s"/>`+"\n", hue(p.answer.Panel, i, s), area.String())
	}
	fmt.Fprintf(p, `<path class="line %s" d="%s"/>`+"\n", stroke(p.answer.Panel, i, s), path.String())
}

// bars draws one series as bars, each as wide as the time between two points.
func (p *plot) bars(i int, s dashboard.Series) {
	var path strings.Builder
	half := p.area.w * float64(p.look.Step) / float64(p.look.Range) / 2
	for _, point := range s.Points {
		if v := float64(point.Value); !math.IsNaN(v) && !math.IsInf(v, 0) {
			x := p.x(point.Timestamp)
			from, to := max(p.area.x, x-half), min(p.area.x+p.area.w, x+half)
			fmt.Fprintf(&path, "M%.1f %.1fV%.1fH%.1fV%.1fZ", from, p.y(max(0, p.ticks[0])), p.y(v), to, p.y(max(0, p.ticks[0])))
		}
	}
	fmt.Fprintf(p, `<path class="bar %s" d="%s"/>`+"\n", hue(p.answer.Panel, i, s), path.String())
}

// hue returns the class of the colour of the i-th series.
func hue(p dashboard.Panel, i int, s dashboard.Series) string {
	if fixed := p.Hue(s.Name); fixed != "" {
		return fixed
	}
	return fmt.Sprintf("l%d", i%hues)
}

// stroke returns the classes of the line of the i-th series.
func stroke(p dashboard.Panel, i int, s dashboard.Series) string {
	if p.Dashed(s.RefID) {
		return hue(p, i, s) + " dash"
	}
	return hue(p, i, s)
}

// legend writes the names of the lines at the bottom of a box and returns the number of text lines,
// two at most.
func (c *canvas) legend(b box, a dashboard.Answer) int {
	type entry struct {
		index, line int
		x           float64
		text        string
	}
	var entries []entry
	x, line, more := b.x, 0, 0
	for i, s := range a.Series {
		text := cut(s.Name, 40)
		width := 22 + float64(len([]rune(text)))*character + 14
		if x > b.x && x+width > b.x+b.w {
			x, line = b.x, line+1
		}
		if line > 1 {
			more = len(a.Series) - i
			break
		}
		entries = append(entries, entry{i, line, x, text})
		x += width
	}
	lines := min(line, 1) + 1
	if more > 0 {
		entries[len(entries)-1].text = fmt.Sprintf("and %d more", more+1)
	}
	for _, e := range entries {
		y := b.y + b.h - float64(lines-1-e.line)*legendLine
		fmt.Fprintf(c, `<path class="line %s" d="M%.1f %.1fh16"/><text x="%.1f" y="%.1f">%s</text>`+"\n",
			stroke(a.Panel, e.index, a.Series[e.index]), e.x, y-4, e.x+21, y, html.EscapeString(e.text))
	}
	return lines
}
