package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/console"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/console/plot"
	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/analyzer"
)

// plotColumns is the width of a plot where the size of the terminal is unknown.
const plotColumns = 80

// printPlot draws the picture on a terminal.
func (f *queueFlags) printPlot(w io.Writer, q analyzer.QueueAnalyzer, a queueAnswer) error {
	picture, err := f.picture(q, a)
	if err != nil {
		return err
	}
	return drawPlot(w, picture)
}

// drawPlot draws a picture on a terminal, as wide as its window, up to 120 cells.
func drawPlot(w io.Writer, picture plot.Plot) error {
	terminal, width := console.Detect(w, os.Getenv), plotColumns
	if terminal.Size != nil {
		if columns, _ := terminal.Size(); columns > 0 {
			width = min(columns, 120)
		}
	}
	lines, err := picture.Lines(width, terminal.Paint())
	if err != nil {
		return fmt.Errorf("drawing the plot: %w", err)
	}
	_, err = fmt.Fprintf(w, "\n%s\n", strings.Join(lines, "\n"))
	return err
}

// writePicture writes the picture to the file of --svg.
func (f *queueFlags) writePicture(q analyzer.QueueAnalyzer, a queueAnswer) error {
	picture, err := f.picture(q, a)
	if err != nil {
		return err
	}
	return writeSVG(f.svg, picture)
}

// writeSVG writes a picture to the file of --svg.
func writeSVG(file string, picture plot.Plot) error {
	var content strings.Builder
	if err := picture.WriteSVG(&content); err != nil {
		return fmt.Errorf("drawing --svg: %w", err)
	}
	if err := os.WriteFile(file, []byte(content.String()), 0o644); err != nil {
		return fmt.Errorf("writing --svg: %w", err)
	}
	return nil
}

// picture returns a plot of TTFT and ITL over the range of rates, with the targets and the highest
// rate that keeps them.
func (f *queueFlags) picture(q analyzer.QueueAnalyzer, a queueAnswer) (plot.Plot, error) {
	ttft, itl, err := f.curves(q, sweep(a.RateRange))
	if err != nil {
		return plot.Plot{}, err
	}
	limit := "target "
	if f.percentile > 0 {
		limit = percentileName(f.percentile) + " target "
	}
	if f.ttft > 0 {
		ttft.Limits = []plot.Mark{{At: f.ttft, Label: limit + figure(f.ttft)}}
	}
	if f.itl > 0 {
		itl.Limits = []plot.Mark{{At: f.itl, Label: limit + figure(f.itl)}}
	}
	values := "published values"
	if f.correct {
		values = "correct values"
	}
	picture := plot.Plot{
		Title: fmt.Sprintf("One replica, batch %d, %s input and %s output tokens, %s",
			f.maxBatch, figure(f.inputTokens), figure(f.outputTokens), values),
		X:      "arrival rate, requests/s",
		Panels: []plot.Panel{ttft, itl},
	}
	if a.Size != nil && max(f.ttft, f.itl, f.tps) > 0 {
		picture.Marks = []plot.Mark{{At: a.Size.Rate, Label: "up to " + figure(a.Size.Rate) + " requests/s the targets are kept"}}
	}
	return picture, nil
}

// curves returns the means over the rates, and among correct values also the percentiles.
func (f *queueFlags) curves(q analyzer.QueueAnalyzer, rates []float64) (ttft, itl plot.Panel, err error) {
	ttft, itl = plot.Panel{Y: "TTFT, ms"}, plot.Panel{Y: "ITL, ms"}
	draw := func(panel *plot.Panel, name string, of func(rate float64) (float64, error)) {
		line := plot.Line{Name: name}
		for _, rate := range rates {
			y, failed := of(rate)
			err = cmp.Or(err, failed)
			line.Points = append(line.Points, plot.Point{X: rate, Y: y})
		}
		panel.Lines = append(panel.Lines, line)
	}
	view := f.view(q)
	draw(&ttft, "mean", func(rate float64) (float64, error) { m, err := view.Analyze(rate); return m.TTFT, err })
	draw(&itl, "mean", func(rate float64) (float64, error) { m, err := view.Analyze(rate); return m.ITL, err })
	if !f.correct {
		return ttft, itl, err
	}
	shares := []float64{0.5, 0.9, 0.99}
	if f.percentile > 0 {
		draw(&itl, percentileName(f.percentile), func(rate float64) (float64, error) { return q.PercentileITL(rate, f.percentile) })
		shares = append(shares, f.percentile)
		slices.Sort(shares)
		shares = slices.Compact(shares)
	}
	for _, share := range shares {
		draw(&ttft, percentileName(share), func(rate float64) (float64, error) { return q.PercentileTTFT(rate, share) })
	}
	return ttft, itl, err
}

// sweep returns rates over a range, closer together towards its end, where the queue grows.
func sweep(r queueRange) []float64 {
	const steps = 240
	rates := make([]float64, steps+1)
	for i := range rates {
		left := 1 - float64(i)/steps
		rates[i] = min(r.Min+(r.Max-r.Min)*(1-left*left), r.Max)
	}
	return rates
}
