package optimizer

import (
	"fmt"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/core"
)

const (
	// fillSettled is how full, as a part of what they carry, the replicas that stay
	// may be after a reduction.
	fillSettled = 0.9
	// fillGrown is the same where the last change of the model was growth. A load
	// that was measured 10 % too high when it grew and is measured 10 % too low now
	// is at 0.9/1.1 = 0.82 of what was too little: noise of that size does not make
	// the fleet go up and down.
	fillGrown = 0.8
	// The same where what is attained corrects what replicas are taken to carry: the
	// lengths and rates behind that are means of minutes, of which half the noise is left.
	fillSettledAttained, fillGrownAttained = 0.95, 0.9
	// restBeforeMove is for how long nothing of the model must have changed before
	// replicas move to cheaper variants: a move costs a start-up, and is for
	// savings that last. One that is made in steps goes on when a step has arrived.
	restBeforeMove = 10 * time.Minute
	// restAfterFutileMove is for how long no replicas move after a move that did not pay:
	// requests are shared out so that the dearer replicas stay as full as they were. For
	// as long as internal/queueing remembers how they are shared out. And for how
	// long none move to a variant whose last order, or the order of whose last move, did
	// not arrive.
	restAfterFutileMove = 6 * time.Hour
)

// reduce gives up what is not needed, or moves to cheaper variants.
func (c cover) reduce() []scaling.Decision {
	why := notYet(c.Snapshot, c.variants)
	switch shrinks := c.vote.Signal == scaling.Shrink; {
	case shrinks && why != "":
		return withheld(c.vote, c.stay(c.vote.Detail+"; not reduced: "+why))
	case shrinks:
		return c.fewerOrMoved()
	case why == "" && c.roomy():
		return c.moved(c.vote.Detail)
	}
	return c.stay(c.vote.Detail)
}

// fewerOrMoved gives replicas up, where there are none to be given up moves to cheaper
// variants.
func (c cover) fewerOrMoved() []scaling.Decision {
	if decisions, cancelled := cancelOrder(c.variants, c.vote.Detail); cancelled {
		return decisions
	}
	_, known := c.tooFew()
	resting := c.keeps() > 0
	// What a move in steps has brought goes only once the move does not go on.
	fewer := c.fewer(variantState.moving)
	if len(fewer) == 0 {
		if more, _ := c.move(); len(more) == 0 {
			fewer = c.fewer(func(variantState) bool { return false })
		}
	}
	switch {
	case len(fewer) == 0 && resting:
		return withheld(c.vote, c.stay(c.vote.Detail+"; not reduced: the last reduction at this load was too much"))
	case len(fewer) == 0:
		return c.moved(fmt.Sprintf("%s; fewer replicas would be filled to more than %.0f %%%s", c.vote.Detail, 100*c.fill(lastGrew(c.variants)), known))
	}
	return each(c.variants, func(s variantState) (int, scaling.Reason, string) {
		if to, ok := fewer[s.Key]; ok {
			return to, scaling.ReasonSpareCapacity, fmt.Sprintf("%s; without %s the others are filled to %.0f %% at most", c.vote.Detail, scaling.Replicas(s.hold-to), 100*c.fill(lastGrew(c.variants)))
		}
		return s.hold, s.because(scaling.ReasonOtherVariant), c.vote.Detail
	})
}

// moved orders replicas of cheaper variants where that pays, else leaves every variant
// as it is and says otherwise.
func (c cover) moved(otherwise string) []scaling.Decision {
	more, saving := c.move()
	if len(more) == 0 {
		return c.stay(otherwise)
	}
	return each(c.variants, func(s variantState) (int, scaling.Reason, string) {
		if to, ok := more[s.Key]; ok {
			return to, scaling.ReasonCheaperMix, fmt.Sprintf("%s; once these replicas are Ready dearer ones can go, which saves %.3g an hour", c.vote.Detail, saving)
		}
		return s.hold, s.because(scaling.ReasonOtherVariant), c.vote.Detail
	})
}

