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

// Clairvoyant is what could be had in a scenario by knowing every arrival in advance:
// the best schedule that was found. It is judged as every policy is, and is no dearer
// than any of them that reaches the target with the same seed.
type Clairvoyant struct {
	Seed uint64 `json:"seed"`
	// Attainable is the part of the requests that meet their objectives on a replica of
	// their own. Where it is below the target no policy reaches that.
	Attainable float64 `json:"attainable"`
	// Reached is whether the schedule that was found reaches the target.
	Reached  bool              `json:"reached"`
	Measures Measures[float64] `json:"measures"` // of a run of the schedule
	Models   []ModelMeasures   `json:"models"`   // sorted by key
	Runs     int               `json:"runs"`     // that the search took
}

// tick is the time between two changes of a clairvoyant schedule.
const tick = 15 * time.Second

// foresee looks for a schedule with the first seed and as many runs as the plan allows,
// beginning with what the best policy did with that seed.
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
	// Schedules change at whole ticks; what the policy did between them is one, too.
	if some && best.measures.Attainment >= f.Target && (!c.Reached || best.measures.Cost < c.Measures.Cost) {
		c.Reached, c.Measures, c.Models = true, best.measures, measureModels(best.report)
	}
	return c, nil
}

// bestOf returns the run of a seed that reaches the target at the least cost, or else
// attains most.
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

// schedule repeats a run and returns what replicas it had, tick by tick. Between two
// ticks it is the larger number.
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
