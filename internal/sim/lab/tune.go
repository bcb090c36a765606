package lab

import (
	"cmp"
	"context"
)

// rehearsal returns the busiest hour of f as a scenario of its own, for tuning.
// What is known of a replica is known from all of f.
func (l *lab) rehearsal(ctx context.Context, f fitted) (fitted, error) {
	if !l.plan.Tune || f.survey.Span <= hour {
		return f, nil
	}
	s := f.Scenario
	s.Workload = f.Workload.Window(f.survey.Busiest, hour)
	s.Fleet.Faults = nil // they are at times of the whole
	busiest, err := fit(ctx, s, look{seed: l.plan.Seeds[0]})
	busiest.measured = f.measured
	return busiest, err
}

// trials returns the runs that tune the baselines, with the first seed: every
// point of the grid and, where they are none of them, the defaults.
func (l *lab) trials(f fitted) []job {
	if !l.plan.Tune {
		return nil
	}
	var jobs []job
	for i, c := range l.plan.Choices {
		for _, point := range c.points(f) {
			jobs = append(jobs, job{choice: i, seed: l.plan.Seeds[0], policy: Choice{c.Name, point}, tuning: true})
		}
	}
	return jobs
}

// keep marks the best of some trials and returns it, nil if there are none: the
// cheapest of those that reach the target, else the highest attainment, then the
// cheapest, then the first.
func keep(trials []Trial, target float64) *Trial {
	if len(trials) == 0 {
		return nil
	}
	rank := func(t *Trial) float64 { return min(t.Attainment, target) }
	best := &trials[0]
	for i := range trials[1:] {
		t := &trials[i+1]
		if cmp.Or(cmp.Compare(rank(best), rank(t)), cmp.Compare(t.Cost, best.Cost)) < 0 {
			best = t
		}
	}
	best.Kept = true
	return best
}
