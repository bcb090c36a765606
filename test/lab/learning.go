package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/lab"
)

// learningOptions are the flags of "lab learning".
type learningOptions struct {
	traces, only, out string
	seed              uint64
	n, workers        int
	hours             int
}

func parseLearning(args []string) (learningOptions, error) {
	var o learningOptions
	flags := flag.NewFlagSet("lab learning", flag.ContinueOnError)
	flags.StringVar(&o.traces, "traces", "", "folder with traces and profiles.json")
	flags.StringVar(&o.only, "only", "", "run only scenarios whose names match this regular expression")
	flags.StringVar(&o.out, "o", "", "file for the page, which is printed too")
	flags.Uint64Var(&o.seed, "seed", 0, "of scenarios that are drawn; 0 runs the matrix")
	flags.IntVar(&o.n, "n", defaultDrawn, "scenarios that are drawn")
	flags.IntVar(&o.hours, "hours", 6, "that a scenario has at least: shorter traces are repeated with other arrivals")
	flags.IntVar(&o.workers, "parallel", 0, "scenarios at the same time, 0 for one on each processor")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	switch {
	case o.traces == "":
		return o, errors.New("no folder of traces: make lab-learning TRACES=folder")
	case o.n < 1 || o.workers < 0:
		return o, fmt.Errorf("-n %d and -parallel %d, want 1 or more, and 0 or more", o.n, o.workers)
	case o.hours < 3:
		return o, fmt.Errorf("-hours %d, want 3 or more: what is judged begins after two", o.hours)
	}
	return o, nil
}

// defaultDrawn is the default number of drawn scenarios.
const defaultDrawn = 100

// Our policy with different profiles stated by the user.
const (
	trueProfiles   = lab.Hybrid
	noProfiles     = lab.Hybrid + ":profiles=none"
	halfProfiles   = lab.Hybrid + ":profiles=0.5"
	doubleProfiles = lab.Hybrid + ":profiles=2"
	// nearProfiles are off by as little as no measurement can tell: how often these are as good says
	// how much of the other differences is chance.
	nearProfiles = lab.Hybrid + ":profiles=1.02"
)

// period is a part of a scenario in which policies are compared with the policy with.
type period struct {
	title    string
	from, to time.Duration // to is 0 for the end
	with     string
	policies []string
}

// periods returns the periods, the first hour first.
func periods() []period {
	return []period{
		{title: "the first hour", to: time.Hour, with: lab.Tokens, policies: []string{noProfiles}},
		{title: "after the first hour", from: time.Hour, with: trueProfiles, policies: []string{noProfiles}},
		{title: "after two hours", from: 2 * time.Hour, with: trueProfiles, policies: []string{halfProfiles, doubleProfiles, nearProfiles}},
	}
}

// A policy is as good with this much less attainment, a ratio, at this many times the cost.
const (
	attainmentTolerance = 0.01
	costTolerance       = 1.05
)

// compared is the result of a policy and of the one it is compared with, in a period of a scenario.
type compared struct {
	scenario, period, policy string
	target                   float64
	of, with                 lab.Measures[float64]
}

// asGood reports whether the policy attains as much at no more cost, within the tolerances. In the
// first hour, where little is known, it is enough to attain as much, or the target.
func (c compared) asGood() bool {
	if c.period == periods()[0].title {
		return c.of.Attainment >= min(c.target, c.with.Attainment-attainmentTolerance)
	}
	return c.of.Attainment >= c.with.Attainment-attainmentTolerance && c.of.Cost <= costTolerance*c.with.Cost
}

