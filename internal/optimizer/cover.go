package optimizer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// Votes is the input of the decision about one model whose demand is known.
type Votes struct {
	Snapshot scaling.Snapshot
	// Analyses are those of the live analyzers, one or more. Any of them may make the model
	// grow. The model shrinks only if all of them call for it, so an Unknown analysis
	// prevents a reduction.
	Analyses []scaling.Analysis
	History  memory.History
	// Draining says that fewer requests wait than before: the replicas are working off the
	// backlog that they show, so it orders nothing more.
	Draining bool
	// Attained says that one of the analyses uses attainment to correct the capacity of
	// replicas. A reduction may then leave less spare supply.
	Attained bool
}

// Cover returns the decisions for the variants of one model, sorted by key,
// before any constraint: the cheapest replicas that carry the demand of every
// analysis.
func Cover(in Votes) []scaling.Decision {
	variants := in.candidates()
	wanted := demands(in.Analyses, variants)
	if !slices.ContainsFunc(in.Analyses, func(a scaling.Analysis) bool { return a.Signal != scaling.Unknown }) {
		return holdWithoutData(nothingKnown(in), variants)
	}
	cover := cover{in, variants, wanted, direction(in.Analyses)}
	if open := cover.unmet(); len(open) > 0 {
		return cover.releaseUnneeded(open, cover.grow(open))
	}
	if slices.ContainsFunc(variants, variantState.changing) {
		return holdInTransition(cover.vote, variants)
	}
	return cover.reduce()
}

// Need returns the cost per hour of the part of the current fleet that the load fills, by
// the analysis with the largest demand; 0 where that is unknown.
func (v Votes) Need() float64 {
	variants := v.candidates()
	fills, cost := 0.0, 0.0
	for _, d := range demands(v.Analyses, variants) {
		if carried := d.carried(variants, variantState.counted); carried > 0 {
			fills = max(fills, 1/carried)
		}
	}
	for _, s := range variants {
		cost += s.CostPerHour(s.counted())
	}
	return fills * cost
}

// cover is the state of one decision about a model.
type cover struct {
	Votes
	variants []variantState
	wanted   []demand
	vote     scaling.Analysis // all analyses combined: signal and detail
}

// nothingKnown returns the first analysis, or an Unknown one where there is none.
func nothingKnown(in Votes) scaling.Analysis {
	if len(in.Analyses) > 0 {
		return in.Analyses[0]
	}
	return scaling.Analysis{Model: in.Snapshot.Model, Reason: scaling.ReasonNoData, Detail: "no analyzer has known anything of the model lately"}
}

// direction combines the signals: all must agree to shrink. The vote is doubtful where every
// analysis that prevents the reduction is.
func direction(analyses []scaling.Analysis) scaling.Analysis {
	vote := scaling.Analysis{Model: analyses[0].Model, Signal: scaling.Shrink, Reason: scaling.ReasonSpareCapacity, Doubtful: true}
	var details []string
	for _, a := range analyses {
		detail := a.Detail
		if len(analyses) > 1 {
			detail = a.Analyzer + ": " + detail
		}
		details = append(details, detail)
		if a.Signal != scaling.Shrink {
			vote.Signal, vote.Reason = scaling.Steady, scaling.ReasonSteady
			vote.Doubtful = vote.Doubtful && a.Doubtful
		}
	}
	vote.Doubtful = vote.Doubtful && vote.Signal == scaling.Steady
	vote.Detail = strings.Join(details, "; ")
	return vote
}

// unmet lists the demands that the running and ordered replicas do not carry. A demand that
// was read off the replicas does not count while the backlog is being worked off, or as long as
// the readings do not show the fleet.
func (c cover) unmet() []demand {
	waits := c.Draining || c.unseen() != ""
	var open []demand
	for _, d := range c.wanted {
		if counts := !waits || !d.relative; counts && !d.met(c.variants) {
			open = append(open, d)
		}
	}
	return open
}

// unseen says why the readings do not show the fleet, "" where they do: while an order is under
// way, and for one window after new replicas became Ready.
func (c cover) unseen() string {
	switch {
	case slices.ContainsFunc(c.variants, variantState.changing):
		return "a change is not over"
	case slices.ContainsFunc(c.variants, func(s variantState) bool {
		return s.past.Change > 0 && c.Snapshot.At.Sub(s.past.ProgressAt) < c.Snapshot.Window
	}):
		return fmt.Sprintf("the readings are of %s, in which replicas became Ready", c.Snapshot.Window)
	}
	return ""
}

// unchanged keeps every variant as it is. Where the readings call for more replicas it says why these
// are not ordered yet.
func (c cover) unchanged() []scaling.Decision {
	more := slices.ContainsFunc(c.wanted, func(d demand) bool { return d.relative && !d.met(c.variants) })
	switch why := c.unseen(); {
	case more && c.Draining:
		return withheld(c.vote, c.stay(c.vote.Detail+"; not grown: fewer requests wait than before"))
	case more && why != "":
		return c.hold(scaling.ReasonInTransition, c.vote.Detail+"; not grown: "+why)
	}
	return withheld(c.vote, c.stay(c.vote.Detail))
}

