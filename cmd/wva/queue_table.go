package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/console"
	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/analyzer"
)

// print writes the answer as text.
func (f *queueFlags) print(w io.Writer, q analyzer.QueueAnalyzer, a queueAnswer) error {
	values := "Published values: means, with the published simplifications; --correct gives others."
	if f.correct {
		values = "Correct values: means, and the TTFT that 50, 90 and 99 % of the requests do not exceed."
	}
	fmt.Fprintf(w, "One replica: a batch of %d, a queue of %d; requests of %s input and %s output tokens.\n%s\n\n",
		f.maxBatch, f.maxQueue, figure(f.inputTokens), figure(f.outputTokens), values)
	table, err := f.points(q, a, console.Detect(w, os.Getenv).Paint())
	if err != nil {
		return err
	}
	err = table.Write(w)
	fmt.Fprintf(w, "\nThe replica serves %s to %s requests/s.\n", figure(a.RateRange.Min), figure(a.RateRange.Max))
	if a.Size == nil {
		return err
	}
	fmt.Fprintln(w)
	err = errors.Join(err, f.targets(*a.Size).Write(w))
	fmt.Fprintf(w, "\n%s\n", f.verdict(*a.Size))
	return err
}

// points returns the table of rates.
func (f *queueFlags) points(q analyzer.QueueAnalyzer, a queueAnswer, paint console.Paint) (console.Table, error) {
	table := console.Table{Rows: make([][]string, len(a.Points))}
	add := func(title string, text func(values []float64) []string, of func(queuePoint) float64) {
		values := make([]float64, len(a.Points))
		for i, p := range a.Points {
			values[i] = of(p)
		}
		table.Columns = append(table.Columns, console.Right(title))
		for i, cell := range text(values) {
			table.Rows[i] = append(table.Rows[i], cell)
		}
	}
	add("RATE/s", figures, func(p queuePoint) float64 { return p.Rate })
	add("SERVED/s", figures, func(p queuePoint) float64 { return p.Throughput })
	add("TTFT ms", column, func(p queuePoint) float64 { return p.TTFT })
	if f.correct {
		add("p50 ms", column, func(p queuePoint) float64 { return p.P50 })
		add("p90 ms", column, func(p queuePoint) float64 { return p.P90 })
		add("p99 ms", column, func(p queuePoint) float64 { return p.P99 })
	}
	add("ITL ms", column, func(p queuePoint) float64 { return p.ITL })
	add("WAIT ms", column, func(p queuePoint) float64 { return p.Wait })
	add("PREFILL ms", column, func(p queuePoint) float64 { return p.Prefill })
	add("RESPONSE ms", column, func(p queuePoint) float64 { return p.Response })
	add("RUNNING", column, func(p queuePoint) float64 { return p.InService })
	add("UTILIZATION", column, func(p queuePoint) float64 { return p.Rho })
	if f.ttft == 0 && f.itl == 0 {
		return table, nil
	}
	table.Columns = append(table.Columns, console.Left("TARGETS"))
	for i, p := range a.Points {
		missed, err := f.missed(q, p)
		if err != nil {
			return console.Table{}, err
		}
		verdict := paint.Good("kept")
		if len(missed) > 0 {
			verdict = paint.Bad(strings.Join(missed, " and ") + " missed")
		}
		table.Rows[i] = append(table.Rows[i], verdict)
	}
	return table, nil
}

// missed returns the names of the targets that a point misses.
func (f *queueFlags) missed(q analyzer.QueueAnalyzer, p queuePoint) ([]string, error) {
	ttft, itl := p.TTFT, p.ITL
	if f.percentile > 0 {
		var ofTTFT, ofITL error
		ttft, ofTTFT = q.PercentileTTFT(p.Rate, f.percentile)
		itl, ofITL = q.PercentileITL(p.Rate, f.percentile)
		if err := errors.Join(ofTTFT, ofITL); err != nil {
			return nil, err
		}
	}
	const slack = 1e-9 // relative, for the point at the sized rate
	var names []string
	if f.ttft > 0 && ttft > f.ttft*(1+slack) {
		names = append(names, "TTFT")
	}
	if f.itl > 0 && itl > f.itl*(1+slack) {
		names = append(names, "ITL")
	}
	return names, nil
}

// targets returns the table of the rates that each target allows.
func (f *queueFlags) targets(s queueSize) console.Table {
	table := console.Table{Columns: []console.Column{
		console.Left("TARGET"), console.Right("WANTED"), console.Right("UP TO requests/s"), console.Right("AT THE RATE"), console.Left("UNIT"),
	}}
	of := percentileName(f.percentile)
	for _, t := range [...]struct {
		name, unit             string
		wanted, rate, achieved float64
	}{
		{"TTFT, " + of, "ms", f.ttft, s.RateTTFT, s.TTFT},
		{"ITL, " + of, "ms", f.itl, s.RateITL, s.ITL},
		{"TPS", "tokens/s", f.tps, s.RateTPS, s.TPS},
	} {
		wanted, rate := "none", "any"
		if t.wanted > 0 {
			wanted, rate = figure(t.wanted), figure(t.rate)
			if t.name == "TPS" && f.correct {
				rate = "from " + rate
			}
		}
		table.Rows = append(table.Rows, []string{t.name, wanted, rate, figure(t.achieved), t.unit})
	}
	return table
}

// verdict describes the rate that keeps all targets.
func (f *queueFlags) verdict(s queueSize) string {
	if f.ttft == 0 && f.itl == 0 && f.tps == 0 {
		return fmt.Sprintf("Without a target, one replica takes up to %s requests/s and serves %s.", figure(s.Rate), figure(s.Throughput))
	}
	text := fmt.Sprintf("One replica keeps the targets up to %s requests/s, of which it serves %s.", figure(s.Rate), figure(s.Throughput))
	if f.tps > 0 && !f.correct {
		text += "\nA TPS target, whatever its value, takes a tenth off the greatest rate here, as published."
	}
	return text
}
