package optimizer

import (
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// demand is one load that the replicas of a model have to carry, as a whole of 1: replicas
// whose parts add up to 1 carry it. Parts have no unit, so that demands of different
// analyzers are comparable.
type demand struct {
	name     string // of the analyzer, and of its ceiling
	from     scaling.Analysis
	part     map[scaling.VariantKey]float64 // that one replica carries, >= 0
	relative bool                           // whether it was read off the replicas
}

// demands lists the demands of the informative analyses. Of an analysis that asks each
// variant for its own part, it lists only the parts.
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

// candidates returns the variants, sorted by key. A variant has no room beyond its running
// and ordered replicas where an informative analysis says that more of them carry nothing,
// whatever the other analyses say.
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

// ample is the part that a replica without a limit carries, and an upper limit for all
// parts.
const ample = 1e6

// parts divides what replicas carry by the whole. A variant that is not listed carries
// nothing, or everything if unlistedAll is set.
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

// carried returns how much of d so many replicas of each variant carry.
func (d demand) carried(variants []variantState, count func(variantState) scaling.Replicas) float64 {
	sum := 0.0
	for _, s := range variants {
		sum += d.part[s.Key] * float64(count(s))
	}
	return sum
}

// fill returns the largest utilization of replicas after a reduction: the analyzer's, or
// else otherwise.
func (d demand) fill(otherwise float64) float64 {
	if d.from.Fill > 0 {
		return d.from.Fill
	}
	return otherwise
}

// met reports whether the running and ordered replicas carry d.
func (d demand) met(variants []variantState) bool {
	return d.carried(variants, variantState.counted) >= 1-rounding
}
