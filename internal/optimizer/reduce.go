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
	// restBeforeMove is for how long nothing of the model must have changed before
	// replicas move to cheaper variants: a move costs a start-up, and is for
	// savings that last. One that is made in steps goes on when a step has arrived.
	restBeforeMove = 10 * time.Minute
)

// reduce gives up what is not needed, or moves to cheaper variants.
func (c cover) reduce() []scaling.Decision {
	in := Input{Snapshot: c.Snapshot, Analysis: c.vote, History: c.History}
	if why := notYet(in, c.variants); why != "" {
		detail := c.vote.Detail
		if c.vote.Signal == scaling.Shrink {
			detail += "; not reduced: " + why
		}
		return withheld(c.vote, c.stay(scaling.ReasonSteady, detail))
	}
	if decisions, cancelled := cancelOrder(c.variants, c.vote.Detail); cancelled {
		return decisions
	}
	fill := fillSettled
	if lastGrew(c.variants) {
		fill = fillGrown
	}
	if fewer := c.fewer(fill); len(fewer) > 0 {
		return each(c.variants, func(s variantState) (int, scaling.Reason, string) {
			if to, ok := fewer[s.Key]; ok {
				return to, scaling.ReasonSpareCapacity, fmt.Sprintf("%s; without %s the others are filled to %.0f %% at most", c.vote.Detail, scaling.Replicas(s.hold-to), 100*fill)
			}
			return s.hold, s.because(scaling.ReasonOtherVariant), c.vote.Detail
		})
	}
	if more, saving := c.move(); len(more) > 0 {
		return each(c.variants, func(s variantState) (int, scaling.Reason, string) {
			if to, ok := more[s.Key]; ok {
				return to, scaling.ReasonCheaperMix, fmt.Sprintf("%s; once these replicas are Ready dearer ones can go, which saves %.3g an hour", c.vote.Detail, saving)
			}
			return s.hold, s.because(scaling.ReasonOtherVariant), c.vote.Detail
		})
	}
	return c.stay(scaling.ReasonSteady, fmt.Sprintf("%s; fewer replicas would be filled to more than %.0f %%", c.vote.Detail, 100*fill))
}

// stay leaves every variant as it is.
func (c cover) stay(reason scaling.Reason, detail string) []scaling.Decision {
	return each(c.variants, func(s variantState) (int, scaling.Reason, string) { return s.hold, s.because(reason), detail })
}

// fewer returns the variants that give replicas up, with what they keep: the
// cheapest part of the fleet that carries every demand filled as far as given. The
// demand of an analysis that calls for a reduction counts replicas that report
// nothing as full.
func (c cover) fewer(fill float64) map[scaling.VariantKey]int {
	sorted := byCost(c.variants)
	p := program{total: 1}
	for _, s := range sorted {
		least, most := s.sure(), s.sure()
		if s.mayRelease() {
			least = max(0, min(s.Bounds.Min, most))
		}
		p.cost, p.least, p.most = append(p.cost, s.Cost), append(p.least, least), append(p.most, most)
	}
	p.rows(c.wanted, sorted, fill, turns(c.variants).Margin())
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
// far, and what that saves per hour. A move must save more than a tenth of the
// cost of what goes and of what comes, the published penalty of a transition.
func (c cover) move() (map[scaling.VariantKey]int, float64) {
	sorted := byCost(c.variants)
	p := program{total: 1}
	for _, s := range sorted {
		changed := s.decided && !s.past.Moved && c.Snapshot.At.Sub(s.past.DecidedAt) < restBeforeMove
		if s.phase == leaving && s.fault == "" || changed {
			return nil, 0
		}
		least, most := s.sure(), s.sure()
		if s.movable() {
			least, most = min(s.Bounds.Min, s.hold), s.hold+c.roomOf(s, usual)
		}
		p.cost, p.least, p.most = append(p.cost, s.Cost), append(p.least, least), append(p.most, most)
	}
	p.rows(c.wanted, sorted, fillGrown, turns(c.variants).Margin())
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

// movable reports whether a move may count on the variant: what is late of another
// one keeps nobody from moving.
func (s variantState) movable() bool { return s.phase == settled && s.late == 0 }

// rows fills in the demands, to be carried by replicas that are filled so far, less a
// margin.
func (p *program) rows(wanted []demand, sorted []variantState, fill, margin float64) {
	for _, d := range wanted {
		row := make([]float64, 0, len(sorted))
		for _, s := range sorted {
			row = append(row, max(0, d.fill(fill)-margin)*d.part[s.Key])
		}
		p.carries, p.needs = append(p.carries, row), append(p.needs, 1)
	}
}