// roomy reports whether replicas may move although not all analyses call for a
// reduction: those that do not were read off the replicas, all of which report, and
// there is a demand that they carry. Where none of the replicas can go, as many of another
// variant as leave more room may carry the same for less.
func (c cover) roomy() bool {
	unsure := slices.ContainsFunc(c.Snapshot.Replicas, func(r scaling.ReplicaSample) bool {
		return r.KVCacheUsage.State != scaling.Fresh || r.QueueLength.State != scaling.Fresh
	}) || slices.ContainsFunc(c.variants, func(s variantState) bool { return s.reporting < s.serving })
	objects := slices.ContainsFunc(c.Analyses, func(a scaling.Analysis) bool {
		return a.Signal != scaling.Shrink && (a.Signal != scaling.Steady || !a.FromReplicas)
	})
	return len(c.wanted) > 0 && !unsure && !objects && !c.Draining
}

// fill is how full the replicas that stay may be after a reduction.
func (c cover) fill(grown bool) float64 {
	switch {
	case c.Attained && grown:
		return fillGrownAttained
	case c.Attained:
		return fillSettledAttained - c.turns().Margin()
	case grown:
		return fillGrown - c.turns().Margin()
	}
	return fillSettled - c.turns().Margin()
}

// stay leaves every variant as it is.
func (c cover) stay(detail string) []scaling.Decision {
	return each(c.variants, func(s variantState) (int, scaling.Reason, string) {
		return s.hold, s.because(scaling.ReasonSteady), detail
	})
}

// fewer returns the variants that give replicas up, with what they keep: the
// cheapest part of the fleet that carries every demand filled as far as given. The
// demand of an analysis that calls for a reduction counts replicas that report
// nothing as full. Those for which stays is true give none up.
func (c cover) fewer(stays func(variantState) bool) map[scaling.VariantKey]int {
	sorted := byCost(c.variants)
	p := program{total: 1}
	for _, s := range sorted {
		least, most := s.sure(), s.sure()
		if s.mayRelease() && !stays(s) {
			least = max(0, min(s.Bounds.Min, most))
		}
		p.cost, p.least, p.most = append(p.cost, s.Cost), append(p.least, least), append(p.most, most)
	}
	p.rows(c.wanted, sorted, c.fill(lastGrew(c.variants)))
	few, _ := c.tooFew()
	p.dearer(few)
	p.costs(c.keeps())
	n, ok := p.solve()
	if !ok {
		return nil
	}
	out := map[scaling.VariantKey]int{}
	for i, s := range sorted {
		if n[i] < p.most[i] {
			out[s.Key] = s.hold - (p.most[i] - n[i])
		}
	}
	return out
}

// move returns the variants that would have to grow for a cheaper fleet, with how
// far, and what that saves per hour; none while the model rests after a turn. A move must
// save more than a tenth of the cost of what goes and of what comes, the published penalty
// of a transition.
func (c cover) move() (map[scaling.VariantKey]int, float64) {
	if c.holdCost() > 0 {
		return nil, 0
	}
	sorted := byCost(c.variants)
	p := program{total: 1}
	for _, s := range sorted {
		if s.phase == leaving && s.fault == "" || c.rests(s) {
			return nil, 0
		}
		least, most := c.movesWithin(s)
		p.cost, p.least, p.most = append(p.cost, s.Cost), append(p.least, least), append(p.most, most)
	}
	p.rows(c.wanted, sorted, fillGrown-c.turns().Margin())
	few, _ := c.tooFew()
	p.dearer(few)
	n, ok := p.solve()
	if !ok {
		return nil, 0
	}
	more := map[scaling.VariantKey]int{}
	var come, gone float64
	var sources []scaling.CostSource
	for i, s := range sorted {
		if !s.movable() || n[i] == s.hold {
			continue
		}
		sources = append(sources, s.CostSource)
		if n[i] > s.hold {
			more[s.Key] = n[i]
			come += s.Cost * float64(n[i]-s.hold)
		} else {
			gone += s.Cost * float64(s.hold-n[i])
		}
	}
	alike := !slices.ContainsFunc(sources, func(x scaling.CostSource) bool { return !x.Comparable(sources[0]) })
	if saving := gone - come; alike && saving > core.MovePenalty*(gone+come) {
		return more, saving
	}
	return nil, 0
}

// movesWithin returns the fewest and the most replicas of a variant that a move may end
// with.
func (c cover) movesWithin(s variantState) (least, most int) {
	least, most = s.sure(), s.sure()
	if s.movable() {
		least, most = min(s.Bounds.Min, s.hold), s.hold+c.roomOf(s, usual)
	}
	switch failed := s.past.Failures; {
	case s.moving():
		most = min(most, s.past.MoveTo)
	case failed.Count > 0 && c.Snapshot.At.Sub(failed.At) < restAfterFutileMove,
		s.past.MoveCancelled() && c.Snapshot.At.Sub(s.past.DecidedAt) < restAfterFutileMove:
		most = min(most, s.hold)
	}
	return least, most
}

