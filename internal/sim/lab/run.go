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

// Options say how to run a plan. The zero value uses all processors and reports no progress.
type Options struct {
	Workers int // runs at the same time; 0 means GOMAXPROCS
	// OnProgress gets every Progress, from one goroutine at a time.
	OnProgress func(Progress)
	// Benchmarks keep measurements of replicas; nil keeps nothing.
	Benchmarks Benchmarks
	// Reports keep the results of runs; nil keeps nothing.
	Reports Reports
}

// Reports keep the results of runs, so that an interrupted plan continues where it stopped. Several
// goroutines may use them.
type Reports interface {
	// Known returns the report of a policy in a scenario that is judged after from, and false if
	// there is none.
	Known(scenario string, from time.Duration, policy Choice, seed uint64) (sim.Report, bool)
	// Keep stores a report.
	Keep(scenario string, from time.Duration, policy Choice, seed uint64, r sim.Report)
}

// Progress is the state of one run and of its scenario.
type Progress struct {
	Scenario string
	Policy   Choice
	Seed     uint64
	Tuning   bool // it tries settings
	// At is the progress in virtual time, Of the length of the workload, 0 where that is unknown.
	At, Of time.Duration
	Done   bool              // the run has ended and was not interrupted
	Result Measures[float64] // of a run that is Done without Err
	Err    error
	// Finished of Total runs of the scenario have ended. The scenario is the Number-th of
	// Scenarios. Total is an estimate until the settings are known.
	Finished, Total   int
	Number, Scenarios int
}

// job is one run.
type job struct {
	choice int // index in the plan
	seed   uint64
	policy Choice
	tuning bool // it tries settings
	// hindsight says that only the hindsight uses the settings.
	hindsight bool
}

// outcome is the result of a job.
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

// Execute runs a plan. The Results hold what finished, also with an error. The error joins those of
// the scenarios; when ctx ends, no further scenario runs.
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

// scenario runs all jobs of one scenario.
func (l *lab) scenario(ctx context.Context, s Scenario) (ScenarioResults, error) {
	results := ScenarioResults{Scenario: s.Name, Workload: s.Workload.Name, Target: s.Target}
	view, err := l.look(ctx, s)
	if err != nil {
		return results, err
	}
	f, err := fit(ctx, s, view)
	if err != nil {
		return results, err
	}
	results.From = f.from.Seconds()
	choices, hindsight := slices.Clone(l.plan.Choices), slices.Clone(l.plan.Choices)
	l.count.Finished, l.count.Total = 0, l.plan.tuning()+len(choices)*len(l.plan.Seeds)
	tried, err := l.tune(ctx, f)
	if err != nil {
		return results, err
	}
	for i, c := range choices {
		choices[i], hindsight[i] = c.settle(tried.trials[i], s.Target)
	}
	done := l.reuse(ctx, f, tried.runs, l.runs(choices, hindsight))
	var failed []error
	if l.plan.Foresight > 0 {
		if results.Clairvoyant, err = l.foresee(ctx, f, done); err != nil {
			failed = append(failed, err)
		}
	}
	for i, c := range choices {
		row := Row{Policy: c, Own: c.Own(), Tuning: tried.trials[i]}
		if len(row.Tuning) > 0 {
			row.Hindsight = &Hindsight{Policy: hindsight[i]}
		}
		for _, o := range done {
			switch {
			case o.choice != i:
			case o.err != nil:
				row.Error = o.err.Error()
				failed = append(failed, fmt.Errorf("scenario %s: %s with seed %d: %w", s.Name, o.policy, o.seed, o.err))
			default:
				row.add(o)
				if results.Requests == 0 || o.seed == l.plan.Seeds[0] {
					results.Requests, results.TooLong, results.Span = o.arrived(), o.tooLong(), o.report.Horizon.Seconds()
				}
			}
		}
		if len(row.Runs) > 0 {
			row.sum()
			results.Rows = append(results.Rows, row)
		}
	}
	return results, failure(ctx, failed)
}

// look returns what fit looks at in a workload: the first part if policies are tuned, else the
// first hour.
func (l *lab) look(ctx context.Context, s Scenario) (look, error) {
	view := look{seed: l.plan.Seeds[0], until: hour, from: l.plan.From, known: l.options.Benchmarks}
	view.bench = slices.ContainsFunc(l.plan.Choices, func(c Choice) bool { return c.benches(l.plan.Tune) })
	if !l.plan.Tune {
		return view, nil
	}
	span, err := s.span(ctx, view.seed)
	view.from = FirstPart(span)
	view.until = view.from
	return view, err
}

