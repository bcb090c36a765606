package optimizer

import (
	"fmt"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/core"
)

const (
	// fillSettled is the largest utilization of the replicas that stay after a reduction.
	fillSettled = 0.9
	// fillGrown is the same where the last change of the model was growth. A load that was
	// measured 10 % too high when the model grew and is measured 10 % too low now is at
	// 0.9/1.1 = 0.82 of the load that was too large: noise of that size does not make the
	// fleet grow and shrink in turn.
	fillGrown = 0.8
	// The same where attainment corrects the capacity of replicas: the lengths and rates
	// behind it are means over minutes, which halve the noise.
	fillSettledAttained, fillGrownAttained = 0.95, 0.9
	// holdBeforeMove is how long no variant of the model must have changed before replicas
	// move to cheaper variants: a move costs a start-up, and should bring savings that
	// last. A move in steps continues when the replicas of a step are Ready.
	holdBeforeMove = 10 * time.Minute
	// holdAfterFailure is how long no replicas move to a variant whose last order, or the
	// order of whose last move, did not become Ready.
	holdAfterFailure = 6 * time.Hour
)

// reduce gives up replicas that are not needed, or moves to cheaper variants.
func (c cover) reduce() []scaling.Decision {
	why := reasonToWait(c.Snapshot, c.variants)
	switch shrinks := c.vote.Signal == scaling.Shrink; {
	case shrinks && c.atMinimum():
		return c.stay(c.vote.Detail + "; not reduced: minReplicas allows no fewer")
	case shrinks && why != "":
		return withheld(c.vote, c.stay(c.vote.Detail+"; not reduced: "+why))
	case shrinks:
		return c.fewerOrMoved()
	case why == "" && c.mayMoveWithRoom():
		return c.moved(c.vote.Detail)
	}
	return c.unchanged()
}

// atMinimum reports whether every variant is settled at no more replicas than its minimum.
func (c cover) atMinimum() bool {
	return !slices.ContainsFunc(c.variants, func(s variantState) bool {
		return s.phase != settled || s.hold > s.Bounds.Min || s.Replicas.Current > s.Bounds.Min || s.Bounds.Min == 0
	})
}

// fewerOrMoved gives replicas up. Where none can be given up, it moves to cheaper variants.
func (c cover) fewerOrMoved() []scaling.Decision {
	if decisions, cancelled := cancelOrder(c.variants, c.vote.Detail); cancelled {
		return decisions
	}
	_, known := c.tooFew()
	resting := c.keeps() > 0
	// Replicas that a move in steps added are given up only after the move has ended.
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
	return each(c.variants, func(s variantState) (scaling.Replicas, scaling.Reason, string) {
		if to, ok := fewer[s.Key]; ok {
			return to, scaling.ReasonSpareCapacity, fmt.Sprintf("%s; without %s the others are filled to %.0f %% at most", c.vote.Detail, (s.hold - to).Text(), 100*c.fill(lastGrew(c.variants)))
		}
		return s.hold, s.because(scaling.ReasonOtherVariant), c.vote.Detail
	})
}

// moved orders replicas of cheaper variants where that saves enough. Otherwise it leaves
// every variant as it is, with the given detail.
func (c cover) moved(otherwise string) []scaling.Decision {
	more, saving := c.move()
	if len(more) == 0 {
		return c.stay(otherwise + c.putOff())
	}
	return each(c.variants, func(s variantState) (scaling.Replicas, scaling.Reason, string) {
		if to, ok := more[s.Key]; ok {
			return to, scaling.ReasonCheaperMix, fmt.Sprintf("%s; once these replicas are Ready dearer ones can go, which saves %.3g an hour", c.vote.Detail, saving)
		}
		return s.hold, s.because(scaling.ReasonOtherVariant), c.vote.Detail
	})
}

// mayMoveWithRoom reports whether replicas may move although not all analyses call for a reduction.
// The other analyses must be steady and read off the replicas, all replicas must have fresh
// readings, no backlog may be worked off, and there must be a demand. Where no replica can be given
// up, another variant may still carry the same demand for less, with more room.
func (c cover) mayMoveWithRoom() bool {
	unsure := slices.ContainsFunc(c.Snapshot.Replicas, func(r scaling.ReplicaSample) bool {
		return r.KVCacheUsage.State != scaling.Fresh || r.QueueLength.State != scaling.Fresh
	}) || slices.ContainsFunc(c.variants, func(s variantState) bool { return s.reporting < s.serving })
	objects := slices.ContainsFunc(c.Analyses, func(a scaling.Analysis) bool {
		return a.Signal != scaling.Shrink && (a.Signal != scaling.Steady || !a.FromReplicas)
	})
	return len(c.wanted) > 0 && !unsure && !objects && !c.Draining
}