// moving reports whether a move goes on in which the variant grows in steps.
func (s variantState) moving() bool { return s.past.Change > 0 && s.hold < s.past.MoveTo }

// rests reports whether the last change of a variant was too lately for a move of the
// model, or was a whole move that has not made the model cheaper, while no other variant
// grew since.
func (c cover) rests(s variantState) bool {
	age := c.Snapshot.At.Sub(s.past.DecidedAt)
	switch {
	case !s.decided || s.past.Change == 0 || s.moving():
		return false
	case s.past.MoveTo == 0 || c.History.Cost(c.Snapshot.Variants) < s.past.MoveCost*(1-rounding):
		return age < restBeforeMove
	}
	grew := slices.ContainsFunc(c.variants, func(o variantState) bool {
		return o.past.Change > 0 && o.past.MoveTo == 0 && o.past.DecidedAt.After(s.past.DecidedAt)
	})
	return !grew && age < restAfterFutileMove
}

// movable reports whether a move may count on the variant: what is late of another one
// does not stop a move, nor does a removal that an HPA takes for no difference.
func (s variantState) movable() bool { return s.phase == settled && s.late == 0 || s.tolerated() }

// tolerated reports whether the last removal is not carried out, since an HPA takes it for
// no difference.
func (s variantState) tolerated() bool {
	return s.phase == leaving && s.fault != "" && s.withinTolerance(s.hold)
}

// rows fills in the demands, to be carried by replicas that are filled so far.
func (p *program) rows(wanted []demand, sorted []variantState, fill float64) {
	for _, d := range wanted {
		row := make([]float64, 0, len(sorted))
		for _, s := range sorted {
			row = append(row, d.fill(fill)*d.part[s.Key])
		}
		p.carries, p.needs = append(p.carries, row), append(p.needs, 1)
	}
}

// dearer asks for a fleet that costs more per hour than one of cost, by a replica of the
// cheapest variant at least; 0 asks for nothing.
func (p *program) dearer(cost float64) {
	cheapest := 0.0
	for _, one := range p.cost {
		if one > 0 && (cheapest == 0 || one < cheapest) {
			cheapest = one
		}
	}
	if cost > 0 && cheapest > 0 {
		p.costs(cost + cheapest)
	}
}

// costs asks for a fleet that costs so much per hour at least; 0 asks for nothing.
func (p *program) costs(least float64) {
	if least <= 0 {
		return
	}
	row := make([]float64, 0, len(p.cost))
	for _, one := range p.cost {
		row = append(row, one/least)
	}
	p.carries, p.needs = append(p.carries, row), append(p.needs, 1)
}

// tooFew is the cost per hour of a fleet that was lately too small for the load of now, 0
// for none, and in words when.
func (c cover) tooFew() (cost float64, why string) {
	if !c.comparable() {
		return 0, ""
	}
	cost, since := c.turns().TooFew(c.Snapshot.Load, c.Snapshot.At)
	if cost > 0 {
		why = fmt.Sprintf("; a fleet of %g an hour was too small for this load at %s", cost, since.UTC().Format(time.TimeOnly))
	}
	return cost, why
}

// keeps returns the cost per hour of the fleet that the model keeps after a turn, 0 for
// none. Where what is attained corrects what replicas carry, and all are of one variant, it
// is known which fleet is too small instead.
func (c cover) keeps() float64 {
	if c.comparable() {
		return 0
	}
	return c.holdCost()
}

// rest returns the cost per hour of the fleet that does for the load of now, while the model
// rests after a turn; 0 while it does not.
func (c cover) holdCost() float64 { return c.turns().Keeps(c.Snapshot.Load, c.Snapshot.At) }

// comparable reports whether one fleet of the model is larger than another if it costs
// more: what is attained corrects what replicas carry, and all are of one variant.
func (c cover) comparable() bool {
	run := keep(c.variants, func(s variantState) bool { return max(s.hold, s.Replicas.Current) > 0 })
	return c.Attained && len(run) <= 1
}

// turns is what is remembered of the reductions of the model that growth undid: a
// variant that was added later knows less of it.
func (c cover) turns() scaling.Turns {
	var last scaling.Turns
	for _, s := range c.variants {
		last = last.Latest(s.past.Turns)
	}
	return last
}
