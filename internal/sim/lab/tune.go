package lab

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// FirstPart returns how much of a workload baselines are tuned on: a third, at least
// 20 minutes, and at most a day or half of it. All policies are judged on the rest.
func FirstPart(span time.Duration) time.Duration {
	const least, most = 20 * time.Minute, 24 * time.Hour
	return min(max(span/3, least), most, span/2)
}

// tuned holds the results of the tried settings.
type tuned struct {
	trials [][]Trial
	runs   map[string]outcome // of the first seed, by policy
}

// tune tries the settings of every baseline with the first seed. A run goes through all of the
// workload: its result in the first part tunes a baseline, its result in the rest tunes the
// hindsight.
func (l *lab) tune(ctx context.Context, f fitted) (tuned, error) {
	t := tuned{trials: make([][]Trial, len(l.plan.Choices)), runs: map[string]outcome{}}
	if !l.plan.Tune {
		return t, nil
	}
	seed := l.plan.Seeds[0]
	var grid []job
	for i, c := range l.plan.Choices {
		for _, point := range c.grid(l.plan.Points) {
			grid = append(grid, job{choice: i, seed: seed, policy: Choice{c.Name, point}, tuning: true})
		}
	}
	for next := slices.Concat(grid, l.searches(f, t)); len(next) > 0; next = l.searches(f, t) {
		for _, o := range l.all(ctx, f, next) {
			if o.err != nil {
				return t, fmt.Errorf("scenario %s: tuning %s: %w", f.Name, o.policy, o.err)
			}
			t.trials[o.choice] = append(t.trials[o.choice], o.trial())
			t.runs[o.policy.String()] = o
		}
	}
	return t, nil
}

// searches returns the next runs of the choices that are tuned by a search.
func (l *lab) searches(f fitted, t tuned) []job {
	var jobs []job
	for i, c := range l.plan.Choices {
		if !c.searched() {
			continue
		}
		next := counts(t.trials[i], f.Target, f.most())
		if left := l.plan.Points - len(t.trials[i]); l.plan.Points > 0 {
			next = next[:min(max(0, left), len(next))]
		}
		for _, n := range next {
			jobs = append(jobs, job{choice: i, seed: l.plan.Seeds[0], policy: Choice{c.Name, count(n)}, tuning: true})
		}
	}
	return jobs
}

// trial returns the results of a run in both parts, with its settings.
func (o outcome) trial() Trial {
	t := Trial{Params: o.policy.Params, Rest: Point{o.measures.Attainment, o.measures.Cost}}
	arrived, met := 0.0, 0.0
	for _, m := range o.report.Models {
		arrived, met = arrived+float64(m.Before.Arrived), met+float64(m.Before.Met)
		t.First.Cost += m.Before.Cost
	}
	t.First.Attainment = 1
	if arrived > 0 {
		t.First.Attainment = met / arrived
	}
	return t
}

// keep returns the best of some trials by one part of the workload, nil if there are none: the
// cheapest of those that reach the target, else the highest attainment, then the cheapest, then the
// first.
func keep(trials []Trial, target float64, part func(*Trial) Point) *Trial {
	if len(trials) == 0 {
		return nil
	}
	rank := func(p Point) float64 { return min(p.Attainment, target) }
	best := &trials[0]
	for i := range trials[1:] {
		t := &trials[i+1]
		if a, b := part(best), part(t); cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(b.Cost, a.Cost)) < 0 {
			best = t
		}
	}
	return best
}

// settle marks the best trials and returns the choice with the settings of the first part, and with
// those of hindsight. Without trials both are c.
func (c Choice) settle(trials []Trial, target float64) (first, hindsight Choice) {
	if len(trials) == 0 {
		return c, c
	}
	a := keep(trials, target, func(t *Trial) Point { return t.First })
	b := keep(trials, target, func(t *Trial) Point { return t.Rest })
	a.Kept, b.Hindsight = true, true
	return Choice{c.Name, a.Params}, Choice{c.Name, b.Params}
}
