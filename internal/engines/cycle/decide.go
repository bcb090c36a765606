package cycle

import (
	"maps"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/constrain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/model"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/scalefromzero"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/optimizer"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/queueing/profile"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Case holds all inputs of a cycle's decision except the Setup.
type Case struct {
	Now       time.Time
	Snapshots []scaling.Snapshot
	Policies  map[scaling.ModelKey]constrain.Pacing // a model without one has the zero Policy
	History   scaling.History
}

// Verdict is the outcome of a cycle: the plan and what the next cycle remembers.
type Verdict struct {
	Analyses []scaling.Analysis // sorted by model; for each model the foremost one
	Plan     scaling.Plan
	History  scaling.History // of the variants in the case, after the plan
	// Gap is the gap that optimizer.Share returns: how far the cost of shared decisions may
	// be from the least cost, a ratio. NotApplicable where nothing had to be shared.
	Gap scaling.Reading
}

// Setup says how models are decided. The zero value decides every model by the documented
// settings.
type Setup struct {
	// Models has the settings of each model. A model without an entry uses model.Default.
	Models map[scaling.ModelKey]model.Settings
	// Interval is the planned time to the next cycle, 0 where only a change starts one.
	Interval time.Duration
	// Inventory and Quotas bound the accelerators of limited models.
	Inventory scaling.Inventory
	Quotas    []scaling.Quota
}

// Decide runs the pipeline from Snapshot to Plan: analyze, optimize, constrain.
// It is pure, and equal cases give equal verdicts whatever the order of their
// slices.
func (e Setup) Decide(c Case) Verdict {
	snapshots := slices.SortedFunc(slices.Values(c.Snapshots), func(a, b scaling.Snapshot) int { return a.Model.Compare(b.Model) })
	variants, past := observe(snapshots, c.History, c.Now)

	outcomes := make(map[scaling.ModelKey]model.Outcome, len(snapshots))
	verdict := Verdict{Plan: scaling.Plan{At: c.Now}, History: maps.Clone(past)}
	activity := make(map[scaling.ModelKey]scaling.Activity, len(snapshots))
	called := map[scaling.VariantKey]time.Time{}
	resumed := map[scaling.VariantKey]scaling.Replicas{}
	looks := make(map[scaling.ModelKey]scaling.Snapshot, len(snapshots))
	shared := e.shared(snapshots, past)
	for _, s := range snapshots {
		looks[s.Model] = s
		activity[s.Model] = past.Activity(s.Variants).Then(s)
		for _, v := range s.Variants {
			resumed[v.Key] = past[v.Key].Busy.Size(s)
		}
		out, calls := e.decide(s, past, shared)
		maps.Copy(called, calls)
		outcomes[s.Model] = out
	}
	verdict.Gap = e.share(snapshots, variants, outcomes)
	for _, s := range snapshots {
		out := outcomes[s.Model]
		verdict.Analyses = append(verdict.Analyses, out.Analyses...)
		verdict.Plan.Decisions = append(verdict.Plan.Decisions, out.Decisions...)
	}
	slices.SortFunc(verdict.Plan.Decisions, func(a, b scaling.Decision) int { return a.Variant.Compare(b.Variant) })
	in := constrain.Input{Now: c.Now, Variants: variants, Policies: c.Policies, History: past, Activity: activity, Resumed: resumed, Limits: e.limits(outcomes)}
	verdict.Plan = constrain.Apply(in, verdict.Plan)

	turns, costs := turns(snapshots, past, verdict.Plan, outcomes), map[scaling.ModelKey]float64{}
	for _, s := range snapshots {
		costs[s.Model] = past.Cost(s.Variants)
	}
	for _, d := range verdict.Plan.Decisions {
		p, v := verdict.History[d.Variant], variants[d.Variant]
		p.Target, p.Model = v.Target, v.Model
		if v.Replicas.Observed {
			p.Counts = v.Replicas
		}
		p.Wants = constrain.Wants(in, d)
		p.Activity, p.Called = activity[d.Model], called[d.Variant]
		p.Refused = refused(p, d, c.Now)
		p.Informed, p.Backlog = outcomes[d.Model].Informed, outcomes[d.Model].Backlog
		p.Fit = outcomes[d.Model].Fits[d.Variant]
		p.Traffic, p.Turns, p.Busy = outcomes[d.Model].Traffic, turns[d.Model], p.Busy.Then(looks[d.Model], needed(p.Wants, d))
		if gaveUp(d) {
			p.Failures = p.Failures.Then(v, past[d.Variant].Waits.Ordered(d.Target(), past.LastDesired(v)), c.Now)
		}
		if capacity, counted := outcomes[d.Model].Capacity[d.Variant]; counted {
			p.Capacity = capacity
		}
		if d.Target() != p.Desired {
			switch {
			case d.Moves():
				p.MoveTo, p.MoveCost = d.MoveTo(), costs[d.Model]
			case d.Cause().Reason == scaling.ReasonOrderCancelled:
				p.MoveTo = 0
			case d.Target() > p.Desired:
				p.MoveTo, p.MoveCost = 0, 0
			}
		}
		verdict.History[d.Variant] = p.Decide(d.Target(), c.Now)
	}
	return verdict
}

// observe returns the variants of the snapshots, and their history updated to now by the
// snapshots. It leaves out the history of a scale target that has since been replaced.
func observe(snapshots []scaling.Snapshot, history scaling.History, now time.Time) (map[scaling.VariantKey]scaling.Variant, scaling.History) {
	variants, past := map[scaling.VariantKey]scaling.Variant{}, scaling.History{}
	for _, s := range snapshots {
		serving := map[scaling.VariantKey]bool{}
		for _, r := range s.Replicas {
			serving[r.Variant] = serving[r.Variant] || r.Ready
		}
		for _, v := range s.Variants {
			variants[v.Key] = v
			if p, ok := history[v.Key]; ok && (p.Target == v.Target || p.Target == scaling.TargetRef{}) {
				past[v.Key] = p.At(now).Serving(v.Model, now).Starts(v.StartUp).Observe(v.Replicas, now).See(v.Replicas.Observed || serving[v.Key], now)
			}
		}
	}
	return variants, past
}

// turns returns what the history remembers of each model's reductions after the plan. A
// model grew if one of its variants grew. A model that moves to cheaper variants did not
// grow: it has the replicas that it needs.
func turns(snapshots []scaling.Snapshot, past scaling.History, plan scaling.Plan, outcomes map[scaling.ModelKey]model.Outcome) map[scaling.ModelKey]scaling.Turns {
	decided, moves := make(map[scaling.VariantKey]scaling.Replicas, len(plan.Decisions)), map[scaling.ModelKey]bool{}
	for _, d := range plan.Decisions {
		if d.Moves() {
			moves[d.Model] = true
		} else {
			decided[d.Variant] = d.Target()
		}
	}
	out := make(map[scaling.ModelKey]scaling.Turns, len(snapshots))
	for _, s := range snapshots {
		var last scaling.Turns
		r := scaling.Resize{Moves: moves[s.Model]}
		for _, v := range s.Variants {
			last = last.Latest(past[v.Key].Turns)
			to, known := decided[v.Key]
			stays := to
			if !known {
				stays = past.LastDesired(v)
			}
			before := past.LastDesired(v)
			r.Cost += v.Cost * float64(stays)
			r.Ready += v.Cost * float64(min(stays, v.Replicas.Ready))
			switch {
			case known && to > before:
				r.Change = 1
			case known && to < before && r.Change == 0:
				r.Change = -1
			}
		}
		if votes := outcomes[s.Model].Votes; votes != nil {
			r.Need = votes.Need()
		}
		out[s.Model] = last.Then(r, s.Load, s.At)
	}
	return out
}

// needed returns how many replicas of the variant of d the load needs: the decided replicas
// without those that only the pace keeps.
func needed(w scaling.Wants, d scaling.Decision) scaling.Replicas {
	if n, known := w.Now(); known {
		return min(n, d.Target())
	}
	return d.Target()
}

// gaveUp reports whether d takes back replicas that did not become Ready in time.
func gaveUp(d scaling.Decision) bool {
	reason := d.Cause().Reason
	return reason == scaling.ReasonOrderCancelled || reason == scaling.ReasonPodsNotReady && d.Target() < d.Current
}

// refused returns when a constraint last left the variant of d none of the replicas that it
// was called for, zero if none did. The time stays until replicas are asked for again.
func refused(p scaling.Past, d scaling.Decision, now time.Time) time.Time {
	switch {
	case p.Called.IsZero() || d.Target() > 0:
		return time.Time{}
	case slices.ContainsFunc(d.Steps, func(s scaling.Step) bool { return s.Stage == scaling.StageCapacity }):
		return now
	}
	return p.Refused
}

// shared returns what namespaces show each other of the speed of replicas: of the variants of
// models whose settings say so.
func (e Setup) shared(snapshots []scaling.Snapshot, past scaling.History) map[scaling.VariantKey]scaling.Shared {
	var variants []scaling.Variant
	fits := map[scaling.VariantKey]scaling.Fit{}
	for _, s := range snapshots {
		if !e.Models[s.Model].ShareProfiles {
			continue
		}
		for _, v := range s.Variants {
			variants, fits[v.Key] = append(variants, v), past[v.Key].Fit
		}
	}
	return profile.Share(variants, fits)
}

// decide decides about one model, before any constraint: by its engine, or by scalefromzero
// where requests wait and no replica is Ready. It also returns since when each variant is
// called.
func (e Setup) decide(s scaling.Snapshot, past scaling.History, shared map[scaling.VariantKey]scaling.Shared) (model.Outcome, map[scaling.VariantKey]time.Time) {
	settings, ok := e.Models[s.Model]
	if !ok {
		settings = model.Default()
	}
	out := model.Decide(model.Input{Snapshot: s, History: past, Settings: settings, Interval: e.Interval, Shared: shared})
	wake := scalefromzero.Decide(scalefromzero.Input{Snapshot: s, History: past, Inventory: e.Inventory, Objective: settings.Objective, Sizing: settings.Sizing})
	if wake.Decisions != nil {
		out.Decisions, out.Votes = wake.Decisions, nil
	}
	return out, wake.Called
}

// share lets limited models with a known demand grow on other variants where the cheapest
// variants have too few accelerators for all. It returns the gap of optimizer.Share.
func (e Setup) share(snapshots []scaling.Snapshot, variants map[scaling.VariantKey]scaling.Variant, outcomes map[scaling.ModelKey]model.Outcome) scaling.Reading {
	if !e.Inventory.Known {
		return scaling.Reading{State: scaling.NotApplicable}
	}
	stock := map[string]scaling.Accelerators{}
	for _, g := range e.Inventory.Groups {
		for _, f := range g.Free {
			stock[g.Accelerator] += (f.GPUs + f.Leaving).Times(f.Nodes)
		}
	}
	var contenders []optimizer.Contender
	for _, s := range snapshots {
		out, settings := outcomes[s.Model], e.Models[s.Model]
		contends := settings.Limited && out.Votes != nil
		if contends {
			contenders = append(contenders, optimizer.Contender{Votes: *out.Votes, Decisions: out.Decisions, Rank: settings.Objective.Rank()})
		}
		for _, d := range out.Decisions {
			v := variants[d.Variant]
			if contends {
				// A model's current accelerators stay available to it; a pod without a node
				// has none.
				stock[v.Accelerator] += v.GPUs(d.Current - v.Replicas.Unschedulable - v.Replicas.Podless)
			} else {
				stock[v.Accelerator] -= v.GPUs(d.Target() - d.Current)
			}
		}
	}
	shared, gap := optimizer.Share(contenders, stock)
	for i, decisions := range shared {
		out := outcomes[contenders[i].Votes.Snapshot.Model]
		out.Decisions = decisions
		outcomes[contenders[i].Votes.Snapshot.Model] = out
	}
	return gap
}

// limits returns the bounds of the limited models.
func (e Setup) limits(outcomes map[scaling.ModelKey]model.Outcome) constrain.Limits {
	limits := constrain.Limits{Models: map[scaling.ModelKey]constrain.LimitedModel{}, Inventory: e.Inventory, Quotas: e.Quotas}
	for key, out := range outcomes {
		settings, ok := e.Models[key]
		if !ok || !settings.Limited {
			continue
		}
		limited := constrain.LimitedModel{Rank: settings.Objective.Rank(), Utilization: map[scaling.VariantKey]float64{}}
		for _, c := range out.Analyses[0].Variants {
			limited.Utilization[c.Variant] = c.Utilization
		}
		limits.Models[key] = limited
	}
	return limits
}
