package lab

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/serving"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
)

// Options are how a plan is run. The zero value runs it on all processors and
// tells nobody.
type Options struct {
	Workers int // runs at the same time; 0 means GOMAXPROCS
	// OnProgress is told of what goes on, by one goroutine at a time.
	OnProgress func(Progress)
}

// Progress is something that happened to a run.
type Progress struct {
	Scenario string
	Policy   Choice
	Seed     uint64
	Tuning   bool // on the busiest hour
	// At is how far the run is in virtual time, of Of; Of is 0 where that is not
	// known.
	At, Of time.Duration
	Done   bool              // the run has ended by itself
	Result Measures[float64] // of a run that is Done without Err
	Err    error
	// Finished of Total runs of the scenario have ended, and the scenario is the
	// Number-th of Scenarios.
	Finished, Total   int
	Number, Scenarios int
}

// job is one run.
type job struct {
	choice int // index in the plan
	seed   uint64
	policy Choice
	tuning bool
}

// outcome is what came of a job.
type outcome struct {
	job
	measures Measures[float64]
	report   sim.Report
	course   *Course
	err      error
}

// lab runs one plan.
type lab struct {
	plan    Plan
	options Options
	mu      sync.Mutex // of the fields below, and around OnProgress
	count   Progress   // Finished, Total, Number and Scenarios
}

// Execute runs a plan. The Results hold what finished, also with an error: that
// of the first scenario that cannot be run, or of ctx.
func Execute(ctx context.Context, p Plan, o Options) (Results, error) {
	results := Results{Seeds: p.Seeds}
	if err := p.check(); err != nil {
		return results, err
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.OnProgress == nil {
		o.OnProgress = func(Progress) {}
	}
	l := &lab{plan: p, options: o}
	l.count.Scenarios = len(p.Scenarios)
	var errs []error
	for i, s := range p.Scenarios {
		l.count.Number = i + 1
		one, err := l.scenario(ctx, s)
		if len(one.Rows) > 0 {
			results.Scenarios = append(results.Scenarios, one)
		}
		errs = append(errs, err)
		if ctx.Err() != nil {
			break
		}
	}
	err := errors.Join(errs...)
	results.Complete = err == nil
	return results, err
}

// scenario runs everything of one scenario.
func (l *lab) scenario(ctx context.Context, s Scenario) (ScenarioResults, error) {
	view := look{seed: l.plan.Seeds[0], until: hour}
	view.bench = slices.ContainsFunc(l.plan.Choices, func(c Choice) bool { return c.benches(l.plan.Tune) })
	if l.plan.Tune {
		view.until = 0 // which hour is the busiest, only all of it tells
	}
	results := ScenarioResults{Scenario: s.Name, Workload: s.Workload.Name, Target: s.Target}
	f, err := fit(ctx, s, view)
	if err != nil {
		return results, err
	}
	busiest, err := l.rehearsal(ctx, f)
	if err != nil {
		return results, err
	}
	choices := slices.Clone(l.plan.Choices)
	trials := make([][]Trial, len(choices))
	tuning, runs := l.trials(f), len(choices)*len(l.plan.Seeds)
	l.count.Finished, l.count.Total = 0, len(tuning)+runs
	for _, o := range l.all(ctx, busiest, tuning) {
		if o.err != nil {
			return results, fmt.Errorf("scenario %s: tuning %s: %w", s.Name, o.policy, o.err)
		}
		trials[o.choice] = append(trials[o.choice], Trial{Params: o.policy.Params, Attainment: o.measures.Attainment, Cost: o.measures.Cost})
	}
	for i := range choices {
		if best := keep(trials[i], s.Target); best != nil {
			choices[i].Params = best.Params
		}
	}
	foresight := l.beside(ctx, f)
	done := l.all(ctx, f, l.runs(choices))
	var failed []error
	results.Clairvoyant, err = foresight()
	if err != nil {
		failed = append(failed, err)
	}
	for i, c := range choices {
		row := Row{Policy: c, Own: c.Own(), Tuning: trials[i]}
		for _, o := range done {
			if o.choice == i && o.err == nil {
				row.add(o)
				if results.Requests == 0 || o.seed == l.plan.Seeds[0] {
					results.Requests, results.TooLong, results.Span = o.arrived(), o.tooLong(), o.report.Horizon.Seconds()
				}
			} else if o.choice == i {
				row.Error = o.err.Error()
				failed = append(failed, fmt.Errorf("scenario %s: %s with seed %d: %w", s.Name, c, o.seed, o.err))
			}
		}
		if len(row.Runs) > 0 {
			row.sum()
			results.Rows = append(results.Rows, row)
		}
	}
	return results, failure(ctx, failed)
}

// beside begins the clairvoyant, if it is asked for, and returns what waits for
// it.
func (l *lab) beside(ctx context.Context, f fitted) func() (*Clairvoyant, error) {
	if l.plan.Foresight == 0 {
		return func() (*Clairvoyant, error) { return nil, nil }
	}
	var c *Clairvoyant
	var group errgroup.Group
	group.Go(func() (err error) {
		c, err = l.foresee(ctx, f)
		return err
	})
	return func() (*Clairvoyant, error) {
		err := group.Wait()
		return c, err
	}
}

// failure returns the error that a user can act on: all fail alike when ctx ends,
// or when the workload has a fault.
func failure(ctx context.Context, errs []error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted: %w", context.Cause(ctx))
	}
	if len(errs) > 1 {
		return fmt.Errorf("%w; and %d more runs failed", errs[0], len(errs)-1)
	}
	return errors.Join(errs...)
}