// runLearning runs our policy with different stated profiles, and prints the differences.
func runLearning(ctx context.Context, args []string, out io.Writer) error {
	o, err := parseLearning(args)
	if err != nil {
		return err
	}
	scenarios, err := o.scenarios()
	if err != nil {
		return err
	}
	all := make([][]compared, len(scenarios))
	errs := make([]error, len(scenarios))
	var group errgroup.Group
	group.SetLimit(cmp.Or(o.workers, runtime.GOMAXPROCS(0)))
	for i, s := range scenarios {
		group.Go(func() error {
			all[i], errs[i] = compare(ctx, s)
			return nil
		})
	}
	_ = group.Wait() // errs holds the errors
	var text strings.Builder
	writeLearning(&text, all)
	fmt.Fprint(out, text.String())
	if o.out != "" {
		if err := os.WriteFile(o.out, []byte(text.String()), 0o644); err != nil {
			return fmt.Errorf("writing the page: %w", err)
		}
	}
	return errors.Join(errs...)
}

// scenarios returns those of the matrix, or drawn ones, repeated to the hours asked for.
func (o learningOptions) scenarios() ([]lab.Scenario, error) {
	only, err := regexp.Compile(o.only)
	if err != nil {
		return nil, fmt.Errorf("-only: %w", err)
	}
	all, err := o.every()
	if err != nil {
		return nil, err
	}
	var chosen []lab.Scenario
	for _, s := range all {
		if only.MatchString(s.Name) {
			s.Workload = s.Workload.Repeat(time.Duration(o.hours) * time.Hour)
			chosen = append(chosen, s)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no scenario matches -only %q: there are %s", o.only, strings.Join(names(all), ", "))
	}
	return chosen, nil
}

// every returns all scenarios with their own lengths.
func (o learningOptions) every() ([]lab.Scenario, error) {
	if o.seed == 0 {
		return matrix(o.traces)
	}
	c, err := readStock(o.traces)
	if err != nil {
		return nil, err
	}
	var all []lab.Scenario
	for i := range o.n {
		a, err := c.draw(o.seed, i+1)
		if err != nil {
			return nil, fmt.Errorf("scenario %d of seed %d: %w", i+1, o.seed, err)
		}
		s, err := a.Scenario(c.Stock)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// compare runs the policies of every period of a scenario.
func compare(ctx context.Context, s lab.Scenario) ([]compared, error) {
	var all []compared
	for _, p := range periods() {
		choices, err := lab.ReadChoices(append([]string{p.with}, p.policies...))
		if err != nil {
			return nil, err
		}
		one := s
		one.Fleet.Duration = p.to
		results, err := lab.Execute(ctx, lab.Plan{Scenarios: []lab.Scenario{one}, Choices: choices, Seeds: []uint64{zooSeed}, From: p.from}, lab.Options{Workers: 1})
		if err != nil {
			return all, err
		}
		rows := results.Scenarios[0].Rows
		for _, r := range rows[1:] {
			all = append(all, compared{s.Name, p.title, r.Policy.String(), s.Target, r.Runs[0].Measures, rows[0].Runs[0].Measures})
		}
	}
	return all, nil
}

// writeLearning writes a table of the scenarios for every period and policy.
func writeLearning(out *strings.Builder, all [][]compared) {
	for _, p := range periods() {
		for _, policy := range p.policies {
			good, total := 0, 0
			var rows strings.Builder
			for _, scenario := range all {
				for _, c := range scenario {
					if c.period != p.title || c.policy != policy {
						continue
					}
					total++
					mark := ""
					if c.asGood() {
						good++
					} else {
						mark = "no"
					}
					fmt.Fprintf(&rows, "| %s | %.2f %% | %.4g | %.2f %% | %.4g | %.3f | %s |\n", c.scenario,
						100*c.of.Attainment, c.of.Cost, 100*c.with.Attainment, c.with.Cost, c.of.Cost/c.with.Cost, mark)
				}
			}
			fmt.Fprintf(out, "## %s beside %s, %s: as good in %d of %d\n\n", policy, p.with, p.title, good, total)
			out.WriteString("| scenario | attained | cost | beside | cost | ratio | as good |\n|---|---|---|---|---|---|---|\n")
			out.WriteString(rows.String() + "\n")
		}
	}
}
