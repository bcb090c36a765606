package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/clock"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/console"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/lab"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/policy"
)

// simulation shows the progress of a lab.
type simulation struct {
	live    *console.Live
	redraws bool
	clock   clock.PassiveClock
	shown   time.Time
	running map[string]lab.Progress // by policy and seed
}

// showSimulation returns the functions that a lab calls with its progress and at its end.
func showSimulation(w io.Writer, p lab.Plan) (func(lab.Progress), func()) {
	terminal := console.Detect(w, os.Getenv)
	s := &simulation{
		live: console.NewLive(w, console.LiveOptions{Terminal: terminal}), redraws: terminal.Interactive,
		clock: clock.RealClock{}, running: map[string]lab.Progress{},
	}
	one := p.Scenarios[0]
	// A closed terminal must not end the simulation, here and below.
	policies := fmt.Sprintf("%d policies", len(p.Choices))
	if len(p.Choices) == 1 {
		policies = p.Choices[0].String()
	}
	_ = s.live.Print(fmt.Sprintf("simulating %s: %s, seeds %s", one.Workload.Name, policies, simulateSeeds(p.Seeds)))
	return s.tell, func() {
		if s.redraws { // the runs have ended
			_ = s.live.Update(nil, nil)
		}
		_ = s.live.Close()
	}
}

// tell shows one event: on a terminal the current runs, at most ten times a second; elsewhere a
// line for each run that has ended.
func (s *simulation) tell(p lab.Progress) {
	const often = 100 * time.Millisecond
	key := fmt.Sprintf("%s %d %t", p.Policy, p.Seed, p.Tuning)
	s.running[key] = p
	if p.Done {
		delete(s.running, key)
		if !s.redraws {
			_ = s.live.Print(simulateLine(p))
		}
	}
	if now := s.clock.Now(); s.redraws && now.Sub(s.shown) >= often {
		s.shown = now
		s.draw(p)
	}
}

func (s *simulation) draw(last lab.Progress) {
	columns := []console.Column{console.Left("POLICY"), console.Right("SEED"), console.Left(""), console.Right("VIRTUAL TIME")}
	var rows [][]string
	for _, p := range s.running {
		bar := ""
		at := p.At.Round(time.Second).String()
		if p.Of > 0 {
			bar = console.Bar(float64(p.At)/float64(p.Of), 20)
			at += " of " + p.Of.Round(time.Second).String()
		}
		rows = append(rows, []string{p.Policy.String(), fmt.Sprint(p.Seed), bar, at})
	}
	slices.SortFunc(rows, slices.Compare)
	footer := fmt.Sprintf("%d of %d runs have ended", last.Finished, last.Total)
	_ = s.live.Update(columns, rows, footer)
}

// simulateLine describes the result of one run.
func simulateLine(p lab.Progress) string {
	what := ""
	if p.Tuning {
		what = "tuning, "
	}
	line := fmt.Sprintf("%d of %d: %s, %sseed %d: ", p.Finished, p.Total, p.Policy, what, p.Seed)
	if p.Err != nil {
		return line + p.Err.Error()
	}
	return line + fmt.Sprintf("%.1f %% attained, cost %.2f", 100*p.Result.Attainment, p.Result.Cost)
}

func simulateSeeds(seeds []uint64) string {
	return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(seeds)), ", "), "[]")
}

// simulateTable writes the results as text.
func simulateTable(w io.Writer, r lab.Results) error {
	paint := console.Detect(w, os.Getenv).Paint()
	for i, s := range r.Scenarios {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s: %d requests in %s; target %g %% within both objectives; mean over seeds %s\n\n",
			s.Workload, s.Requests, time.Duration(s.Span*float64(time.Second)).Round(time.Second), 100*s.Target, simulateSeeds(r.Seeds))
		t := console.Table{Columns: []console.Column{
			console.Left("POLICY"), console.Right("ATTAINED"), console.Right("WORST HOUR"), console.Right("COST"), console.Right("REPLICA-H"),
			console.Right("GOODPUT/s"), console.Right("TTFT ms P50"), console.Right("P90"), console.Right("P99"),
			console.Right("ITL ms P50"), console.Right("P90"), console.Right("P99"),
			console.Right("SCALED"), console.Right("COLD"), console.Right("LOST"), console.Right("FAILED"), console.Right("VIOLATED"),
		}}
		for _, row := range s.Rows {
			t.Rows = append(t.Rows, simulateRow(row, s.Target, paint))
		}
		if err := t.Write(w); err != nil {
			return fmt.Errorf("writing the results: %w", err)
		}
		simulateNotes(w, s)
	}
	return nil
}

