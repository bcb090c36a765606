package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// moment is what one look at the manager showed.
type moment struct {
	at      time.Duration // since the load began
	rate    map[string]float64
	ready   map[string]int // by variant
	desired map[string]int
}

// film is a run of the demonstration, to be drawn.
type film struct {
	moments []moment
}

func (f *film) see(at time.Duration, all []explain.Explanation) {
	m := moment{at: at, rate: map[string]float64{}, ready: map[string]int{}, desired: map[string]int{}}
	for _, e := range all {
		if e.Variant.Key.Namespace != namespace {
			continue
		}
		if r := e.Snapshot.Load.ArrivalRate; r.State >= scaling.Aging {
			m.rate[e.Variant.Model.ID] = r.Value
		}
		m.ready[e.Variant.Key.Name] = e.Variant.Replicas.Ready
		m.desired[e.Variant.Key.Name] = e.Decision.Target()
	}
	f.moments = append(f.moments, m)
}

// The picture's measures, in pixels.
const (
	pictureWidth = 900
	plotLeft     = 56
	plotRight    = 180 // room for the legend
	plotHeight   = 110
	plotGap      = 46
	plotTop      = 44
)

// palette has a colour for each line of a panel; readable on light and dark.
func palette(i int) string { return []string{"#3b82f6", "#f59e0b", "#10b981", "#a855f7"}[i%4] }

// panel is one model: its arrivals and the replicas of its variants.
type panel struct {
	model    string
	variants []string
}

func (s *scene) panels() []panel {
	var out []panel
	for _, v := range s.variants {
		i := slices.IndexFunc(out, func(p panel) bool { return p.model == v.ModelID })
		if i < 0 {
			out, i = append(out, panel{model: v.ModelID}), len(out)
		}
		out[i].variants = append(out[i].variants, v.Name)
	}
	return out
}

// draw writes the film as an SVG file: for each model the arrivals, and below
// them what its variants ran (solid) and what was decided (dashed).
func (f *film) draw(path string, panels []panel) error {
	if len(f.moments) == 0 {
		return fmt.Errorf("drawing %s: nothing was seen", path)
	}
	height := plotTop + len(panels)*2*(plotHeight+plotGap)
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="system-ui, sans-serif" font-size="13">`+"\n", pictureWidth, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", pictureWidth, height)
	y := plotTop
	for _, p := range panels {
		f.plot(&b, y, p.model+": arrivals, requests/s", []line{{name: "measured", color: "#ef4444", value: func(m moment) float64 { return m.rate[p.model] }}})
		y += plotHeight + plotGap
		var lines []line
		for i, v := range p.variants {
			lines = append(lines,
				line{name: v, color: palette(i), steps: true, value: func(m moment) float64 { return float64(m.ready[v]) }},
				line{color: palette(i), steps: true, dashed: true, value: func(m moment) float64 { return float64(m.desired[v]) }})
		}
		f.plot(&b, y, p.model+": replicas Ready (solid) and decided on (dashed)", lines)
		y += plotHeight + plotGap
	}
	b.WriteString("</svg>\n")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		return fmt.Errorf("drawing the run: %w", err)
	}
	return nil
}

// line is one quantity over time.
type line struct {
	name, color   string
	steps, dashed bool
	value         func(moment) float64
}

func (f *film) plot(b *bytes.Buffer, top int, title string, lines []line) {
	last := f.moments[len(f.moments)-1].at
	most := 1.0
	for _, m := range f.moments {
		for _, l := range lines {
			most = max(most, l.value(m))
		}
	}
	most *= 1.1
	x := func(at time.Duration) float64 {
		return plotLeft + float64(pictureWidth-plotLeft-plotRight)*float64(at)/float64(max(last, time.Second))
	}
	y := func(v float64) float64 { return float64(top) + plotHeight*(1-v/most) }

	fmt.Fprintf(b, `<text x="%d" y="%d" fill="#111827" font-weight="600">%s</text>`+"\n", plotLeft, top-12, title)
	for i := range 3 {
		v := most / 1.1 * float64(i) / 2
		fmt.Fprintf(b, `<path d="M%d %.1fH%d" stroke="#e5e7eb"/><text x="%d" y="%.1f" fill="#6b7280" text-anchor="end">%.3g</text>`+"\n",
			plotLeft, y(v), pictureWidth-plotRight, plotLeft-8, y(v)+4, v)
	}
	for at := time.Duration(0); at <= last; at += time.Minute {
		fmt.Fprintf(b, `<text x="%.1f" y="%d" fill="#6b7280" text-anchor="middle">%.0fm</text>`+"\n", x(at), top+plotHeight+16, at.Minutes())
	}
	legend := 0
	for _, l := range lines {
		var d strings.Builder
		for i, m := range f.moments {
			switch px, py := x(m.at), y(l.value(m)); {
			case i == 0:
				fmt.Fprintf(&d, "M%.1f %.1f", px, py)
			case l.steps:
				fmt.Fprintf(&d, "H%.1fV%.1f", px, py)
			default:
				fmt.Fprintf(&d, "L%.1f %.1f", px, py)
			}
		}
		dash := ""
		if l.dashed {
			dash = ` stroke-dasharray="2 4"`
		}
		fmt.Fprintf(b, `<path d="%s" fill="none" stroke="%s" stroke-width="2"%s/>`+"\n", d.String(), l.color, dash)
		if l.name != "" {
			fmt.Fprintf(b, `<text x="%d" y="%d" fill="%s">%s</text>`+"\n", pictureWidth-plotRight+14, top+14+18*legend, l.color, l.name)
			legend++
		}
	}
}
