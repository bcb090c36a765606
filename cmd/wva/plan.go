package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/console"
	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/core"
	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/manager"
	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/solver"
)

// planFlags are the flags of "wva plan".
type planFlags struct {
	file, output, solver string
	budget               time.Duration
	gap                  float64
}

func newPlanCommand() *cobra.Command {
	var f planFlags
	command := &cobra.Command{
		Use:   "plan -f FILE",
		Short: "Choose accelerator and replicas for every server of a system described in a file",
		Long: `Plan reads a system as JSON or YAML (accelerators, measured profiles, service
classes, servers with their load, accelerators in stock) and chooses for every
server the accelerator and the replicas that meet its objectives at the lowest
cost. pkg/config documents the file.

The greedy solver serves one server after the other, by priority. The exact one
serves the most servers of each priority, at the lowest cost, and proves it.
Numbers follow the published optimizer, in its simplifications too: a TPS target
takes a tenth off the greatest rate, and a server without load shows gamma + delta
as TTFT.

The exit status is 0 when there is a plan, also when servers get less than they
want (they are named); 1 when the file is not accepted, 2 for bad usage.`,
		Example: `  wva plan -f system.json
  wva plan -f system.yaml --solver exact --budget 30s --gap 0.01
  wva plan -f - -o json < system.json`,
		Args: noArguments,
		RunE: func(command *cobra.Command, _ []string) error { return f.run(command) },
	}
	flags := command.Flags()
	flags.StringVarP(&f.file, "file", "f", "", "`file` with the system, - for standard input")
	flags.StringVarP(&f.output, "output", "o", "table", "table or json")
	flags.StringVar(&f.solver, "solver", "greedy", "greedy or exact")
	flags.DurationVar(&f.budget, "budget", 10*time.Second, "how long --solver exact may search; the best plan so far is then shown with its bound")
	flags.Float64Var(&f.gap, "gap", 0, "how far --solver exact may stay from the proven best, as a ratio: 0.01 is 1 % of the cost, and 1 of 100 servers that a priority could still serve")
	return command
}

func (f planFlags) run(command *cobra.Command) error {
	if err := f.check(command.Flags().Changed); err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	out := command.OutOrStdout()
	result, err := f.plan(command.Context(), command.InOrStdin())
	if err != nil {
		if f.output == "json" {
			// A program that reads the answer is told there.
			err = errors.Join(err, writeJSON(out, failedPlan{Solution: config.Solution{Allocations: map[string]config.Allocation{}}, Error: err.Error()}))
		}
		return err
	}
	if f.output != "json" {
		return f.print(out, result)
	}
	for _, s := range result.Solution.Shortfalls {
		fmt.Fprintf(command.ErrOrStderr(), "wva: server %s %s: %s\n", s.Server, granted(s), s)
	}
	document, err := result.Document()
	if err != nil {
		return err
	}
	return writeJSON(out, document)
}

// failedPlan is the answer where there is no plan.
type failedPlan struct {
	config.Solution
	Error string `json:"error"`
}

func writeJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

func (f planFlags) check(changed func(name string) bool) error {
	switch {
	case f.file == "":
		return errors.New("--file is required: the system to plan for, - for standard input")
	case f.output != "table" && f.output != "json":
		return fmt.Errorf("--output %q: want table or json", f.output)
	case f.solver != "greedy" && f.solver != "exact":
		return fmt.Errorf("--solver %q: want greedy or exact", f.solver)
	case f.solver != "exact" && (changed("budget") || changed("gap")):
		return errors.New("--budget and --gap are for --solver exact")
	case f.budget <= 0:
		return fmt.Errorf("--budget %s: want a positive duration", f.budget)
	case !(f.gap >= 0 && f.gap < 1):
		return fmt.Errorf("--gap %g: want a ratio from 0 to below 1", f.gap)
	}
	return nil
}

func (f planFlags) plan(ctx context.Context, stdin io.Reader) (manager.Result, error) {
	text, err := f.read(stdin)
	if err != nil {
		return manager.Result{}, fmt.Errorf("reading the system: %w", err)
	}
	spec, err := config.Parse(text)
	if err != nil {
		return manager.Result{}, err
	}
	options := manager.Options{Rules: core.Published}
	if f.solver == "exact" {
		ctx, cancel := context.WithTimeout(ctx, f.budget)
		defer cancel()
		options.Exact = &solver.MIPOptions{Gap: f.gap, Stop: func() bool { return ctx.Err() != nil }}
	}
	return manager.Optimize(spec, options)
}

func (f planFlags) read(stdin io.Reader) ([]byte, error) {
	if f.file == "-" {
		return io.ReadAll(stdin)
	}
	return os.ReadFile(f.file)
}

// print writes the plan as text.
func (f planFlags) print(w io.Writer, r manager.Result) error {
	s := r.Solution
	servers := console.Table{Columns: []console.Column{
		console.Left("SERVER"), console.Left("ACCELERATOR"), console.Right("REPLICAS"), console.Right("BATCH"),
		console.Right("COST/h"), console.Right("ITL ms"), console.Right("TTFT ms"),
	}}
	for _, a := range s.Assignments {
		replicas := strconv.Itoa(a.Replicas)
		if a.Replicas < a.Wanted {
			replicas = fmt.Sprintf("%d of %d", a.Replicas, a.Wanted)
		}
		servers.Rows = append(servers.Rows, []string{
			a.Server, a.Accelerator, replicas, strconv.Itoa(a.MaxBatch),
			decimal(a.Cost), decimal(a.ITL), decimal(a.TTFT),
		})
	}
	types := console.Table{Columns: []console.Column{
		console.Left("TYPE"), console.Right("USED"), console.Right("IN STOCK"), console.Right("COST/h"),
	}}
	for _, t := range r.ByType {
		types.Rows = append(types.Rows, []string{t.Type, strconv.Itoa(t.Count), strconv.Itoa(t.Limit), decimal(t.Cost)})
	}
	err := servers.Write(w)
	if len(types.Rows) > 0 {
		fmt.Fprintln(w)
		err = errors.Join(err, types.Write(w))
	}
	fmt.Fprintf(w, "\nCost %s per hour.", decimal(s.Cost))
	if f.solver == "exact" {
		fmt.Fprintf(w, " With moves %s, proven to be at least %s: %s, gap %.2f %%.",
			decimal(s.Objective), decimal(s.Proof.Bound), s.Proof.Status, 100*s.Proof.Gap)
	}
	fmt.Fprintln(w)
	for _, short := range s.Shortfalls {
		fmt.Fprintf(w, "%s %s: %s\n", short.Server, granted(short), short)
	}
	return err
}

// granted describes how many replicas a server got that wants more.
func granted(s solver.Shortfall) string {
	switch s.Got {
	case 0:
		return "gets none"
	case 1:
		return "gets 1 replica, less than it wants"
	}
	return fmt.Sprintf("gets %d replicas, less than it wants", s.Got)
}

// decimal renders a number for a table.
func decimal(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }
