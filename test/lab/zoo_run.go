package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/utils/clock"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/lab"
)

// zooSeed is the seed of every run: with it, logs that are not scaled are as recorded.
const zooSeed = 1

// settled is the time by which a fleet at constant load has to be at rest.
const settled = 6 * time.Hour

// execute runs the policies without kept results, and writes the document.
func (o zooOptions) execute(ctx context.Context, out io.Writer, c zooStock, cases []zooCase, choices []lab.Choice) error {
	known, err := openResults(o.out)
	if err != nil {
		return err
	}
	v := &zooRun{zooOptions: o, zooStock: c, resultFile: known, show: out, choices: choices, watch: clock.RealClock{}}
	for _, a := range cases {
		for _, one := range choices {
			if _, ok := known.find(v.key(a, one)); !ok {
				v.left++
			}
		}
	}
	v.plan(cases)
	if o.dry {
		return known.close()
	}
	failure := v.all(ctx, cases)
	var text strings.Builder
	v.page(cases).write(&text)
	if o.run != "" {
		for _, a := range cases {
			failure = errors.Join(failure, v.details(&text, c, a))
		}
	}
	failure = errors.Join(failure, known.close())
	fmt.Fprint(out, "\n", text.String())
	name := filepath.Join(o.out, fmt.Sprintf("zoo-%d.md", o.seed))
	if err := os.WriteFile(name, []byte(text.String()), 0o644); err != nil {
		return errors.Join(failure, fmt.Errorf("writing the document: %w", err))
	}
	fmt.Fprintf(out, "\n%s written after %s\n", name, v.watch.Since(v.began).Round(time.Second))
	return failure
}

// zooRun runs policies on scenarios.
type zooRun struct {
	zooOptions
	zooStock
	*resultFile
	choices []lab.Choice
	watch   clock.PassiveClock

	mu    sync.Mutex // guards the following fields
	show  io.Writer
	began time.Time
	done  int
	left  int // runs of a policy to do
}

// key identifies the result of a policy in a scenario: for ours, with this build; for the others,
// with this simulator and number of settings.
func (v *zooRun) key(a zooCase, c lab.Choice) string {
	return hash(a.key, c.String(), v.version(c))
}

func (v *zooRun) version(c lab.Choice) string {
	if c.Own() {
		return v.commit
	}
	return fmt.Sprintf("%s, %d points", simulatorVersion, v.points)
}

// all runs what is left, several scenarios at a time.
func (v *zooRun) all(ctx context.Context, cases []zooCase) error {
	v.began = v.watch.Now()
	errs := make([]error, len(cases))
	var group errgroup.Group
	group.SetLimit(v.atOnce())
	for i, a := range cases {
		group.Go(func() error {
			errs[i] = v.scenario(ctx, a)
			return nil
		})
	}
	_ = group.Wait() // errs holds the errors
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted, the same command goes on: %w", context.Cause(ctx))
	}
	return errors.Join(errs...)
}

// scenario runs the policies of one scenario that have no kept result, and the clairvoyant.
// Failures are not kept: the next run tries them again.
func (v *zooRun) scenario(ctx context.Context, a zooCase) error {
	scenario, err := a.Scenario(v.Stock)
	if err != nil {
		return err
	}
	var errs []error
	for _, c := range v.choices {
		key := v.key(a, c)
		if _, ok := v.find(key); ok || ctx.Err() != nil {
			continue
		}
		r, err := v.run(ctx, a, scenario, c)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", c, err))
			continue
		}
		v.put(kept{Key: key, Scenario: a.Name, Policy: c.String(), Version: v.version(c), Result: &r})
		v.tell()
	}
	return errors.Join(append(errs, v.foresee(ctx, a, scenario))...)
}

// foresee looks for a clairvoyant schedule, beginning with that of the best policy.
func (v *zooRun) foresee(ctx context.Context, a zooCase, scenario lab.Scenario) error {
	key := v.clairvoyantKey(a)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if _, ok := v.find(key); ok || v.foresight == 0 || len(a.Faults) > 0 {
		return nil
	}
	s := v.score(a)
	all := slices.Clone(s.tuned)
	for _, name := range slices.Sorted(maps.Keys(s.own)) {
		all = append(all, named{s.own[name].point(), name})
	}
	best, ok := s.best(all)
	if !ok {
		best, ok = s.ahead(all, lab.Point{Cost: math.Inf(1)})
	}
	if !ok {
		return nil
	}
	c, err := lab.ParseChoice(best.policy)
	if err != nil {
		return err
	}
	plan := v.lab(scenario, c)
	plan.Foresight = v.foresight
	results, err := lab.Execute(ctx, plan, lab.Options{Workers: 1, Benchmarks: benchmarks{v.resultFile, func(string) string { return a.key }}})
	if err != nil {
		return err
	}
	m := results.Scenarios[0].Clairvoyant.Measures
	v.put(kept{Key: key, Scenario: a.Name, Policy: "clairvoyant", Version: simulatorVersion, Result: &result{Attainment: m.Attainment, Cost: m.Cost, WorstHour: m.WorstHour}})
	return nil
}

func (v *zooRun) clairvoyantKey(a zooCase) string {
	return hash(a.key, "clairvoyant", strconv.Itoa(v.foresight), simulatorVersion)
}

// lab returns a plan for one policy in one scenario.
func (v *zooRun) lab(s lab.Scenario, c lab.Choice) lab.Plan {
	return lab.Plan{Scenarios: []lab.Scenario{s}, Choices: []lab.Choice{c}, Seeds: []uint64{zooSeed}, Tune: true, Points: v.points}
}

// run runs one policy in one scenario.
func (v *zooRun) run(ctx context.Context, a zooCase, scenario lab.Scenario, c lab.Choice) (result, error) {
	began := v.watch.Now()
	plan := v.lab(scenario, c)
	plan.Series = c.Own() && a.Drawn.Constant
	results, err := lab.Execute(ctx, plan, lab.Options{Workers: 1, Benchmarks: benchmarks{v.resultFile, func(string) string { return a.key }}})
	r := result{Seconds: v.watch.Since(began).Seconds()}
	if len(results.Scenarios) == 0 || len(results.Scenarios[0].Rows) == 0 {
		return r, err
	}
	row := results.Scenarios[0].Rows[0]
	r.Attainment, r.Cost, r.WorstHour = row.Measures.Attainment.Mean, row.Measures.Cost.Mean, row.Measures.WorstHour.Mean
	if !c.Own() {
		r.Settings = row.Policy.String()
		if p, ok := row.Untuned(); ok {
			r.Untuned = &p
		}
		if h := row.Hindsight; h != nil {
			r.Hindsight = &lab.Point{Attainment: h.Measures.Attainment.Mean, Cost: h.Measures.Cost.Mean}
		}
	}
	if row.Course != nil {
		r.Turns = turns(row.Course.Decisions)
	}
	return r, err
}

// turns returns how often the decisions on a variant change their direction after settled, for the
// variant with the most changes.
func turns(all []lab.Decision) int {
	most := 0
	last, count := map[scaling.VariantKey]scaling.Replicas{}, map[scaling.VariantKey]int{}
	for _, d := range all {
		by := d.Target.Replicas - d.From
		if d.At < settled || by == 0 {
			continue
		}
		v := d.Target.Variant
		if last[v] != 0 && (by > 0) != (last[v] > 0) {
			count[v]++
			most = max(most, count[v])
		}
		last[v] = by
	}
	return most
}

// plan prints the runs and how long they may take.
func (v *zooRun) plan(cases []zooCase) {
	var total time.Duration
	for _, a := range cases {
		took := v.estimate(a)
		total += took
		if v.dry {
			fmt.Fprintf(v.show, "%4d  about %6s  %s\n", a.number, took.Round(time.Second), a.Description)
		}
	}
	fmt.Fprintf(v.show, "%d scenarios of seed %d, %d policies, %d of %d runs are left: about %s with %d at a time\n", len(cases), v.seed, len(v.choices),
		v.left, len(cases)*len(v.choices), (total / time.Duration(v.atOnce())).Round(time.Minute), v.atOnce())
}

// estimate returns how long the runs left of a scenario take on one processor, by mean times
// measured on one core of a server of 2024.
func (v *zooRun) estimate(a zooCase) time.Duration {
	const (
		perRequest     = 4 * time.Microsecond
		perReplicaHour = 8 * time.Millisecond // steps, scrapes and decisions
	)
	hours := a.Drawn.Replicas * a.Drawn.Window.Hours()
	one := time.Duration(a.Drawn.Requests)*perRequest + time.Duration(hours*float64(perReplicaHour))
	runs := 0
	for _, c := range v.choices {
		switch _, known := v.find(v.key(a, c)); {
		case known:
		case c.Own():
			runs++
		default:
			runs += v.points
		}
	}
	if v.foresight > 0 && len(a.Faults) == 0 {
		runs += v.foresight
	}
	return time.Duration(runs) * one
}

// atOnce returns how many scenarios run at the same time.
func (v *zooRun) atOnce() int { return cmp.Or(v.workers, runtime.GOMAXPROCS(0)) }

// tell prints a line for every fiftieth of the runs.
func (v *zooRun) tell() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.done++
	if step := max(1, v.left/50); v.done%step == 0 || v.done == v.left {
		fmt.Fprintf(v.show, "%8s  %d of %d\n", v.watch.Since(v.began).Round(time.Second), v.done, v.left)
	}
}