// failure returns the error that a user can act on: the first, since all fail alike when ctx ends
// or the workload has a fault.
func failure(ctx context.Context, errs []error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted: %w", context.Cause(ctx))
	}
	if len(errs) > 1 {
		return fmt.Errorf("%w; and %d more runs failed", errs[0], len(errs)-1)
	}
	return errors.Join(errs...)
}

// add books a run that has the settings of the row, of its hindsight, or both.
func (r *Row) add(o outcome) {
	run := Run{Seed: o.seed, Measures: o.measures, Models: measureModels(o.report)}
	if r.Hindsight != nil && o.policy.String() == r.Hindsight.Policy.String() {
		r.Hindsight.Runs = append(r.Hindsight.Runs, run)
	}
	if o.policy.String() != r.Policy.String() {
		return
	}
	r.Runs = append(r.Runs, run)
	if o.course != nil {
		r.Course = o.course
	}
}

func (r *Row) sum() {
	r.Measures = spreadRuns(r.Runs)
	if r.Hindsight != nil && len(r.Hindsight.Runs) > 0 {
		r.Hindsight.Measures = spreadRuns(r.Hindsight.Runs)
	}
}

func spreadRuns(runs []Run) Measures[Spread] {
	all := make([]Measures[float64], len(runs))
	for i, run := range runs {
		all[i] = run.Measures
	}
	return spread(all)
}

// runs returns the jobs of the choices, seed by seed, so that an interrupted lab has results of
// every policy. Hindsight has jobs of its own where its settings differ.
func (l *lab) runs(choices, hindsight []Choice) []job {
	var jobs []job
	for _, seed := range l.plan.Seeds {
		for i, c := range choices {
			jobs = append(jobs, job{choice: i, seed: seed, policy: c})
			if h := hindsight[i]; h.String() != c.String() {
				jobs = append(jobs, job{choice: i, seed: seed, policy: h, hindsight: true})
			}
		}
	}
	return jobs
}

// reuse runs jobs, without those that tuning has run already, and returns all outcomes in the order
// of the jobs.
func (l *lab) reuse(ctx context.Context, f fitted, known map[string]outcome, jobs []job) []outcome {
	outcomes := make([]outcome, len(jobs))
	var left []job
	var places []int
	for i, j := range jobs {
		if o, ok := known[j.policy.String()]; ok && j.seed == l.plan.Seeds[0] && (!l.plan.Series || j.hindsight) {
			o.job = j
			outcomes[i] = o
			continue
		}
		left, places = append(left, j), append(places, i)
	}
	l.count.Total = l.count.Finished + len(left)
	for i, o := range l.all(ctx, f, left) {
		outcomes[places[i]] = o
	}
	return outcomes
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
	keep := l.plan.Series && !j.tuning && !j.hindsight && j.seed == l.plan.Seeds[0]
	if r, known := l.known(f, j); known && !keep {
		o.report, o.measures = r, measure(r)
		l.tell(Progress{Scenario: f.Name, Policy: j.policy, Seed: j.seed, Tuning: j.tuning, Done: true, Result: o.measures})
		return o
	}
	p, after, err := j.policy.open(f)
	if err != nil {
		o.err = err
		return o
	}
	c := f.config(j.seed)
	if c.Sync = after; after == 0 {
		c.Tolerance = 0 // the policy contains its scaler
	}
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
	if o.err == nil && l.options.Reports != nil {
		l.options.Reports.Keep(f.Name, f.from, j.policy, j.seed, o.report)
	}
	if o.err == nil || ctx.Err() == nil {
		event.Done, event.Result, event.Err = true, o.measures, o.err
		l.tell(event)
	}
	return o
}

// known returns the kept report of a job.
func (l *lab) known(f fitted, j job) (sim.Report, bool) {
	if l.options.Reports == nil {
		return sim.Report{}, false
	}
	return l.options.Reports.Known(f.Name, f.from, j.policy, j.seed)
}

// first returns the replicas of every variant at the start of a run.
func first(c sim.Config) map[scaling.VariantKey]scaling.Replicas {
	replicas := map[scaling.VariantKey]scaling.Replicas{}
	for _, m := range c.Models {
		for _, v := range m.Variants {
			replicas[v.Spec.Key] = v.Replicas
		}
	}
	return replicas
}

// tell adds the counts of the scenario to p and passes it on.
func (l *lab) tell(p Progress) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.Done {
		l.count.Finished++
	}
	p.Finished, p.Total, p.Number, p.Scenarios = l.count.Finished, l.count.Total, l.count.Number, l.count.Scenarios
	l.options.OnProgress(p)
}

// tooLong returns the number of requests that no replica has room for.
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
