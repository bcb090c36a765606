package optimizer

import (
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// demand is one thing that the replicas of a model have to carry, in parts of the
// whole: replicas that carry 1 together carry it. Units are gone, so that demands
// of different analyzers stand side by side.
type demand struct {
	name     string // of the analyzer, and of its ceiling
	from     scaling.Analysis
	part     map[scaling.VariantKey]float64 // that one replica carries, >= 0
	relative bool                           // it was read off the replicas
}

// demands lists what the informative ones among the analyses ask for: of one that asks each
// variant for its part the parts alone.
func demands(analyses []scaling.Analysis, variants []variantState) []demand {
	var out []demand
	for _, a := range analyses {
		if a.Signal == scaling.Unknown {
			continue
		}
		relative := a.FromReplicas
		perReplica := map[scaling.VariantKey]float64{}
		for _, c := range a.Variants {
			perReplica[c.Variant] = c.PerReplica
		}
		if total := a.Demand; total > 0 && !a.Apart {
			out = append(out, demand{a.Analyzer, a, parts(perReplica, total, variants, false), relative})
		}
		for _, c := range a.Ceilings {
			perReplica := map[scaling.VariantKey]float64{}
			for _, l := range c.Variants {
				perReplica[l.Variant] = l.PerReplica
			}
			if c.Demand > 0 {
				out = append(out, demand{a.Analyzer + " (" + c.Name + ")", a, parts(perReplica, c.Demand, variants, true), false})
			}
		}
	}
	return out
}

// candidates returns the variants, sorted by key, with no more room than what runs or was ordered
// where an informative analysis says that more of them carry nothing: no other
// analysis makes candidates of them.
func (v Votes) candidates() []variantState {
	out := states(Input{Snapshot: v.Snapshot, History: v.History})
	for _, a := range v.Analyses {
		if a.Signal == scaling.Unknown {
			continue
		}
		for _, c := range a.Variants {
			for i, s := range out {
				if c.Fixed && c.Variant == s.Key {
					out[i].Bounds.Max = min(s.Bounds.Max, max(s.hold, s.Replicas.Current))
				}
			}
		}
	}
	return out
}

// ample is what a replica without a limit carries, and the most that any does:
// all, and all again.
const ample = 1e6

// parts divides what replicas carry by the whole. A variant that is not listed
// carries nothing, or all if so said.
func parts(perReplica map[scaling.VariantKey]float64, whole float64, variants []variantState, unlistedAll bool) map[scaling.VariantKey]float64 {
	out := make(map[scaling.VariantKey]float64, len(variants))
	for _, s := range variants {
		c, listed := perReplica[s.Key]
		switch {
		case listed:
			out[s.Key] = min(ample, c/whole)
		case unlistedAll:
			out[s.Key] = ample
		}
	}
	return out
}

// carried is how much of d so many replicas of each variant carry.
func (d demand) carried(variants []variantState, count func(variantState) int) float64 {
	sum := 0.0
	for _, s := range variants {
		sum += d.part[s.Key] * float64(count(s))
	}
	return sum
}

// fill is how full replicas may be after a reduction: as the analyzer says, else
// as given.
func (d demand) fill(otherwise float64) float64 {
	if d.from.Fill > 0 {
		return d.from.Fill
	}
	return otherwise
}

// met reports whether what runs and was ordered carries d.
func (d demand) met(variants []variantState) bool {
	return d.carried(variants, variantState.counted) >= 1-rounding
}