func simulateRow(row lab.Row, target float64, paint console.Paint) []string {
	m := row.Measures
	attained := m.Attainment.Text(100, 1) + " %"
	if m.Attainment.Mean >= target {
		attained = paint.Good(attained)
	} else {
		attained = paint.Bad(attained)
	}
	cells := []string{row.Policy.String(), attained, fmt.Sprintf("%.1f %%", 100*m.WorstHour.Mean), m.Cost.Text(1, 2)}
	for _, c := range []struct {
		of       lab.Spread
		decimals int
	}{
		{m.ReplicaHours, 2},
		{m.Goodput, 2},
		{m.TTFTP50, 0},
		{m.TTFTP90, 0},
		{m.TTFTP99, 0},
		{m.ITLP50, 1},
		{m.ITLP90, 1},
		{m.ITLP99, 1},
		{m.ScaleEvents, 0},
		{m.ColdStarts, 0},
		{m.Lost, 0},
		{m.Failed, 0},
	} {
		cells = append(cells, fmt.Sprintf("%.*f", c.decimals, c.of.Mean))
	}
	return append(cells, fmt.Sprintf("%.1f %%", 100*m.Violation.Mean))
}

// simulateNotes writes what the table omits: errors, and the verdict.
func simulateNotes(w io.Writer, s lab.ScenarioResults) {
	if s.TooLong > 0 {
		fmt.Fprintf(w, "\n%d of the requests (%.1f %%) are longer than a replica's KV cache or maxModelLen: FAILED under every policy.\n",
			s.TooLong, 100*float64(s.TooLong)/float64(s.Requests))
	}
	for _, row := range s.Rows {
		if row.Error != "" {
			fmt.Fprintf(w, "\n%s finished with %d of the seeds only: %s\n", row.Policy, len(row.Runs), row.Error)
		}
	}
	if len(s.Rows) < 2 && s.Clairvoyant == nil {
		return
	}
	fmt.Fprintln(w)
	for _, sentence := range s.Verdict() {
		fmt.Fprintln(w, sentence)
	}
}

// listPolicies writes the catalogue as a table or as JSON.
func listPolicies(w io.Writer, format string) error {
	all := lab.Catalogue()
	if format == "json" {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(all); err != nil {
			return fmt.Errorf("writing the policies: %w", err)
		}
		return nil
	}
	if format != "table" {
		return fmt.Errorf("%w: --output %q, want table or json with --list-policies", errUsage, format)
	}
	for _, d := range all {
		fmt.Fprintf(w, "%s (%s), every %s\n  reads %s\n", d.Name, d.Source, d.Interval, d.Reads)
		t := console.Table{Columns: []console.Column{console.Left(""), console.Left(""), console.Left("")}}
		for _, p := range d.Params {
			t.Rows = append(t.Rows, []string{"   ", p.Name + "=" + p.Default, p.Doc + simulateGrid(d, p.Name)})
		}
		if err := t.Write(w); err != nil {
			return fmt.Errorf("writing the policies: %w", err)
		}
	}
	return nil
}

// simulateGrid returns the values over which a parameter is tuned.
func simulateGrid(d policy.Definition, name string) string {
	var values []string
	for _, point := range d.Grid {
		if v, ok := point[name]; ok && !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return ""
	}
	return "; tuned over " + strings.Join(values, ", ")
}