// fill returns the largest utilization of the replicas that stay after a reduction.
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
func (c cover) stay(detail string) []scaling.Decision { return c.hold(scaling.ReasonSteady, detail) }

// hold leaves every variant at the replicas that it holds.
func (c cover) hold(reason scaling.Reason, detail string) []scaling.Decision {
	return each(c.variants, func(s variantState) (scaling.Replicas, scaling.Reason, string) {
		return s.hold, s.because(reason), detail
	})
}

// fewer returns the variants that give replicas up, with the replicas that each keeps: the
// cheapest part of the fleet that carries every demand at the utilization of fill. An
// analysis that calls for a reduction counts replicas without readings as full. Variants
// for which stays is true give none up.
func (c cover) fewer(stays func(variantState) bool) map[scaling.VariantKey]scaling.Replicas {
	sorted := byCost(c.variants)
	p := program{total: 1}
	for _, s := range sorted {
		least, most := s.carrying(), s.carrying()
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
	out := map[scaling.VariantKey]scaling.Replicas{}
	for i, s := range sorted {
		if n[i] < p.most[i] {
			out[s.Key] = s.hold - (p.most[i] - n[i])
		}
	}
	return out
}

// move returns the variants that would have to grow for a cheaper fleet, each with its
// replicas, and the saving per hour; none while the model holds after a turn. A move must
// save more than a tenth of the cost of the removed and added replicas, the published
// penalty of a transition.
func (c cover) move() (map[scaling.VariantKey]scaling.Replicas, float64) {
	if c.holdCost() > 0 {
		return nil, 0
	}
	sorted := byCost(c.variants)
	p := program{total: 1}
	for _, s := range sorted {
		if s.phase == leaving && s.fault == "" || c.recentlyMoved(s) {
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
	more := map[scaling.VariantKey]scaling.Replicas{}
	var come, gone float64
	var sources []scaling.CostSource
	for i, s := range sorted {
		if !s.movable() || n[i] == s.hold {
			continue
		}
		sources = append(sources, s.CostSource)
		if n[i] > s.hold {
			more[s.Key] = n[i]
			come += s.CostPerHour(n[i] - s.hold)
		} else {
			gone += s.CostPerHour(s.hold - n[i])
		}
	}
	alike := !slices.ContainsFunc(sources, func(x scaling.CostSource) bool { return !x.Comparable(sources[0]) })
	if saving := gone - come; alike && saving > core.MovePenalty*(gone+come) {
		return more, saving
	}
	return nil, 0
}

// movesWithin returns the least and the most replicas that a variant may have after a move.
func (c cover) movesWithin(s variantState) (least, most scaling.Replicas) {
	least, most = s.carrying(), s.carrying()
	if s.movable() {
		least, most = min(s.Bounds.Min, s.hold), s.hold+c.roomOf(s, usual)
	}
	switch {
	case s.moving():
		most = min(most, s.past.MoveTo)
	case c.Snapshot.At.Before(s.failedUntil()):
		most = min(most, s.hold)
	}
	return least, most
}

// failedUntil returns when replicas may move to the variant again after an order of it failed, or a
// move to it was cancelled; the zero time for none.
func (s variantState) failedUntil() time.Time {
	until := s.past.Failures.Until()
	if at := s.past.Failures.At.Add(holdAfterFailure); s.past.Failures.Count > 0 && at.After(until) {
		until = at
	}
	if at := s.past.DecidedAt.Add(holdAfterFailure); s.past.MoveCancelled() && at.After(until) {
		until = at
	}
	return until
}

// putOff names a move that would be made if no order of a variant had failed, what it would save, and
// until when it is put off; "" for none.
func (c cover) putOff() string {
	until := map[scaling.VariantKey]time.Time{}
	c.variants = slices.Clone(c.variants)
	for i, s := range c.variants {
		if at := s.failedUntil(); at.After(c.Snapshot.At) && !s.moving() {
			until[s.Key] = at
			c.variants[i].past.Failures = memory.Failures{}
			if s.past.MoveCancelled() {
				c.variants[i].past.MoveCost = 0
			}
		}
	}
	if len(until) == 0 {
		return ""
	}
	more, saving := c.move()
	for _, s := range c.variants {
		if at, failed := until[s.Key]; failed && more[s.Key] > 0 {
			return fmt.Sprintf("; a move to %s would save %.3g an hour, and is put off until %s, because its last order did not become Ready",
				s.Key.Name, saving, at.UTC().Format(time.RFC3339))
		}
	}
	return ""
}

// moving reports whether a move in steps still adds replicas to the variant.
func (s variantState) moving() bool { return s.past.Change > 0 && s.hold < s.past.MoveTo }

// recentlyMoved reports whether the last change of a variant is too recent for a move of the model.
// It also reports true where that change was a complete move that did not make the model
// cheaper, because the dearer replicas keep their utilization, and no other variant has grown
// since: the next move would add as many again, and save as little.
func (c cover) recentlyMoved(s variantState) bool {
	age := c.Snapshot.At.Sub(s.past.DecidedAt)
	switch {
	case !s.decided || s.past.Change == 0 || s.moving():
		return false
	case s.past.MoveTo == 0 || c.cheaperThan(s.past.MoveCost):
		return age < holdBeforeMove
	}
	grew := slices.ContainsFunc(c.variants, func(o variantState) bool {
		return o.past.Change > 0 && o.past.MoveTo == 0 && o.past.DecidedAt.After(s.past.DecidedAt)
	})
	return !grew
}

// movable reports whether a move may use the variant. Late replicas of another variant do
// not stop a move, nor does a removal that an HPA ignores as within its tolerance.
func (s variantState) movable() bool { return s.phase == settled && s.late == 0 || s.tolerated() }

// tolerated reports whether an HPA ignores the last removal because it is within its
// tolerance.
func (s variantState) tolerated() bool {
	return s.phase == leaving && s.fault != "" && s.withinTolerance(s.hold)
}

// rows adds one row for each demand; replicas carry it up to the given utilization.
func (p *program) rows(wanted []demand, sorted []variantState, fill float64) {
	for _, d := range wanted {
		row := make([]float64, 0, len(sorted))
		for _, s := range sorted {
			row = append(row, d.fill(fill)*d.part[s.Key])
		}
		p.carries, p.needs = append(p.carries, row), append(p.needs, 1)
	}
}

// dearer requires a fleet whose cost per hour exceeds cost by at least one replica of the
// cheapest variant; 0 requires nothing.
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

// costs requires a fleet with at least this cost per hour; 0 requires nothing.
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

// tooFew returns the cost per hour of a fleet that was recently too small for the present
// load, 0 for none, and a description of when.
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
// none. For comparable fleets it returns 0, because tooFew knows which fleet is too small, and while
// a move is finished: the dearer replicas go, and not those that came.
func (c cover) keeps() float64 {
	if c.comparable() || slices.ContainsFunc(c.variants, c.finishesMove) {
		return 0
	}
	return c.holdCost()
}

// finishesMove reports whether all replicas that a move to the variant added became Ready within
// holdBeforeMove, and the model is no cheaper yet.
func (c cover) finishesMove(s variantState) bool {
	p := s.past
	return s.decided && p.Change > 0 && p.MoveTo > 0 && s.hold >= p.MoveTo &&
		!p.WholeAt.IsZero() && c.Snapshot.At.Sub(p.WholeAt) < holdBeforeMove &&
		!c.cheaperThan(p.MoveCost)
}

// cheaperThan reports whether the replicas last decided on cost less than this per hour.
func (c cover) cheaperThan(cost float64) bool {
	return c.History.Cost(c.Snapshot.Variants) < cost*(1-rounding)
}

// holdCost returns the cost per hour of the fleet that suffices for the present load, while
// the model holds after a turn; otherwise 0.
func (c cover) holdCost() float64 { return c.turns().Keeps(c.Snapshot.Load, c.Snapshot.At) }

// comparable reports whether a fleet of the model that costs more is always larger: attainment
// corrects the capacity of replicas, and at most one variant has replicas.
func (c cover) comparable() bool {
	run := 0
	for _, s := range c.variants {
		if max(s.hold, s.Replicas.Current) > 0 {
			run++
		}
	}
	return c.Attained && run <= 1
}

// turns returns the remembered reductions of the model that growth undid. A variant that
// was added later remembers fewer of them.
func (c cover) turns() memory.Turns {
	var last memory.Turns
	for _, s := range c.variants {
		last = last.Latest(s.past.Turns)
	}
	return last
}
