package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/utils/clock"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/lab"
)

// simulateFlags are the flags of "wva simulate".
type simulateFlags struct {
	workload                  string
	lengths                   string
	inputTokens, outputTokens int
	peak                      float64
	take                      time.Duration
	store                     simulateStore

	scenario           string
	profile            string
	sloTTFT, sloITL    time.Duration
	attainment         float64
	cost               float64
	startUp, deviation time.Duration
	minimum, maximum   int
	stock              int
	routing            string

	policies []string
	tune     bool
	foresee  bool
	seeds    []uint
	list     bool
	output   string
	report   string
	workers  int
	quiet    bool
}

func newSimulateCommand() *cobra.Command {
	var f simulateFlags
	command := &cobra.Command{
		Use:   "simulate --workload FILE|GENERATOR | --from-prometheus URL",
		Short: "Run a workload against policies in virtual time: attainment, latencies and cost of each",
		Long: `Simulate runs a workload against a simulated fleet under each policy, in virtual
time: no cluster and no GPU. It tells what each would have attained and cost.
The policies "saturation", "tokens", "queueing" and "hybrid" are the code that the
manager runs.

The workload is a file or a generator. Files are request logs with the columns
arrival_s, input_tokens, output_tokens, those of Azure, BurstGPT and Mooncake as
published, or a curve of rates with the columns window_start_s, requests_per_s.
A generator is a list of segments with rates in requests/s:
  constant(8,60s)  ramp(0.5->8,60s)  step(1->8,20s,60s)  sine(1->8,30s,120s)
  onoff(4,5m,10m,1h)  flash(1->20,2m,45s,10m)  gamma(8,60s,cv=3)
With --from-prometheus it is what your Prometheus recorded of a model; secrets are
taken from PROMETHEUS_BEARER_TOKEN or PROMETHEUS_PASSWORD.

Without further flags, this project's default policy runs one variant of an 8B
model. A scenario file describes several models, variants and a stock of nodes,
and may hold the workload as well.

The exit status is 0 when everything ran, 1 when it did not, with what had
finished, 2 for bad usage.`,
		Example: `  wva simulate --workload 'sine(1->12,1h,4h)'
  wva simulate --workload azure.csv --policy saturation --policy hpa-queue:target=3 --policy kpa
  wva simulate --workload azure.csv --scenario fleet.yaml --policy all --tune -o csv
  wva simulate --from-prometheus https://prometheus:9090 --model meta/llama-3.1-8b --from 24h
  wva simulate --list-policies`,
		Args: noArguments,
		RunE: func(command *cobra.Command, _ []string) error { return f.run(command) },
	}
	f.register(command.Flags())
	return command
}

