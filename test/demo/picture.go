package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/console/plot"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// moment is the state that one request to the manager returned.
type moment struct {
	at      time.Duration // since the load began
	rate    map[string]float64
	ready   map[string]int // by variant
	desired map[string]int
}

// film is a run of the demonstration, for the picture.
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
		m.ready[e.Variant.Key.Name] = int(e.Variant.Replicas.Ready)
		m.desired[e.Variant.Key.Name] = int(e.Decision.Target())
	}
	f.moments = append(f.moments, m)
}

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

// draw writes the film as an SVG file: for each model the arrivals, and below them the replicas of
// its variants, Ready (solid) and decided (dashed).
func (f *film) draw(path string, panels []panel) error {
	if len(f.moments) < 2 {
		return fmt.Errorf("drawing %s: %d moments were seen, want at least 2", path, len(f.moments))
	}
	picture := plot.Plot{X: "time since the load began, minutes"}
	for _, p := range panels {
		picture.Panels = append(picture.Panels, plot.Panel{
			Y:     p.model + ": arrivals, requests/s",
			Lines: []plot.Line{{Name: "measured", Points: f.points(func(m moment) float64 { return m.rate[p.model] })}},
		})
		replicas := plot.Panel{Y: p.model + ": replicas Ready (solid) and decided (dashed)"}
		for _, v := range p.variants {
			replicas.Lines = append(replicas.Lines,
				plot.Line{Name: v, Points: steps(f.points(func(m moment) float64 { return float64(m.ready[v]) }))},
				plot.Line{Thin: true, Points: steps(f.points(func(m moment) float64 { return float64(m.desired[v]) }))})
		}
		picture.Panels = append(picture.Panels, replicas)
	}
	var b bytes.Buffer
	if err := picture.WriteSVG(&b); err != nil {
		return err
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		return fmt.Errorf("drawing the run: %w", err)
	}
	return nil
}

// points returns one quantity over the minutes.
func (f *film) points(of func(moment) float64) []plot.Point {
	var out []plot.Point
	for _, m := range f.moments {
		out = append(out, plot.Point{X: m.at.Minutes(), Y: of(m)})
	}
	return out
}

// steps returns points for a quantity that is constant between two points and changes at once at
// the next. Points with the value of both neighbours are left out.
func steps(points []plot.Point) []plot.Point {
	const atOnce = 1e-3 // minutes
	out := points[:1:1]
	for i, at := range points[1:] {
		last := i == len(points)-2
		if before := points[i].Y; at.Y != before {
			out = append(out, plot.Point{X: max(at.X-atOnce, (at.X+points[i].X)/2), Y: before}, at)
		} else if last {
			out = append(out, at)
		}
	}
	return out
}
