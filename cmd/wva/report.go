package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/shadow"
)

// missPrice is the default price of a missed request.
const missPrice = 0.01

// reportFlags are the flags of "wva report".
type reportFlags struct {
	store     reportStore
	records   []string
	from, to  string
	namespace string
	output    string
	missPrice float64
	now       func() time.Time
}

func newReportCommand() *cobra.Command {
	f := reportFlags{now: time.Now}
	command := &cobra.Command{
		Use:   "report",
		Short: "Compare what ran with what the manager decided: GPU hours, cost, requests within their objectives",
		Long: `Report reads a time of decisions and compares, for each model, the replicas that
ran with those that were decided on: GPU hours, cost, the part of the requests
within the objectives, and what each cost more than the cheapest replicas in
hindsight. It is for models in advisory mode, whose decisions are not carried out
while another autoscaler scales them; where decisions were carried out, both are
about the same. It lists the five decisions that differ most, with their reasons.

--record reads files of recorded cycles (--record-file of the manager). They hold
the inputs of every decision, so the report knows what was measured, and decides
again to know what a replica was expected to carry. Name FILE.1 before FILE.
--prometheus reads the metrics of the manager instead: replicas, GPU hours and
cost, without what the load was expected to need.

What was decided is what would have run: each number counts from its decision on,
and a replica serves once it was decided on for as long as pods of its variant
usually take to start. Decisions were made from what ran and what it showed, not
from what would have run. The report says what else it assumes.`,
		Example: `  wva report --record cycles.jsonl.1 cycles.jsonl
  wva report --record cycles.jsonl --from 24h -o html > report.html
  wva report --prometheus https://prometheus:9090 --from 7d -n prod`,
		RunE: f.run,
	}
	flags := command.Flags()
	flags.StringArrayVar(&f.records, "record", nil, "`file` of recorded cycles, - for standard input; further files are arguments")
	flags.StringVar(&f.from, "from", "7d", "beginning: a time such as 2026-01-31T08:00:00Z, or so long ago; of a record all of it, unless given")
	flags.StringVar(&f.to, "to", "0s", "end, likewise")
	flags.StringVarP(&f.namespace, "namespace", "n", "", "only models of this `namespace`")
	flags.StringVarP(&f.output, "output", "o", "table", "table, json or html")
	flags.Float64Var(&f.missPrice, "miss-price", missPrice, "price of a request that misses its objectives, in the unit of the costs")
	f.store.register(flags)
	return command
}

// reported is the content of a report.
type reported struct {
	From      time.Time      `json:"from"`
	To        time.Time      `json:"to"`
	Source    string         `json:"source"`
	MissPrice float64        `json:"missPrice"`
	Models    []shadow.Model `json:"models"`
	Total     shadow.Total   `json:"total"`
	Assumes   []string       `json:"assumes"`
}

// modelCycles are the cycles of each model in order of time, and its last objectives.
type modelCycles struct {
	of         map[scaling.ModelKey][]shadow.ModelCycle
	objectives map[scaling.ModelKey]scaling.Objective
	source     string
	assumes    []string
}

func (f *reportFlags) run(command *cobra.Command, args []string) error {
	if err := f.check(args, command.Flags().Changed); err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	from, to, err := f.span(command.Flags().Changed)
	if err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	found, err := f.read(command.Context(), from, to, command.InOrStdin(), command.ErrOrStderr(), append(slices.Clone(f.records), args...))
	if err != nil {
		return err
	}
	r := f.compare(found, to)
	if len(r.Models) == 0 {
		return errors.New("there is no decision in what was read" + f.within(from, to))
	}
	switch out := command.OutOrStdout(); f.output {
	case "json":
		return writeJSON(out, r)
	case "html":
		return reportHTML(out, r)
	default:
		return r.print(out)
	}
}

// check returns an error for wrong flags.
func (f *reportFlags) check(args []string, changed func(string) bool) error {
	switch {
	case !slices.Contains([]string{"table", "json", "html"}, f.output):
		return fmt.Errorf("--output %q: want table, json or html", f.output)
	case len(f.records) == 0 && len(args) > 0:
		return fmt.Errorf("report takes no arguments without --record, have %q", args)
	case len(f.records) == 0 && f.store.url == "":
		return errors.New("report takes --record FILE, with cycles that a manager recorded, or --prometheus URL")
	case len(f.records) > 0 && f.store.url != "":
		return errors.New("--record and --prometheus: want one of them")
	case !(f.missPrice >= 0 && f.missPrice < 1e12):
		return fmt.Errorf("--miss-price %g: want a number of 0 or more", f.missPrice)
	}
	return f.store.check(changed)
}

// span returns the reported time; the zero time is an open end.
func (f *reportFlags) span(changed func(string) bool) (from, to time.Time, err error) {
	now := f.now()
	if len(f.records) == 0 || changed("from") {
		if from, err = moment(f.from, now); err != nil {
			return from, to, fmt.Errorf("--from: %w", err)
		}
	}
	if len(f.records) == 0 || changed("to") {
		if to, err = moment(f.to, now); err != nil {
			return from, to, fmt.Errorf("--to: %w", err)
		}
	}
	if !from.IsZero() && !to.IsZero() && !to.After(from) {
		return from, to, fmt.Errorf("--from %s is not before --to %s", f.from, f.to)
	}
	return from, to, nil
}

// within describes the limits of the report.
func (f *reportFlags) within(from, to time.Time) string {
	var text string
	if f.namespace != "" {
		text += ", in namespace " + f.namespace
	}
	if !from.IsZero() {
		text += ", from " + from.UTC().Format(time.RFC3339)
	}
	if !to.IsZero() {
		text += ", to " + to.UTC().Format(time.RFC3339)
	}
	return text
}

func (f *reportFlags) read(ctx context.Context, from, to time.Time, stdin io.Reader, warnings io.Writer, files []string) (modelCycles, error) {
	if f.store.url != "" {
		return f.store.read(ctx, from, to, f.namespace)
	}
	r := cyclesOfRecords{from: from, to: to, namespace: f.namespace, warnings: warnings, stdin: stdin}
	return r.read(ctx, files)
}

// compare compares the replicas that ran with the decided ones, for each model.
func (f *reportFlags) compare(l modelCycles, to time.Time) reported {
	r := reported{Source: l.source, MissPrice: f.missPrice, Models: []shadow.Model{}, Assumes: l.assumes}
	for _, key := range slices.SortedFunc(maps.Keys(l.of), scaling.ModelKey.Compare) {
		m := shadow.Compare(key, l.objectives[key], l.of[key], shadow.Options{To: to, MissPrice: f.missPrice})
		if r.From.IsZero() || m.From.Before(r.From) {
			r.From = m.From
		}
		if m.To.After(r.To) {
			r.To = m.To
		}
		r.Models = append(r.Models, m)
	}
	r.Total = shadow.Sum(r.Models)
	return r
}
