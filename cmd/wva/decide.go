package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/console"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/counterfactual"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/replay"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// decideFlags are the flags of "wva decide".
type decideFlags struct {
	file, output string
	why          bool
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
-o json the plan with every step. With --why it also answers for each variant why
there is not one replica fewer, why another variant does not serve instead, and what
would change the decision: each answer is decided again with other readings or
limits. -o json then prints an object with the plan and the answers.

The exit status is 0 when there is a plan, 1 when the file is not accepted, 2 for
bad usage.`,
		Example: `  wva decide -f case.json
  wva decide -f case.json --why
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
	flags.BoolVar(&f.why, "why", false, "also say why not fewer replicas or another variant, and what would change the decision")
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
	verdict := replay.Decide(c)
	if c.Plan != nil && !record.SamePlan(*c.Plan, verdict.Plan) {
		fmt.Fprintln(command.ErrOrStderr(), "wva: the file holds another plan than this one; wva replay shows the difference")
	}
	var why []counterfactual.Answers
	if f.why {
		if why, err = allAnswers(command.Context(), c, verdict.Plan); err != nil {
			return err
		}
	}
	if f.output == "json" {
		return f.printJSON(command.OutOrStdout(), verdict.Plan, why)
	}
	return printVerdict(command.OutOrStdout(), c, verdict, why)
}

// printJSON writes the plan, and the answers if the user asked for them.
func (f decideFlags) printJSON(w io.Writer, plan scaling.Plan, why []counterfactual.Answers) error {
	text := record.AppendPlan(nil, plan)
	if f.why {
		return writeJSON(w, struct {
			Plan            json.RawMessage          `json:"plan"`
			Counterfactuals []counterfactual.Answers `json:"counterfactuals"`
		}{text, why})
	}
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return fmt.Errorf("writing the plan: %w", err)
	}
	_, err := fmt.Fprintln(w, out.String())
	return err
}

// allAnswers returns the answers for every decision of a plan that this program made of c. It ends
// early with ctx.
func allAnswers(ctx context.Context, c record.Cycle, plan scaling.Plan) ([]counterfactual.Answers, error) {
	out := make([]counterfactual.Answers, 0, len(plan.Decisions))
	c.Plan = nil
	for _, d := range plan.Decisions {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		a, err := replay.Answers(c, d.Variant)
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
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

// printVerdict writes the plan as a table, then the explanation of each variant with its answers.
func printVerdict(w io.Writer, c record.Cycle, verdict cycle.Verdict, why []counterfactual.Answers) error {
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
			e := explained{Explanation: replay.Explanation(c, verdict, s, v)}
			if i := slices.IndexFunc(why, func(a counterfactual.Answers) bool { return a.Variant == v.Key }); i >= 0 {
				e.Counterfactuals = &why[i]
			}
			if _, err := fmt.Fprintf(w, "\n%s", e.report(c.Now)); err != nil {
				return err
			}
		}
	}
	return nil
}
