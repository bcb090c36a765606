package modelanalyzer

import (
	"fmt"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Name is the analyzer's name in an Analysis.
const Name = "queueing"

// clearWithin is how fast a backlog is to be worked off: about as long as the
// window over which rates are measured, so that it is gone when they show it.
const clearWithin = time.Minute

// Analyze says how much of the load the replicas of snap serve within objective: of
// that of now or, where it is more, of the one that past lets expect. The Signal is
// Unknown, with the reason, where that cannot be said.
func Analyze(snap scaling.Snapshot, objective scaling.Objective, options Options, past Memory) scaling.Analysis {
	a := scaling.Analysis{Model: snap.Model, Analyzer: Name, Unit: scaling.UnitRequestRate, Reason: scaling.ReasonNoData}
	if !objective.Set() {
		a.Reason, a.Detail = scaling.ReasonServiceClassMissing, "no service class names a TTFT or an ITL for the model"
		return a
	}
	load, why := measure(snap)
	if why != "" {
		a.Detail = why
		return a
	}
	load.forecast = Look(snap, past)
	variants := slices.SortedFunc(slices.Values(snap.Variants), func(x, y scaling.Variant) int { return x.Key.Compare(y.Key) })
	variants = inMemory(variants, snap, past.Traffic.Footprint)
	sized, fault := sizeAll(correct(variants, snap, load), load, objective, options)
	if fault.reason != "" {
		a.Reason, a.Detail, a.Infeasible = fault.reason, fault.detail, fault.infeasible
		return a
	}
	add(&a, sized, load)
	stated, _ := sizeAll(variants, load, objective, options) // what is at fault there is at fault above
	if slower := compare(&a, snap, sides{sized, stated}, load); load.doubt == "" {
		load.doubt = slower
	}
	a.Signal, a.Reason, a.Detail = direction(a, load)
	return a
}

// add fills in demand, supply and the variants.
func add(a *scaling.Analysis, sized []sizing, load load) {
	most := 0.0
	for _, s := range sized {
		ready, current := s.replicas()
		a.Supply += s.rate * ready
		a.Anticipated += s.rate * max(ready, current)
		most = max(most, s.rate)
		if s.infeasible != nil {
			a.Infeasible = append(a.Infeasible, *s.infeasible)
		}
	}
	present := load.rate + min(load.backlog/clearWithin.Seconds(), most)
	a.Demand = max(present, load.forecast.Rate)
	for _, s := range sized {
		c := scaling.Capacity{Variant: s.variant.Key, PerReplica: s.rate, Source: s.source}
		if ready, _ := s.replicas(); ready > 0 && s.rate > 0 {
			c.Utilization = present / a.Supply
		}
		a.Variants = append(a.Variants, c)
	}
}

// direction weighs the demand against what there is and what was ordered.
func direction(a scaling.Analysis, load load) (scaling.Signal, scaling.Reason, string) {
	standing := fmt.Sprintf("%s, the Ready replicas serve %.3g within the objectives and %.3g with what was ordered",
		load.asked(a.Demand), a.Supply, a.Anticipated)
	switch {
	case a.Demand > a.Anticipated:
		return scaling.Grow, scaling.ReasonDemand, standing
	case a.Demand >= a.Supply && a.Demand > 0:
		return scaling.Steady, scaling.ReasonSteady, standing
	case load.doubt != "":
		return scaling.Steady, scaling.ReasonSteady, standing + "; not reduced: " + load.doubt
	}
	return scaling.Shrink, scaling.ReasonSpareCapacity, standing
}
