package main

import (
	"fmt"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/console/plot"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/queueing/profile"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/spelling"
)

// picture returns a plot of ITL and TTFT over the concurrency at the present lengths: the measured
// bands, the fit with its interval, and the stated profile.
func (p profiled) picture() (plot.Plot, error) {
	if p.From != profile.Nowhere && !(p.Prompt > 0) {
		return plot.Plot{}, fmt.Errorf("there is no picture of %s: the lengths of its requests are not known", p.Variant)
	}
	if p.From == profile.Nowhere {
		return plot.Plot{}, fmt.Errorf("there is no picture of %s yet: %s", p.Variant, p.about())
	}
	itl := plot.Panel{Y: "ITL, ms", Dots: plot.Dots{Name: "measured"}}
	ttft := plot.Panel{Y: "TTFT of requests that do not wait, ms", Dots: plot.Dots{Name: "measured"}}
	for _, b := range p.Bands {
		if b.ITL.Now > 0 {
			itl.Dots.Points = append(itl.Dots.Points, plot.Point{X: b.Concurrency, Y: b.ITL.Now})
		}
		if b.TTFT.Now > 0 {
			ttft.Dots.Points = append(ttft.Dots.Points, plot.Point{X: b.Concurrency, Y: b.TTFT.Now})
		}
	}
	p.draw(&itl, p.ITL, func(n float64) float64 { return p.Stated.Alpha + p.Stated.Beta*n })
	p.draw(&ttft, p.TTFT, func(n float64) float64 { return p.Stated.Gamma + p.Stated.Delta*p.Prompt*n })
	return plot.Plot{
		Title: spelling.Visible(p.Variant.Name, "") + ", requests of " + p.lengths(), X: "concurrency, requests computed together",
		Panels: []plot.Panel{itl, ttft},
	}, nil
}

// draw adds the fit, the bounds that contain it with a probability of 0.9, and the stated profile.
func (p profiled) draw(panel *plot.Panel, fit func(n float64) profile.Interval, stated func(n float64) float64) {
	const steps = 60
	lines := []plot.Line{{Name: "90 %", Thin: true}, {Name: "90 %", Thin: true}, {Name: "fit"}, {Name: "stated"}}
	for i := range steps + 1 {
		n := 1 + (p.reach()-1)*float64(i)/steps
		at := fit(n)
		if at.Low < at.High/plot.ManyFold {
			at.Low = 0 // a small bound would make the axis logarithmic
		}
		for k, y := range []float64{at.Low, at.High, at.Mean, stated(n)} {
			lines[k].Points = append(lines[k].Points, plot.Point{X: n, Y: y})
		}
	}
	if !p.Stated.Usable() {
		lines = lines[:3]
	}
	panel.Lines = lines
}