func (r *Row) add(o outcome) {
	r.Runs = append(r.Runs, Run{Seed: o.seed, Measures: o.measures, Models: measureModels(o.report)})
	if o.course != nil {
		r.Course = o.course
	}
}

func (r *Row) sum() {
	all := make([]Measures[float64], len(r.Runs))
	for i, run := range r.Runs {
		all[i] = run.Measures
	}
	r.Measures = spread(all)
}

// runs returns the runs of the choices, seed by seed, so that an interrupted lab
// has something on every policy.
func (l *lab) runs(choices []Choice) []job {
	var jobs []job
	for _, seed := range l.plan.Seeds {
		for i, c := range choices {
			jobs = append(jobs, job{choice: i, seed: seed, policy: c})
		}
	}
	return jobs
}

// all runs jobs side by side and returns their outcomes in the same order.
func (l *lab) all(ctx context.Context, f fitted, jobs []job) []outcome {
	outcomes := make([]outcome, len(jobs))
	var group errgroup.Group
	group.SetLimit(l.options.Workers)
	for i, j := range jobs {
		group.Go(func() error {
			outcomes[i] = l.run(ctx, f, j)
			return nil
		})
	}
	_ = group.Wait() // outcomes hold the errors
	return outcomes
}

func (l *lab) run(ctx context.Context, f fitted, j job) outcome {
	o := outcome{job: j, err: ctx.Err()}
	if o.err != nil {
		return o
	}
	p, after, err := j.policy.open(f)
	if err != nil {
		o.err = err
		return o
	}
	c := f.config(j.seed)
	if c.Sync = after; after == 0 {
		c.Tolerance = 0 // the policy has a scaler of its own
	}
	keep := l.plan.Series && !j.tuning && j.seed == l.plan.Seeds[0]
	if keep {
		o.course = &Course{}
		wanted := first(c)
		c.OnDecision = func(at time.Duration, t sim.Target) {
			o.course.Decisions = append(o.course.Decisions, Decision{at, wanted[t.Variant], t})
			wanted[t.Variant] = t.Replicas
		}
	}
	event := Progress{Scenario: f.Name, Policy: j.policy, Seed: j.seed, Tuning: j.tuning, Of: f.Workload.Length}
	c.OnInterval = func(i sim.Interval) {
		if keep {
			o.course.Intervals = append(o.course.Intervals, i)
		}
		event.At = i.End
		l.tell(event)
	}
	o.report, o.err = sim.Run(ctx, c, p)
	o.measures = measure(o.report)
	if o.err == nil || ctx.Err() == nil {
		event.Done, event.Result, event.Err = true, o.measures, o.err
		l.tell(event)
	}
	return o
}

// first returns the replicas of every variant at the start of a run.
func first(c sim.Config) map[scaling.VariantKey]int {
	replicas := map[scaling.VariantKey]int{}
	for _, m := range c.Models {
		for _, v := range m.Variants {
			replicas[v.Spec.Key] = v.Replicas
		}
	}
	return replicas
}

// tell passes on what happened.
func (l *lab) tell(p Progress) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.Done {
		l.count.Finished++
	}
	p.Finished, p.Total, p.Number, p.Scenarios = l.count.Finished, l.count.Total, l.count.Number, l.count.Scenarios
	l.options.OnProgress(p)
}

// tooLong counts the requests that no replica has room for.
func (o outcome) tooLong() int {
	n := uint64(0)
	for _, m := range o.report.Models {
		for _, r := range m.Rejections {
			if r.Reason == serving.TooLong.String() || r.Reason == serving.TooLarge.String() {
				n += r.Count
			}
		}
	}
	return int(n)
}

func (o outcome) arrived() int {
	n := uint64(0)
	for _, m := range o.report.Models {
		n += m.Counts.Arrived
	}
	return int(n)
}
