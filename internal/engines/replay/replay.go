package replay

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/counterfactual"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/queueing"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
)

// Decide decides a recorded cycle as the manager does.
func Decide(c record.Cycle) cycle.Verdict {
	setup, from := cycle.FromRecord(c)
	return setup.Decide(from)
}

// Part returns the part of a recorded cycle that the decisions of a model depend on: the model
// only, where it competes for no accelerators and shares no profiles; else the whole cycle.
func Part(c record.Cycle, of scaling.ModelKey) record.Cycle {
	setup, from := cycle.FromRecord(c)
	d := cycle.Decided{Setup: setup, Case: from}
	if c.Plan != nil {
		d.Plan = *c.Plan
	}
	out := d.Part(of).Recorded()
	out.Build = c.Build
	if c.Plan == nil {
		out.Plan = nil
	}
	return out
}

// Explanation returns the explanation of the decision for variant v of snapshot s in c. verdict is
// the outcome of Decide for c.
func Explanation(c record.Cycle, verdict cycle.Verdict, s scaling.Snapshot, v scaling.Variant) explain.Explanation {
	e := explain.Explanation{
		Cycle: cmp.Or(c.Cycle, "-"), At: c.Now, Interval: explain.Duration(c.Interval), Variant: v, Past: verdict.History[v.Key], Snapshot: s,
		Objective: objective(c.Configuration[s.Model]),
		StartUps:  explain.StartUps{Usual: explain.Duration(v.StartUp), Slow: explain.Duration(v.SlowStartUp), Pods: v.StartUps, Last: v.Replicas.NewestReady},
	}
	part := v.PartOf(s.Variants)
	if i := slices.IndexFunc(verdict.Analyses, func(a scaling.Analysis) bool { return a.Part() == part }); i >= 0 {
		e.Analysis = verdict.Analyses[i] // the first of several is the one that decided
	}
	if i := slices.IndexFunc(verdict.Analyses, func(a scaling.Analysis) bool { return a.Part() == part && a.Analyzer == queueing.Name }); i >= 0 {
		e.Sizing = verdict.Analyses[i]
	}
	for _, d := range verdict.Plan.Decisions {
		if d.Model == s.Model {
			e.Model = append(e.Model, d)
		}
		if d.Variant == v.Key {
			e.Decision, e.Decided = d, true
			if !d.Fallback {
				e.AnalyzedAt = c.Now
			}
		}
	}
	return e
}

// objective returns the objective of a model, with its percentiles where it is set.
func objective(p settings.Model) explain.Objective {
	o := explain.Objective{Objective: p.Objective}
	if o.Set() {
		o.TTFTPercentile, o.ITLPercentile = p.Sizing.TTFTPercentile, p.Sizing.ITLPercentile
	}
	return o
}

// Find returns the snapshot of the model of a variant and the variant in it; false where the cycle
// does not have it.
func Find(c record.Cycle, of scaling.VariantKey) (scaling.Snapshot, scaling.Variant, bool) {
	for _, s := range c.Snapshots {
		if i := slices.IndexFunc(s.Variants, func(v scaling.Variant) bool { return v.Key == of }); i >= 0 {
			return s, s.Variants[i], true
		}
	}
	return scaling.Snapshot{}, scaling.Variant{}, false
}

// Answers returns why the decision for a variant of a recorded cycle is not another one, and what
// would change it. It fails, too, where this program decides differently from the recorded plan.
func Answers(c record.Cycle, of scaling.VariantKey) (counterfactual.Answers, error) {
	setup, from := cycle.FromRecord(c)
	a, err := counterfactual.Ask(setup, from, of)
	if err != nil {
		return counterfactual.Answers{}, err
	}
	a.Cycle = c.Cycle
	if c.Plan == nil {
		return a, nil
	}
	i := slices.IndexFunc(c.Plan.Decisions, func(d scaling.Decision) bool { return d.Variant == of })
	if i >= 0 && c.Plan.Decisions[i].Target() != a.Decided {
		return counterfactual.Answers{}, fmt.Errorf("cycle %s of version %s decided %d, and this program, %s, decides %d of what is known of it",
			c.Cycle, c.Build, c.Plan.Decisions[i].Target(), record.Build(), a.Decided)
	}
	return a, nil
}
