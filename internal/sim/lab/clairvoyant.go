package lab

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/clairvoyant"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// Clairvoyant is the best schedule of a scenario that a search found by knowing every arrival. It
// is judged as every policy is, and costs no more than any policy that reaches the target with the
// same seed.
type Clairvoyant struct {
	Seed uint64 `json:"seed"`
	// Attainable is the share of the requests that meet their objectives on a replica of their own.
	// Where it is below the target, no policy reaches the target.
	Attainable float64 `json:"attainable"`
	// Reached says whether the schedule reaches the target.
	Reached  bool              `json:"reached"`
	Measures Measures[float64] `json:"measures"` // of the run with the schedule
	Models   []ModelMeasures   `json:"models"`   // sorted by key
	Runs     int               `json:"runs"`     // runs of the search
}

// tick is the time between two changes of a clairvoyant schedule.
const tick = 15 * time.Second

// foresee searches for a schedule with the first seed and as many runs as the plan allows, starting
// from the replicas of the best policy with that seed.
func (l *lab) foresee(ctx context.Context, f fitted, done []outcome) (*Clairvoyant, error) {
	seed := l.plan.Seeds[0]
	o := clairvoyant.Options{Tick: tick, Runs: l.plan.Foresight, Workers: l.options.Workers}
	best, some := bestOf(done, seed, f.Target)
	if some {
		script, err := best.schedule(ctx, f)
		if err != nil {
			return nil, fmt.Errorf("scenario %s: repeating %s: %w", f.Name, best.policy, err)
		}
		o.Start = append(o.Start, script)
	}
	fresh := func(key scaling.ModelKey) iter.Seq2[workload.Request, error] { return f.open(key, seed) }
	found, err := clairvoyant.Find(ctx, f.config(seed), fresh, o)
	if err != nil {
		return nil, fmt.Errorf("scenario %s: looking for a schedule: %w", f.Name, err)
	}
	c := &Clairvoyant{
		Seed: seed, Attainable: found.Attainable, Reached: found.Reached,
		Measures: measure(found.Report), Models: measureModels(found.Report), Runs: found.Runs,
	}
	// A schedule changes at whole ticks, a policy between them too: its run is a schedule as well.
	if some && best.measures.Attainment >= f.Target && (!c.Reached || best.measures.Cost < c.Measures.Cost) {
		c.Reached, c.Measures, c.Models = true, best.measures, measureModels(best.report)
	}
	return c, nil
}

// bestOf returns the run of a seed that reaches the target at the least cost, or else attains most;
// false if there is none.
func bestOf(done []outcome, seed uint64, target float64) (outcome, bool) {
	var trials []Trial
	var runs []outcome
	for _, o := range done {
		if o.err == nil && o.seed == seed {
			runs, trials = append(runs, o), append(trials, o.trial())
		}
	}
	best := keep(trials, target, func(t *Trial) Point { return t.Rest })
	if best == nil {
		return outcome{}, false
	}
	return runs[slices.IndexFunc(trials, func(t Trial) bool { return t.Rest == best.Rest })], true
}

// schedule repeats a run and returns its replicas, tick by tick. Between two ticks it takes the
// larger number.
func (o outcome) schedule(ctx context.Context, f fitted) (clairvoyant.Script, error) {
	script := clairvoyant.Script{Tick: tick}
	p, after, err := o.policy.open(f)
	if err != nil {
		return script, err
	}
	c := f.config(o.seed)
	if c.Sync = after; after == 0 {
		c.Tolerance = 0
	}
	lines := map[scaling.VariantKey]int{}
	for _, m := range c.Models {
		for _, v := range m.Variants {
			lines[v.Spec.Key] = len(script.Lines)
			script.Lines = append(script.Lines, clairvoyant.Line{Variant: v.Spec.Key})
		}
	}
	c.Interval = tick
	c.OnInterval = func(i sim.Interval) {
		for _, v := range i.Variants {
			line := &script.Lines[lines[v.Key]]
			line.Replicas = append(line.Replicas, int32(v.Wanted))
		}
	}
	if _, err := sim.Run(ctx, c, p); err != nil {
		return script, err
	}
	for _, line := range script.Lines {
		for t := range len(line.Replicas) - 1 {
			line.Replicas[t] = max(line.Replicas[t], line.Replicas[t+1])
		}
	}
	return script, nil
}
