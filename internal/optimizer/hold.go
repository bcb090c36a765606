package optimizer

import (
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// holdWithoutData holds at max(last decision, current replicas). Where no replica runs and
// no decision was ever made, one replica of the cheapest variant starts: without it there
// would never be a measurement. A model that was decided to be at zero stays there; other
// packages start it again.
func holdWithoutData(a scaling.Analysis, variants []variantState) []scaling.Decision {
	nothing := !slices.ContainsFunc(variants, func(s variantState) bool { return s.hold > 0 || s.decided })
	first := -1
	if able := keep(variants, func(s variantState) bool { return s.phase != unreadable && s.phase != frozen }); nothing && len(able) > 0 {
		first = slices.IndexFunc(variants, func(s variantState) bool { return s.Key == cheapest(able).Key })
	}
	var out []scaling.Decision
	for i, s := range variants {
		d := s.decision()
		d.Fallback = true
		switch {
		case s.phase == unreadable && !s.decided:
			continue
		case s.phase == unreadable:
			d.Current = s.past.Desired
			d = d.Then(scaling.StageOptimize, s.past.Desired, scaling.ReasonTargetUnreadable, "the last decision holds: "+s.detail)
		case s.phase == frozen:
			d = s.frozenAt()
			d.Fallback = true
		case i == first:
			d = d.Then(scaling.StageOptimize, 1, scaling.ReasonFirstReplica, "nothing runs and nothing is known: one replica of the cheapest variant starts")
		default:
			d = d.Then(scaling.StageOptimize, max(s.hold, s.Replicas.Current), s.because(scaling.ReasonNoData),
				"the larger of the last decision and what runs holds: "+a.Detail)
		}
		out = append(out, d)
	}
	return out
}

// holdInTransition keeps every decision until the ordered replicas are Ready or overdue:
// the load of a changing fleet does not predict the load of the fleet after the change.
//
// Removals without an order are cancelled when the remaining replicas can no longer carry
// the load.
func holdInTransition(a scaling.Analysis, variants []variantState) []scaling.Decision {
	if slices.ContainsFunc(variants, variantState.cancellable) && (a.Signal == scaling.Grow || !fitsWithoutLeaving(a, variants)) {
		return cancelRemovals(variants, a.Detail)
	}
	var waits []string
	for _, s := range variants {
		if s.changing() {
			waits = append(waits, s.Key.Name+": "+s.detail)
		}
	}
	detail := scaling.Few(waits)
	return withheld(a, each(variants, func(s variantState) (scaling.Replicas, scaling.Reason, string) {
		return s.hold, s.because(scaling.ReasonInTransition), detail
	}))
}

// withheld marks the decisions that hold although the analysis calls for a reduction, or would
// if it were not doubtful, except those that hold for a reason of their own.
func withheld(a scaling.Analysis, decisions []scaling.Decision) []scaling.Decision {
	own := []scaling.Reason{scaling.ReasonPaused, scaling.ReasonHeld, scaling.ReasonFrozen}
	for i, d := range decisions {
		decisions[i].Withheld = (a.Signal == scaling.Shrink || a.Doubtful) && !d.Fallback && !slices.Contains(own, d.Cause().Reason)
	}
	return decisions
}