func (f *simulateFlags) register(flags *pflag.FlagSet) {
	const milliseconds = time.Millisecond
	flags.StringVar(&f.workload, "workload", "", "file, or generator such as 'sine(1->12,1h,4h)'")
	flags.StringVar(&f.lengths, "lengths", "chat", "lengths of generated requests: chat or constant")
	flags.IntVar(&f.inputTokens, "input-tokens", 161, "mean length of generated prompts, tokens")
	flags.IntVar(&f.outputTokens, "output-tokens", 338, "mean length of generated answers, tokens")
	flags.Float64Var(&f.peak, "peak", 0, "scale a curve of rates to this highest rate, requests/s; 0 leaves it alone")
	flags.DurationVar(&f.take, "take", 0, "of a curve of rates, so much from its start; 0 takes all")

	f.store.register(flags)

	flags.StringVar(&f.scenario, "scenario", "", "YAML `file` with models, variants and nodes, instead of the flags below")
	flags.StringVar(&f.profile, "profile", "", "what a replica can do: a JSON or YAML `file`, or the name of a built-in profile (default "+defaultProfile+")")
	flags.DurationVar(&f.sloTTFT, "slo-ttft", lab.DefaultTTFT*milliseconds, "objective for the time to first token, 0 for none")
	flags.DurationVar(&f.sloITL, "slo-itl", lab.DefaultITL*milliseconds, "objective for a request's mean inter-token latency, 0 for none")
	flags.Float64Var(&f.attainment, "attainment", lab.DefaultTarget, "part of the requests that should meet both, a ratio")
	flags.Float64Var(&f.cost, "cost", 1, "of a replica, cost units per hour")
	flags.DurationVar(&f.startUp, "start-up", lab.DefaultStartUp, "mean time from placing a replica to ready")
	flags.DurationVar(&f.deviation, "start-up-deviation", lab.DefaultStartUpDeviation, "its standard deviation")
	flags.IntVar(&f.minimum, "min-replicas", 1, "replicas that are always kept")
	flags.IntVar(&f.maximum, "max-replicas", 16, "replicas at most, as of an HPA; 0 for no limit")
	flags.IntVar(&f.stock, "stock", -1, "accelerators that there are, -1 for no limit")
	flags.StringVar(&f.routing, "routing", "kv-aware", "of the gateway: "+sim.Routings)

	flags.StringArrayVar(&f.policies, "policy", nil, "`NAME[:param=value,...]`, or all; may be repeated (default: that of the manager, hybrid where a model has an objective, else tokens)")
	flags.BoolVar(&f.tune, "tune", false, "tune policies of others without parameters on a first part of the workload, and judge all on the rest")
	flags.BoolVar(&f.foresee, "clairvoyant", false, "also look for the best schedule knowing every arrival (default: with --report)")
	flags.UintSliceVar(&f.seeds, "seed", []uint{1, 2, 3, 4, 5}, "of arrivals, lengths and start-up times; 1 reads a log as recorded; may be repeated")
	flags.BoolVar(&f.list, "list-policies", false, "list the policies with their parameters, and end")
	flags.StringVarP(&f.output, "output", "o", "table", "format: table, json or csv")
	flags.StringVar(&f.report, "report", "", "also write an HTML report that opens offline to this `file`")
	flags.IntVar(&f.workers, "parallel", 0, "runs at the same time, 0 for one on each processor")
	flags.BoolVar(&f.quiet, "quiet", false, "no progress while running")
}

// run simulates. It prints the results to the command's output, and progress to its error output.
func (f *simulateFlags) run(command *cobra.Command) error {
	if f.list {
		return listPolicies(command.OutOrStdout(), f.output)
	}
	lab.CollectLess()
	plan, err := f.plan(command.Flags().Changed)
	if err == nil && f.store.url == "" {
		plan.Scenarios[0].Workload, err = f.workloadOf(plan.Scenarios[0], command.Flags().Changed)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	if f.store.url != "" {
		notes := command.ErrOrStderr()
		if f.quiet {
			notes = io.Discard
		}
		if plan.Scenarios[0].Workload, err = f.store.source(command.Context(), clock.RealClock{}.Now(), notes); err != nil {
			return err
		}
	}
	if err := f.canReport(); err != nil {
		return err
	}
	options := lab.Options{Workers: f.workers}
	finish := func() {}
	if !f.quiet {
		options.OnProgress, finish = showSimulation(command.ErrOrStderr(), plan)
	}
	results, err := lab.Execute(command.Context(), plan, options)
	finish()
	if len(results.Scenarios) > 0 {
		err = errors.Join(err, f.print(command.OutOrStdout(), results), f.writeReport(plan, results))
	}
	return simulateFailure(command.Context(), err, len(results.Scenarios) > 0)
}

// simulateFailure returns the error of a simulation that ended early. some is whether there are
// results.
func simulateFailure(ctx context.Context, err error, some bool) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && some:
		return errors.New("interrupted: above is what had finished")
	case ctx.Err() != nil:
		return errors.New("interrupted before any run had finished")
	}
	return err
}

// print writes the results in the chosen format.
func (f *simulateFlags) print(w io.Writer, r lab.Results) error {
	switch f.output {
	case "csv":
		return r.WriteCSV(w)
	case "json":
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(r); err != nil {
			return fmt.Errorf("writing the results: %w", err)
		}
		return nil
	default:
		return simulateTable(w, r)
	}
}

// canReport checks before the simulation whether a report can be written. It does not change an
// existing one.
func (f *simulateFlags) canReport() error {
	if f.report == "" {
		return nil
	}
	file, err := os.OpenFile(f.report, os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return fmt.Errorf("%w: --report: %w", errUsage, err)
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("--report: %w", err)
	}
	return nil
}

// writeReport writes the HTML report, if --report is set.
func (f *simulateFlags) writeReport(plan lab.Plan, r lab.Results) error {
	if f.report == "" {
		return nil
	}
	file, err := os.Create(f.report)
	if err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return errors.Join(simulateReport(file, plan, r), file.Close())
}
