package cycle

import (
	"maps"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/constrain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/optimizer"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Analyzer views one model.
type Analyzer func(scaling.Snapshot) scaling.Analysis

// Case is everything that a cycle's decision depends on.
type Case struct {
	Now       time.Time
	Snapshots []scaling.Snapshot
	Policies  map[scaling.ModelKey]constrain.Policy // a model without one has the zero Policy
	History   scaling.History
}

// Verdict is what a cycle decided and what it remembers of it.
type Verdict struct {
	Analyses []scaling.Analysis // sorted by model, then analyzer
	Plan     scaling.Plan
	History  scaling.History // of the variants in the case, after the plan
}

// Decide runs the pipeline from Snapshot to Plan: analyze, optimize, constrain.
// It is pure, and equal cases give equal verdicts whatever the order of their
// slices.
func Decide(c Case, analyze Analyzer) Verdict {
	snapshots := slices.SortedFunc(slices.Values(c.Snapshots), func(a, b scaling.Snapshot) int { return a.Model.Compare(b.Model) })
	variants := map[scaling.VariantKey]scaling.Variant{}
	past := scaling.History{}
	for _, s := range snapshots {
		for _, v := range s.Variants {
			variants[v.Key] = v
			if p, ok := c.History[v.Key]; ok && (p.Target == v.Target || p.Target == scaling.TargetRef{}) {
				past[v.Key] = p.Observe(v.Replicas, c.Now)
			}
		}
	}

	verdict := Verdict{Plan: scaling.Plan{At: c.Now}, History: maps.Clone(past)}
	for _, s := range snapshots {
		a := analyze(s)
		verdict.Analyses = append(verdict.Analyses, a)
		verdict.Plan.Decisions = append(verdict.Plan.Decisions,
			optimizer.Decide(optimizer.Input{Snapshot: s, Analysis: a, History: past})...)
	}
	slices.SortFunc(verdict.Plan.Decisions, func(a, b scaling.Decision) int { return a.Variant.Compare(b.Variant) })
	in := constrain.Input{Now: c.Now, Variants: variants, Policies: c.Policies, History: past}
	verdict.Plan = constrain.Apply(in, verdict.Plan)

	for _, d := range verdict.Plan.Decisions {
		p, v := verdict.History[d.Variant], variants[d.Variant]
		p.Target = v.Target
		if v.Replicas.Observed {
			p.Counts = v.Replicas
		}
		p.Wants = constrain.Wants(in, d)
		verdict.History[d.Variant] = p.Decide(d.Target(), c.Now)
	}
	return verdict
}
