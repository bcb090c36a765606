package lab

import (
	"context"
	"fmt"
	"iter"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/clairvoyant"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// Clairvoyant is what could be had in a scenario by knowing every arrival in
// advance: the best possible cost lies between LowerBound and Measures.Cost.
type Clairvoyant struct {
	Seed uint64 `json:"seed"`
	// LowerBound is a cost that every policy pays at least which reaches the
	// target; see package clairvoyant.
	LowerBound float64 `json:"lowerBound"`
	// FullBound is the same for a policy that misses nothing which can be served
	// within the objectives, LowerBound at least: the difference is what the misses
	// that the target allows save.
	FullBound float64 `json:"fullBound"`
	// Reachable is false if the bound shows that no policy can reach the target.
	Reachable bool `json:"reachable"`
	// Reached is whether the schedule that was found reaches it.
	Reached  bool               `json:"reached"`
	Measures Measures[float64]  `json:"measures"` // of a run of the schedule
	Models   []ModelClairvoyant `json:"models"`   // sorted by key
	Runs     int                `json:"runs"`     // that the search took
}

// ModelClairvoyant is the part of one model.
type ModelClairvoyant struct {
	ModelMeasures
	LowerBound float64 `json:"lowerBound"`
}

// foresee bounds the cost of f and looks for a schedule, with the first seed and
// as many runs as the plan allows.
func (l *lab) foresee(ctx context.Context, f fitted) (*Clairvoyant, error) {
	seed := l.plan.Seeds[0]
	c := f.config(seed)
	fresh := func(key scaling.ModelKey) iter.Seq2[workload.Request, error] { return f.open(key, seed) }
	limit, err := clairvoyant.Bound(ctx, c, fresh)
	if err != nil {
		return nil, fmt.Errorf("scenario %s: bounding the cost: %w", f.Name, err)
	}
	found, err := clairvoyant.Find(ctx, c, fresh, clairvoyant.Options{Runs: l.plan.Foresight})
	if err != nil {
		return nil, fmt.Errorf("scenario %s: looking for a schedule: %w", f.Name, err)
	}
	o := &Clairvoyant{
		Seed: seed, LowerBound: limit.Cost, Reachable: limit.Reachable(c), Reached: found.Reached,
		Measures: measure(found.Report), Runs: found.Runs,
	}
	for _, bound := range limit.Models {
		o.FullBound += bound.Full
	}
	for _, m := range measureModels(found.Report) {
		one := ModelClairvoyant{ModelMeasures: m}
		for _, bound := range limit.Models {
			if bound.Model == m.Model {
				one.LowerBound = bound.Cost
			}
		}
		o.Models = append(o.Models, one)
	}
	return o, nil
}
