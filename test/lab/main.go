package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"k8s.io/utils/clock"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/lab"
)

func main() {
	lab.CollectLess()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	begin, args := run, os.Args[1:]
	if len(args) > 0 {
		switch args[0] {
		case "zoo":
			begin, args = runZoo, args[1:]
		case "learning":
			begin, args = runLearning, args[1:]
		case "roles":
			begin, args = runRoles, args[1:]
		}
	}
	err := begin(ctx, args, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	traces, out, only, policies, commit, keep, zoo string
	seeds, foresight                               int
	dry                                            bool
}

// manySeeds is the default number of seeds of the matrix.
const manySeeds = 5

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("lab", flag.ContinueOnError)
	flags.StringVar(&o.traces, "traces", "", "folder with the traces and profiles.json")
	flags.StringVar(&o.out, "o", "docs/benchmarks.md", "document to write")
	flags.StringVar(&o.only, "only", "", "run only scenarios whose names match this regular expression")
	flags.StringVar(&o.policies, "policies", "all", "policies, separated by spaces, or all")
	flags.StringVar(&o.commit, "commit", "unknown", "that the program was built from, for the document")
	flags.IntVar(&o.seeds, "seeds", manySeeds, "number of seeds, from 1 on")
	flags.IntVar(&o.foresight, "foresight", foresight, "runs that the clairvoyant of a scenario may take, 0 leaves it out")
	flags.StringVar(&o.keep, "keep", "", "folder that keeps what runs came to: the same command goes on where it was, and of another build runs what is ours")
	flags.StringVar(&o.zoo, "zoo", "", "page of the zoo to take over, as lab zoo has written it")
	flags.BoolVar(&o.dry, "dry", false, "print the plan and the estimate, and end")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	switch {
	case o.traces == "":
		return o, errors.New("no folder of traces: make lab TRACES=folder")
	case o.seeds < 1:
		return o, fmt.Errorf("-seeds %d, want 1 or more", o.seeds)
	case o.foresight < 0:
		return o, fmt.Errorf("-foresight %d, want 0 or more", o.foresight)
	}
	return o, nil
}

// run prints the plan, runs it and writes the document.
func run(ctx context.Context, args []string, out io.Writer) (failed error) {
	o, err := parse(args)
	if err != nil {
		return err
	}
	plan, err := o.plan()
	if err != nil {
		return err
	}
	zoo := ""
	if o.zoo != "" {
		page, err := os.ReadFile(o.zoo)
		if err != nil {
			return fmt.Errorf("reading what the zoo found: %w", err)
		}
		zoo = section(string(page))
	}
	sizes, err := plan.Sizes(ctx)
	if err != nil {
		return err
	}
	printPlan(out, plan, sizes)
	if o.dry {
		return nil
	}
	watch := clock.RealClock{}
	began := watch.Now()
	options := lab.Options{OnProgress: progress(out, watch, began)}
	if o.keep != "" {
		known, err := openResults(o.keep)
		if err != nil {
			return err
		}
		defer func() { failed = errors.Join(failed, known.close()) }()
		build, err := buildOf(o.commit)
		if err != nil {
			return err
		}
		options.Reports = reports{known, build}
		options.Benchmarks = benchmarks{known, func(scenario string) string { return "matrix " + scenario }}
	}
	results, failure := lab.Execute(ctx, plan, options)
	if len(results.Scenarios) == 0 {
		return failure
	}
	took := watch.Since(began).Round(time.Second)
	var text strings.Builder
	write(&text, document{
		plan: plan, sizes: sizes, results: results, took: took, commit: o.commit, zoo: zoo, roles: writtenRoles(o.out),
		cores: runtime.GOMAXPROCS(0), subset: o.only != "" || o.policies != "all" || o.seeds != manySeeds || o.foresight != foresight,
	})
	if err := os.WriteFile(o.out, []byte(text.String()), 0o644); err != nil {
		return fmt.Errorf("writing the document: %w", err)
	}
	fmt.Fprintf(out, "%s written after %s\n", o.out, took)
	return failure
}