// grow cancels the removals under way, and adds the cheapest replicas that carry the
// remaining demand.
func (c cover) grow(open []demand) []scaling.Decision {
	back := c.variants
	if slices.ContainsFunc(c.variants, variantState.cancellable) {
		back = slices.Clone(c.variants)
		for i, s := range back {
			if s.cancellable() {
				back[i].hold = min(s.Replicas.Current, s.Bounds.Max)
			}
		}
	}
	p := c.program(back, open, usual)
	if p.short() {
		p = c.program(back, open, utmost)
	}
	n, _ := p.solve() // always feasible: no row needs more than the variants can carry
	added := map[scaling.VariantKey]scaling.Replicas{}
	for i, s := range byCost(back) {
		if extra := n[i] - p.least[i]; extra > 0 {
			added[s.Key] = extra
		}
	}
	return c.grown(back, added, open, p)
}

// releaseUnneeded removes replicas that are not needed while other variants grow, where the gateway
// shares requests by variant, so that they cannot help the growing ones. Variants on the same stock
// then get their accelerators.
func (c cover) releaseUnneeded(open []demand, grown []scaling.Decision) []scaling.Decision {
	apart := slices.ContainsFunc(c.Analyses, func(a scaling.Analysis) bool { return a.Apart && a.Signal == scaling.Shrink })
	if !apart || reasonToWait(c.Snapshot, c.variants) != "" {
		return grown
	}
	rest := c
	rest.wanted = slices.DeleteFunc(slices.Clone(c.wanted), func(d demand) bool {
		return slices.ContainsFunc(open, func(o demand) bool { return o.name == d.name })
	})
	fewer := rest.fewer(func(s variantState) bool {
		return slices.ContainsFunc(open, func(d demand) bool { return d.part[s.Key] > 0 })
	})
	for i, d := range grown {
		if to, ok := fewer[d.Variant]; ok {
			grown[i] = d.Then(scaling.StageOptimize, to, scaling.ReasonSpareCapacity,
				fmt.Sprintf("without %s the others are filled to %.0f %% at most, and they take nothing off the variants that are short", (d.Target()-to).Text(), 100*c.fill(lastGrew(c.variants))))
		}
	}
	return grown
}

// program returns the problem of the cheapest replicas that carry the unmet demands together with
// the present ones. No row asks for more than the variants can carry.
func (c cover) program(variants []variantState, open []demand, e effort) program {
	var p program
	variants = byCost(variants)
	for _, s := range variants {
		p.cost = append(p.cost, s.Cost)
		p.least = append(p.least, s.counted())
		p.most = append(p.most, s.counted()+c.roomOf(s, e))
	}
	for _, d := range open {
		row, reach := make([]float64, 0, len(p.cost)), 0.0
		for i, s := range variants {
			row = append(row, d.part[s.Key])
			reach += d.part[s.Key] * float64(p.most[i])
		}
		p.carries = append(p.carries, row)
		p.needs = append(p.needs, min(1, reach))
	}
	return p
}

// roomOf returns how many replicas of a variant may be added. A variant whose orders did
// not become Ready is no candidate where another can serve.
func (c cover) roomOf(s variantState, e effort) scaling.Replicas {
	if e == usual && s.past.Failures.Recent(c.Snapshot.At) {
		return 0
	}
	return s.room(e, c.Snapshot.At)
}

// grown makes the decisions for the added replicas and the cancelled removals.
func (c cover) grown(back []variantState, added map[scaling.VariantKey]scaling.Replicas, open []demand, p program) []scaling.Decision {
	why, reason := open[0].from.Detail, open[0].from.Reason
	if reason != scaling.ReasonSaturated {
		reason = scaling.ReasonDemand
	}
	if len(c.Analyses) > 1 || len(c.wanted) > 1 {
		why = open[0].name + ": " + why
	}
	if stuck := keep(back, func(s variantState) bool { return c.roomOf(s, utmost) == 0 }); p.short() && len(stuck) > 0 {
		why += "; not all of it can be carried (" + obstacles(stuck) + ")"
	}
	decided := map[scaling.VariantKey]scaling.Replicas{}
	for _, s := range back {
		decided[s.Key] = s.hold
		if n := added[s.Key]; n > 0 {
			decided[s.Key] = s.grownBy(n)
		}
	}
	return each(c.variants, func(s variantState) (scaling.Replicas, scaling.Reason, string) {
		to := decided[s.Key]
		switch {
		case added[s.Key] > 0:
			return to, reason, fmt.Sprintf("%s; the cheapest replicas that carry it are %d more of %s, at a cost of %g each", why, added[s.Key], s.Key.Name, s.Cost)
		case to > s.hold:
			return to, scaling.ReasonRemovalCancelled, why
		case len(added) == 0:
			return to, s.because(scaling.ReasonNoCandidate), why
		}
		return to, s.because(scaling.ReasonOtherVariant), why
	})
}

// byCost returns the variants in the order in which ties are broken.
func byCost(variants []variantState) []variantState {
	sorted := slices.Clone(variants)
	slices.SortFunc(sorted, byCostThenName)
	return sorted
}
