package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/console"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/queueing"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// decideFlags are the flags of "wva decide".
type decideFlags struct {
	file, output string
}

func newDecideCommand() *cobra.Command {
	var f decideFlags
	command := &cobra.Command{
		Use:   "decide -f FILE",
		Short: "Decide one cycle from a file, without a cluster",
		Long: `Decide reads a cycle as JSON (what was known of each model, the configuration
in force, what was decided before) and decides it as the manager would: the same
code, so the same answer. It takes a line of the file that the manager records
(--record-file), with its plan or without, or a case that you wrote.
docs/reference/record.md documents the file.

It prints the plan, and for each variant what "wva explain" would say; with
-o json the plan with every step.

The exit status is 0 when there is a plan, 1 when the file is not accepted, 2 for
bad usage.`,
		Example: `  wva decide -f case.json
  tail -n 1 cycles.jsonl | wva decide -f - -o json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("%w: decide takes no arguments, have %q; the file is named by -f", errUsage, args)
			}
			return nil
		},
		RunE: func(command *cobra.Command, _ []string) error { return f.run(command) },
	}
	flags := command.Flags()
	flags.StringVarP(&f.file, "file", "f", "", "`file` with the cycle, - for standard input")
	flags.StringVarP(&f.output, "output", "o", "table", "table or json")
	return command
}

func (f decideFlags) run(command *cobra.Command) error {
	switch {
	case f.file == "":
		return fmt.Errorf("%w: --file is required: the cycle to decide, - for standard input", errUsage)
	case f.output != "table" && f.output != "json":
		return fmt.Errorf("%w: --output %q: want table or json", errUsage, f.output)
	}
	text, err := f.read(command.InOrStdin())
	if err != nil {
		return fmt.Errorf("reading the cycle: %w", err)
	}
	c, err := record.Decode(text)
	if err != nil {
		return fmt.Errorf("reading the cycle in %s: %w", f.file, err)
	}
	verdict := decideAgain(c)
	if c.Plan != nil && !record.SamePlan(*c.Plan, verdict.Plan) {
		fmt.Fprintln(command.ErrOrStderr(), "wva: the file holds another plan than this one; wva replay shows the difference")
	}
	if f.output == "json" {
		var out bytes.Buffer
		if err := json.Indent(&out, record.AppendPlan(nil, verdict.Plan), "", "  "); err != nil {
			return fmt.Errorf("writing the plan: %w", err)
		}
		_, err := fmt.Fprintln(command.OutOrStdout(), out.String())
		return err
	}
	return printVerdict(command.OutOrStdout(), c, verdict)
}

// read returns the text of the cycle.
func (f decideFlags) read(stdin io.Reader) ([]byte, error) {
	from := stdin
	if f.file != "-" {
		file, err := os.Open(f.file)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		from = file
	}
	text, err := io.ReadAll(io.LimitReader(from, record.MaxLine+1))
	if len(text) > record.MaxLine {
		err = errors.Join(err, fmt.Errorf("%s is longer than %d bytes, no cycle", f.file, record.MaxLine))
	}
	return text, err
}

// decideAgain decides what a record holds, as the manager does.
func decideAgain(c record.Cycle) cycle.Verdict {
	setup, from := cycle.FromRecord(c)
	return setup.Decide(from)
}

// printVerdict writes the plan as a table, then the reasons of each variant.
func printVerdict(w io.Writer, c record.Cycle, verdict cycle.Verdict) error {
	table := console.Table{Columns: []console.Column{
		console.Left("NAMESPACE"), console.Left("VARIANT"), console.Right("CURRENT"), console.Right("DECIDED"), console.Left("STAGE"), console.Left("REASON"),
	}}
	for _, d := range verdict.Plan.Decisions {
		cause := d.Cause()
		table.Rows = append(table.Rows, []string{
			d.Variant.Namespace, d.Variant.Name, strconv.Itoa(int(d.Current)), strconv.Itoa(int(d.Target())), string(cause.Stage), string(cause.Reason),
		})
	}
	if err := table.Write(w); err != nil {
		return err
	}
	fmt.Fprintln(w, "\nNo decision depends on scalers; the file does not hold them, and what follows does not know them.")
	for _, s := range c.Snapshots {
		for _, v := range s.Variants {
			if _, err := fmt.Fprintf(w, "\n%s", explain.Report(explanation(c, verdict, s, v), c.Now)); err != nil {
				return err
			}
		}
	}
	return nil
}

// explanation is what there is to say of the decision for one variant.
func explanation(c record.Cycle, verdict cycle.Verdict, s scaling.Snapshot, v scaling.Variant) explain.Explanation {
	e := explain.Explanation{
		Cycle: cmp.Or(c.Cycle, "-"), At: c.Now, Interval: explain.Duration(c.Interval), Variant: v, Past: verdict.History[v.Key], Snapshot: s,
		Objective: objective(c.Configuration[s.Model]),
		StartUps:  explain.StartUps{Usual: explain.Duration(v.StartUp), Slow: explain.Duration(v.SlowStartUp), Pods: v.StartUps, Last: v.Replicas.NewestReady},
	}
	if i := slices.IndexFunc(verdict.Analyses, func(a scaling.Analysis) bool { return a.Model == s.Model }); i >= 0 {
		e.Analysis = verdict.Analyses[i] // of several, the first decided
	}
	if i := slices.IndexFunc(verdict.Analyses, func(a scaling.Analysis) bool { return a.Model == s.Model && a.Analyzer == queueing.Name }); i >= 0 {
		e.Sizing = verdict.Analyses[i]
	}
	for _, d := range verdict.Plan.Decisions {
		if d.Model == s.Model {
			e.Model = append(e.Model, d)
		}
		if d.Variant == v.Key {
			e.Decision, e.Decided = d, true
			if !d.Fallback {
				e.AnalyzedAt = c.Now
			}
		}
	}
	return e
}

// objective is what requests of a model were to meet.
func objective(p record.ModelSettings) explain.Objective {
	o := explain.Objective{Objective: p.Objective}
	if o.Set() {
		o.TTFTPercentile, o.ITLPercentile = p.Sizing.TTFTPercentile, p.Sizing.ITLPercentile
	}
	return o
}