// foresight is the default number of runs for the clairvoyant of a scenario.
const foresight = 60

// plan returns the matrix, or the part of it that the flags choose.
func (o options) plan() (lab.Plan, error) {
	p := lab.Plan{Tune: true, Foresight: o.foresight}
	only, err := regexp.Compile(o.only)
	if err != nil {
		return p, fmt.Errorf("-only: %w", err)
	}
	all, err := matrix(o.traces)
	if err != nil {
		return p, err
	}
	for _, s := range all {
		if only.MatchString(s.Name) {
			p.Scenarios = append(p.Scenarios, s)
		}
	}
	if len(p.Scenarios) == 0 {
		return p, fmt.Errorf("no scenario matches -only %q: there are %s", o.only, strings.Join(names(all), ", "))
	}
	chosen := strings.Fields(o.policies)
	if slices.Equal(chosen, []string{"all"}) {
		// The manager decides every minute, and in between when it notices a change. The second row
		// shows the worth of deciding more often, spare-capacity that of the published rule.
		chosen = slices.Insert(lab.Names(), 1, lab.Saturation+":interval=15s")
		chosen = slices.DeleteFunc(chosen, func(name string) bool { return name == lab.Published })
	}
	if p.Choices, err = lab.ReadChoices(chosen); err != nil {
		return p, fmt.Errorf("-policies: %w", err)
	}
	for seed := range o.seeds {
		p.Seeds = append(p.Seeds, uint64(seed)+1)
	}
	return p, nil
}

func names(all []lab.Scenario) []string {
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = s.Name
	}
	return out
}

// printPlan prints the runs and how long they may take.
func printPlan(out io.Writer, p lab.Plan, sizes []lab.Size) {
	var total time.Duration
	fmt.Fprintf(out, "%d policies, seeds %s:\n", len(p.Choices), seeds(p.Seeds))
	for _, s := range sizes {
		took := estimate(s, p.Foresight)
		total += took
		fmt.Fprintf(out, "  %-22s %8d requests in %-8s  %3d runs, %3d to tune   about %s\n",
			s.Scenario, s.Survey.Requests, s.Survey.Span.Round(time.Minute), s.Runs, s.Tuning, took.Round(time.Second))
	}
	fmt.Fprintf(out, "about %s on %d processors\n\n", total.Round(time.Minute), runtime.GOMAXPROCS(0))
}

// estimate returns how long a scenario takes, by the time of requests and decisions in the mean
// over the policies, measured on one core of a server of 2024.
func estimate(s lab.Size, foresight int) time.Duration {
	const (
		perRequest = 4 * time.Microsecond
		perHour    = 25 * time.Millisecond // of virtual time: decisions and scrapes
	)
	one := time.Duration(s.Survey.Requests)*perRequest + time.Duration(s.Survey.Span.Hours()*float64(perHour))
	// Where the settings of hindsight differ they are run again: about half of the time.
	return time.Duration(s.Runs+s.Runs/2+s.Tuning+foresight) * one / time.Duration(runtime.GOMAXPROCS(0))
}

// progress prints a line for every tenth of a scenario.
func progress(out io.Writer, watch clock.PassiveClock, began time.Time) func(lab.Progress) {
	return func(p lab.Progress) {
		if p.Err != nil {
			fmt.Fprintf(out, "%s, seed %d: %v\n", p.Policy, p.Seed, p.Err)
		}
		if tenth := max(1, p.Total/10); p.Done && (p.Finished%tenth == 0 || p.Finished == p.Total) {
			fmt.Fprintf(out, "%8s  %d of %d  %-22s %d of %d runs\n", watch.Since(began).Round(time.Second), p.Number, p.Scenarios, p.Scenario, p.Finished, p.Total)
		}
	}
}
