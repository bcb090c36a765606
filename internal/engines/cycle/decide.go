package cycle

import (
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/constrain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/model"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/scalefromzero"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/optimizer"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/queueing/profile"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// Case holds all inputs of a cycle's decision except the Setup.
type Case struct {
	// Cycle names the cycle. A reduction that waits for approval is identified by it.
	Cycle     scaling.CycleID
	Now       time.Time
	Snapshots []scaling.Snapshot
	History   memory.History
}

// Verdict is the outcome of a cycle: the plan and what the next cycle remembers.
type Verdict struct {
	Analyses []scaling.Analysis // sorted by Part; for each part all of them, the foremost first
	Plan     scaling.Plan
	History  memory.History // of the variants in the case, after the plan
	// Gap is the gap that optimizer.Share returns: the largest excess of the cost of shared
	// decisions over the least possible cost, a ratio. NotApplicable where nothing had to be
	// shared.
	Gap scaling.Reading
}

// Decide runs the pipeline from Snapshot to Plan: analyze, optimize, constrain. Each step
// takes what earlier steps return, so the compiler holds their order. It is pure, and equal
// cases give equal verdicts whatever the order of their slices.
func (e Setup) Decide(c Case) Verdict {
	// 1. Update the history to now by the snapshots.
	seen := observe(c)

	// 2. Decide about each model as if it were alone.
	alone := e.each(seen)

	// 3. Share accelerators among the limited models that compete for them.
	wanted := e.share(seen, alone)

	// 4. Constrain the plan: zero, bounds, pace, accelerators.
	granted := e.constrain(seen, alone, wanted)

	// 5. Keep advice from taking accelerators from decisions that are carried out.
	granted = e.withoutAdvice(seen, alone, granted)

	// 6. Return the history for the next cycle.
	return Verdict{Analyses: alone.analyses(seen), Plan: granted.plan, Gap: wanted.gap, History: remember(seen, alone, granted)}
}

// look holds the inputs of a cycle with the history updated to now.
type look struct {
	at        time.Time
	cycle     scaling.CycleID
	snapshots []scaling.Snapshot // sorted by model
	parts     []scaling.Snapshot // of the snapshots, each decided as one; sorted by Part
	variants  map[scaling.VariantKey]scaling.Variant
	past      memory.History                    // of the variants, updated to now
	memory    map[scaling.Part]memory.ModelPast // likewise
	activity  map[scaling.ModelKey]memory.Activity
}

// observe returns the snapshots and their variants, and the history updated to now by them. It
// leaves out the history of a scale target that has since been replaced.
func observe(c Case) look {
	seen := look{
		at: c.Now, cycle: c.Cycle,
		snapshots: slices.SortedFunc(frozen(c.Snapshots), func(a, b scaling.Snapshot) int { return a.Model.Compare(b.Model) }),
		variants:  map[scaling.VariantKey]scaling.Variant{}, past: memory.History{},
		memory: make(map[scaling.Part]memory.ModelPast, len(c.Snapshots)), activity: make(map[scaling.ModelKey]memory.Activity, len(c.Snapshots)),
	}
	for _, s := range seen.snapshots {
		serving := map[scaling.VariantKey]bool{}
		for _, r := range s.Replicas {
			serving[r.Variant] = serving[r.Variant] || r.Ready
		}
		for _, v := range s.Variants {
			seen.variants[v.Key] = v
			if p, ok := c.History[v.Key]; ok && (p.Target == v.Target || p.Target == scaling.TargetRef{}) {
				p = p.At(c.Now).Serving(v.Model, c.Now).Starts(v.StartUp)
				if v.Advisory {
					p = p.Advised(v.Replicas, c.Now)
				}
				seen.past[v.Key] = p.Observe(v.Replicas, c.Now).See(v.Replicas.Observed || serving[v.Key], c.Now)
			}
		}
		seen.activity[s.Model] = seen.past.Model(s.Variants).Activity.Then(s)
		for _, part := range s.Parts() {
			seen.parts = append(seen.parts, part)
			seen.memory[part.Part()] = seen.past.Model(part.Variants)
		}
	}
	return seen
}

// frozen yields the snapshots. It sets Paused for variants that a freeze window lets not change, so
// that no stage counts on a change of them.
func frozen(snapshots []scaling.Snapshot) iter.Seq[scaling.Snapshot] {
	return func(yield func(scaling.Snapshot) bool) {
		for _, s := range snapshots {
			if slices.ContainsFunc(s.Variants, func(v scaling.Variant) bool { return v.Freeze.Allow == scaling.AllowNone }) {
				s.Variants = slices.Clone(s.Variants)
				for i := range s.Variants {
					v := &s.Variants[i]
					v.Paused = v.Paused || v.Freeze.Allow == scaling.AllowNone
				}
			}
			if !yield(s) {
				return
			}
		}
	}
}

// choices holds the decisions about each part as if it were alone.
type choices struct {
	outcomes map[scaling.Part]model.Outcome
	called   map[scaling.VariantKey]time.Time // time since when each variant is called; see scalefromzero.Outcome
}

// each decides about each part, before any constraint.
func (e Setup) each(seen look) choices {
	out := choices{make(map[scaling.Part]model.Outcome, len(seen.parts)), map[scaling.VariantKey]time.Time{}}
	shared := e.shared(seen)
	for _, whole := range seen.snapshots {
		for _, s := range whole.Parts() {
			decided, called := e.decide(s, whole.Load, seen.past, shared)
			out.outcomes[s.Part()] = decided
			maps.Copy(out.called, called)
		}
	}
	return out
}

// analyses lists the analyses of all parts, sorted by Part.
func (c choices) analyses(seen look) []scaling.Analysis {
	var out []scaling.Analysis
	for _, s := range seen.parts {
		out = append(out, c.outcomes[s.Part()].Analyses...)
	}
	return out
}

// roles returns the demand of each role, and the supply of one replica of each of its variants,
// where they are known.
func (c choices) roles(seen look) map[scaling.Part]constrain.RoleDemand {
	out := map[scaling.Part]constrain.RoleDemand{}
	for _, s := range seen.parts {
		votes := c.outcomes[s.Part()].Votes
		if s.Role == "" || votes == nil {
			continue
		}
		a := votes.Analyses[0]
		of := constrain.RoleDemand{Demand: a.Demand, PerReplica: make(map[scaling.VariantKey]float64, len(a.Variants))}
		if a.Unit == scaling.UnitRequestRate {
			// Only arrivals pass both roles: requests that wait in one are no reason for the other
			// to grow.
			of.Demand = s.Load.ArrivalRate.Or(a.Demand)
		}
		for _, v := range a.Variants {
			of.PerReplica[v.Variant] = v.PerReplica
		}
		out[s.Part()] = of
	}
	return out
}

// wants holds the plan before any constraint.
type wants struct {
	plan   scaling.Plan
	limits constrain.Limits
	gap    scaling.Reading // see Verdict
}

// grants holds the plan with every constraint, and the input of the constraints.
type grants struct {
	in   constrain.Input
	plan scaling.Plan
}

// constrain returns the plan in which every constraint holds.
func (e Setup) constrain(seen look, alone choices, wanted wants) grants {
	resumed := make(map[scaling.VariantKey]scaling.Replicas, len(seen.variants))
	for _, s := range seen.parts {
		for _, v := range s.Variants {
			resumed[v.Key] = seen.past[v.Key].Busy.Size(s)
		}
	}
	surplus := make(map[scaling.Part]float64, len(alone.outcomes))
	for part, of := range alone.outcomes {
		surplus[part] = of.Surplus
	}
	policies := make(map[scaling.ModelKey]constrain.Pacing, len(e.Models))
	for m, of := range e.Models {
		policies[m] = of.Pacing
	}
	in := constrain.Input{
		Now: seen.at, Cycle: seen.cycle, Variants: seen.variants, Policies: policies, History: seen.past,
		Activity: seen.activity, Resumed: resumed, Limits: wanted.limits, Roles: alone.roles(seen), Surplus: surplus,
	}
	return grants{in, constrain.Apply(in, wanted.plan)}
}

// withoutAdvice replaces the decisions about models that are scaled, where these competed with
// advisory models for accelerators: they get what they would get if the advisory models kept their
// current replicas.
func (e Setup) withoutAdvice(seen look, alone choices, granted grants) grants {
	held, scaled, limited := choices{maps.Clone(alone.outcomes), alone.called}, false, false
	advisory := map[scaling.ModelKey]bool{}
	for _, s := range seen.snapshots {
		limited = limited || e.Models[s.Model].Limited
		if !s.Advisory() {
			scaled = true
			continue
		}
		advisory[s.Model] = true
		for _, part := range s.Parts() {
			out := held.outcomes[part.Part()]
			out.Votes, out.Decisions = nil, slices.Clone(out.Decisions)
			for i, d := range out.Decisions {
				out.Decisions[i] = scaling.Decision{Variant: d.Variant, Model: d.Model, Current: d.Current, Fallback: true}
			}
			held.outcomes[part.Part()] = out
		}
	}
	if len(advisory) == 0 || !scaled || !limited {
		return granted
	}
	apart := e
	apart.Models = maps.Clone(e.Models)
	for m := range advisory {
		of := e.settings(m)
		of.Limited = false // its replicas are not asked back for the sake of advice
		apart.Models[m] = of
	}
	scaledOnly := apart.constrain(seen, held, apart.share(seen, held))
	merged := scaling.Plan{At: granted.plan.At, Decisions: slices.Clone(scaledOnly.plan.Decisions)}
	for i, d := range merged.Decisions {
		if !advisory[d.Model] {
			continue
		}
		if at, found := slices.BinarySearchFunc(granted.plan.Decisions, d.Variant, func(d scaling.Decision, key scaling.VariantKey) int { return d.Variant.Compare(key) }); found {
			merged.Decisions[i] = granted.plan.Decisions[at]
		}
	}
	return grants{granted.in, merged}
}

// remember returns the history of the variants after the plan.
func remember(seen look, alone choices, granted grants) memory.History {
	history, turns := maps.Clone(seen.past), turns(seen, alone, granted.plan)
	parts, costs := make(map[scaling.Part]scaling.Snapshot, len(seen.parts)), make(map[scaling.Part]float64, len(seen.parts))
	for _, s := range seen.parts {
		parts[s.Part()], costs[s.Part()] = s, seen.past.Cost(s.Variants)
	}
	for _, d := range granted.plan.Decisions {
		p, v, of := seen.past[d.Variant], seen.variants[d.Variant], alone.outcomes[d.Part()]
		p.Target, p.Model = v.Target, v.Model
		if v.Replicas.Observed {
			p.Counts = v.Replicas
		}
		p.ModelPast = memory.ModelPast{
			Informed: of.Informed, Backlog: of.Backlog, Activity: seen.activity[d.Model], Traffic: of.Traffic, Turns: turns[d.Part()], Peaks: of.Peaks,
		}
		p.Wants = constrain.Wants(granted.in, d)
		p.Fit = of.Fits[d.Variant]
		if p.Reductions = p.Reductions.Then(v); v.Approval.Required {
			p.Reductions.Reduction = d.Reduction
		}
		p.Busy = p.Busy.Then(parts[d.Part()], needed(p.Wants, d))
		if capacity, counted := of.Capacity[d.Variant]; counted {
			p.Capacity = capacity
		}
		if v.Advisory { // d is not carried out: the replicas stay
			history[d.Variant] = p.Decide(seen.past.LastDesired(v), seen.at)
			continue
		}
		p.Called = alone.called[d.Variant]
		p.Refused = refused(p, d, seen.at)
		if gaveUp(d) {
			p.Failures = p.Failures.Then(v, p.Waits.Ordered(d.Target(), seen.past.LastDesired(v)), seen.at)
		}
		history[d.Variant] = p.Moved(d, costs[d.Part()]).Decide(d.Target(), seen.at)
	}
	return history
}

// turns returns the Turns of each part after the plan. A part grew if one of its variants grew. A
// part that moves to cheaper variants did not grow: it has the replicas that it needs.
func turns(seen look, alone choices, plan scaling.Plan) map[scaling.Part]memory.Turns {
	decided, moves := make(map[scaling.VariantKey]scaling.Replicas, len(plan.Decisions)), map[scaling.Part]bool{}
	for _, d := range plan.Decisions {
		if seen.variants[d.Variant].Advisory {
			continue // its replicas do not change
		}
		if d.Moves() {
			moves[d.Part()] = true
		} else {
			decided[d.Variant] = d.Target()
		}
	}
	out := make(map[scaling.Part]memory.Turns, len(seen.parts))
	for _, s := range seen.parts {
		r := memory.Resize{Moves: moves[s.Part()]}
		for _, v := range s.Variants {
			to, known := decided[v.Key]
			before := seen.past.LastDesired(v)
			stays := to
			if !known {
				stays = before
			}
			r.Cost += v.CostPerHour(stays)
			r.Ready += v.CostPerHour(min(stays, v.Replicas.Ready))
			switch {
			case known && to > before:
				r.Change = 1
			case known && to < before && r.Change == 0:
				r.Change = -1
			}
		}
		if votes := alone.outcomes[s.Part()].Votes; votes != nil {
			r.Need = votes.Need()
		}
		out[s.Part()] = seen.memory[s.Part()].Turns.Then(r, s.Load, s.At)
	}
	return out
}

// needed returns how many replicas of the variant of d the load needs: the decided ones without
// those that only the pace keeps.
func needed(w memory.Wants, d scaling.Decision) scaling.Replicas {
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

// refused returns the time at which a constraint last left the called variant of d without a
// replica, zero if none did. The time stays until the variant gets replicas or is no longer called.
func refused(p memory.Past, d scaling.Decision, now time.Time) time.Time {
	switch {
	case p.Called.IsZero() || d.Target() > 0:
		return time.Time{}
	case slices.ContainsFunc(d.Steps, func(s scaling.Step) bool { return s.Stage == scaling.StageCapacity }):
		return now
	}
	return p.Refused
}

// shared returns the speed of replicas that namespaces share with each other, for the variants of
// models whose settings say so.
func (e Setup) shared(seen look) map[scaling.VariantKey]memory.Shared {
	var variants []scaling.Variant
	fits := map[scaling.VariantKey]memory.Fit{}
	for _, s := range seen.snapshots {
		if !e.Models[s.Model].ShareProfiles {
			continue
		}
		for _, v := range s.Variants {
			variants, fits[v.Key] = append(variants, v), seen.past[v.Key].Fit
		}
	}
	return profile.Share(variants, fits)
}

// decide decides about one part, before any constraint: by its engine, or by scalefromzero where
// requests of the model wait or arrive and no replica of the part is Ready. whole is the load of
// the model. It also returns the time since when each variant is called.
func (e Setup) decide(s scaling.Snapshot, whole scaling.Load, past memory.History, shared map[scaling.VariantKey]memory.Shared) (model.Outcome, map[scaling.VariantKey]time.Time) {
	of := e.settings(s.Model)
	of.Objective = of.Objective.Of(s.Role)
	out := model.Decide(model.Input{Snapshot: s, History: past, Settings: of, Interval: e.Interval, Shared: shared})
	if s.Role != "" {
		s.Load = waitsFor(s.Load, whole)
	}
	wake := scalefromzero.Decide(scalefromzero.Input{Snapshot: s, History: past, Inventory: e.Inventory, Objective: of.Objective, Sizing: of.Sizing})
	if wake.Decisions != nil {
		out.Decisions, out.Votes = wake.Decisions, nil
	}
	return out, wake.Called
}

// waitsFor returns the load of one role with the gateway queue and the arrival rate of the whole
// model: without a Ready replica of the role no request of the model is served.
func waitsFor(role, whole scaling.Load) scaling.Load {
	role.GatewayQueue = whole.GatewayQueue
	if whole.ArrivalRate.Known() {
		role.ArrivalRate = whole.ArrivalRate
	}
	return role
}

// share lets limited models with a known demand grow on other variants where the cheapest
// variants have too few accelerators for all. It returns the decisions about all models.
func (e Setup) share(seen look, alone choices) wants {
	decisions := make(map[scaling.Part][]scaling.Decision, len(alone.outcomes))
	for part, out := range alone.outcomes {
		decisions[part] = out.Decisions
	}
	contenders, stock := e.contend(seen, alone)
	shared, gap := optimizer.Share(contenders, stock)
	for i, c := range contenders {
		decisions[c.Votes.Snapshot.Part()] = shared[i]
	}
	out := wants{plan: scaling.Plan{At: seen.at}, limits: e.limits(alone), gap: gap}
	for _, s := range seen.parts {
		for _, d := range decisions[s.Part()] {
			d.Role = s.Role
			out.plan.Decisions = append(out.plan.Decisions, d)
		}
	}
	slices.SortFunc(out.plan.Decisions, func(a, b scaling.Decision) int { return a.Variant.Compare(b.Variant) })
	return out
}

// contend returns the limited models that have votes and no roles, and the accelerators by type
// that they have or may get; none while the inventory is unknown.
func (e Setup) contend(seen look, alone choices) (contenders []optimizer.Contender, stock map[string]scaling.Accelerators) {
	if !e.Inventory.Known {
		return nil, nil
	}
	stock = map[string]scaling.Accelerators{}
	for _, g := range e.Inventory.Groups {
		for _, f := range g.Free {
			stock[g.Accelerator] += (f.GPUs + f.Leaving).Times(f.Nodes)
		}
	}
	for _, s := range seen.parts {
		out, of := alone.outcomes[s.Part()], e.settings(s.Model)
		contends := of.Limited && out.Votes != nil && s.Role == ""
		if contends {
			contenders = append(contenders, optimizer.Contender{Votes: *out.Votes, Decisions: out.Decisions, Rank: of.Objective.Rank()})
		} else if s.Role != "" && of.Limited {
			continue // constrain.Capacity gives both roles accelerators in proportion
		}
		for _, d := range out.Decisions {
			v := seen.variants[d.Variant]
			if contends {
				// A model's current accelerators stay available to it; a pod without a node
				// has none.
				stock[v.Accelerator] += v.GPUs(d.Current - v.Replicas.Unschedulable - v.Replicas.Podless)
			} else {
				stock[v.Accelerator] -= v.GPUs(d.Target() - d.Current)
			}
		}
	}
	return contenders, stock
}

// limits returns the bounds of the limited models.
func (e Setup) limits(alone choices) constrain.Limits {
	limits := constrain.Limits{Models: map[scaling.ModelKey]constrain.LimitedModel{}, Inventory: e.Inventory, Quotas: e.Quotas}
	for part, out := range alone.outcomes {
		of := e.settings(part.Model)
		if !of.Limited {
			continue
		}
		limited, has := limits.Models[part.Model]
		if !has {
			limited = constrain.LimitedModel{Rank: of.Objective.Rank(), Utilization: map[scaling.VariantKey]float64{}}
			limits.Models[part.Model] = limited
		}
		for _, c := range out.Analyses[0].Variants {
			limited.Utilization[c.Variant] = c.Utilization
		}
	}
	return limits
}
