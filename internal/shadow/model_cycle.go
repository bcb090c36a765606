package shadow

import (
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// ModelCycle is one model in one cycle.
type ModelCycle struct {
	At       time.Time
	Interval time.Duration // planned until the next cycle, 0 for unknown
	Cycle    scaling.CycleID
	Advisory bool   // the decisions were advice
	Variants []Seen // sorted by Key, one or more
	// Rate is the arrival rate [requests/s]; an unknown one is no zero.
	Rate scaling.Reading
	// Missed is the measured part of the requests that missed the objectives, a ratio.
	Missed scaling.Reading
	// Waiting is the number of waiting requests.
	Waiting float64
	// TTFT and ITL are means [ms].
	TTFT, ITL scaling.Reading
	// Demand is the rate to serve, arrivals and backlog, as the sizing to objectives computes it
	// [requests/s]; unknown where nothing is sized to objectives.
	Demand scaling.Reading
}

// Seen is one variant of a ModelCycle.
type Seen struct {
	Key         scaling.VariantKey
	Accelerator string
	GPUs        scaling.Accelerators // of one replica, 1 or more
	Cost        float64              // of one replica and hour
	StartUp     time.Duration        // the usual one, 0 while unknown
	Bounds      scaling.Bounds
	Observed    bool // Current and Ready are known
	Current     scaling.Replicas
	Ready       scaling.Replicas
	Decided     bool
	Target      scaling.Replicas // decided on
	Why         scaling.Step     // the step that settled Target
	// Carries is the rate that one replica serves within the objectives [requests/s]; 0 where it
	// serves none, or where that is unknown.
	Carries float64
}

// ModelCycleOf returns the readings and decisions of a model in a cycle. analyses are those of the cycle.
func ModelCycleOf(s scaling.Snapshot, o scaling.Objective, analyses []scaling.Analysis, decisions map[scaling.VariantKey]scaling.Decision) ModelCycle {
	out := ModelCycle{
		At: s.At, Advisory: s.Advisory(), Rate: s.Load.ArrivalRate, Waiting: s.Waiting(), TTFT: s.Load.TTFT, ITL: s.Load.ITL,
	}
	if part, known := s.Missed(o); known && o.Set() {
		out.Missed = scaling.Measured(part, scaling.Fresh)
	}
	carries := map[scaling.VariantKey]float64{}
	for _, a := range analyses {
		if a.Model != s.Model || a.Unit != scaling.UnitRequestRate || !o.Set() || a.Signal == scaling.Unknown {
			continue
		}
		out.Demand = scaling.Measured(a.Demand, scaling.Fresh)
		for _, c := range a.Variants {
			carries[c.Variant] = c.PerReplica
		}
		break
	}
	for _, v := range scaling.ByKey(s.Variants) {
		seen := Seen{
			Key: v.Key, Accelerator: v.Accelerator, GPUs: v.GPUs(1), Cost: v.Cost, StartUp: v.StartUp, Bounds: v.Bounds,
			Observed: v.Replicas.Observed, Current: v.Replicas.Current, Ready: v.Replicas.Ready, Carries: carries[v.Key],
		}
		if d, ok := decisions[v.Key]; ok {
			seen.Decided, seen.Target, seen.Why = true, d.Target(), d.Cause()
		}
		out.Variants = append(out.Variants, seen)
	}
	return out
}

// Usable reports whether l has the replicas of every variant and a decision for each.
func (l ModelCycle) Usable() bool {
	for _, v := range l.Variants {
		if !v.Observed || !v.Decided {
			return false
		}
	}
	return len(l.Variants) > 0
}

// carried returns the part of the demand that the given replicas serve within the objectives; false
// where the demand is unknown. replicas are in the order of l.Variants.
func (l ModelCycle) carried(replicas []scaling.Replicas) (float64, bool) {
	if !l.Demand.Known() {
		return 0, false
	}
	supply := 0.0
	for i, v := range l.Variants {
		supply += v.Carries * float64(replicas[i])
	}
	if supply >= l.Demand.Value || l.Demand.Value <= 0 {
		return 1, true
	}
	return supply / l.Demand.Value, true
}
