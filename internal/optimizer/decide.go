package optimizer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Input is what the decision about one model is made from.
type Input struct {
	Snapshot scaling.Snapshot
	Analysis scaling.Analysis
	History  scaling.History
}

// Decide returns the decisions for the variants of one model, sorted by key,
// before any constraint. A variant of which neither the replicas nor an earlier
// decision is known gets none.
func Decide(in Input) []scaling.Decision {
	variants := standings(in)
	switch {
	case in.Analysis.Signal == scaling.Unknown:
		return holdWithoutData(in.Analysis, variants)
	case slices.ContainsFunc(variants, func(s standing) bool { return s.phase == arriving }):
		return holdInTransition(variants)
	case in.Analysis.Signal == scaling.Grow:
		return grow(in.Analysis, variants)
	default:
		return reduce(in.Analysis, variants)
	}
}

// holdWithoutData keeps the larger of the last decision and what runs. Where
// nothing runs and nothing was ever decided, one replica of the cheapest variant
// starts: without it there would never be anything to measure.
func holdWithoutData(a scaling.Analysis, variants []standing) []scaling.Decision {
	untouched := !slices.ContainsFunc(variants, func(s standing) bool {
		return s.decided || !s.Replicas.Observed || s.Replicas.Current > 0
	})
	first := -1
	if untouched && len(variants) > 0 {
		first = slices.IndexFunc(variants, func(s standing) bool { return s.Key == cheapest(variants).Key })
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
		case i == first:
			d = d.Then(scaling.StageOptimize, 1, scaling.ReasonFirstReplica, "nothing runs and nothing is known: one replica of the cheapest variant starts")
		default:
			d = d.Then(scaling.StageOptimize, max(s.base, s.Replicas.Current), s.because(scaling.ReasonNoData),
				"the larger of the last decision and what runs holds: "+a.Detail)
		}
		out = append(out, d)
	}
	return out
}

// holdInTransition leaves everything as it was decided until what was ordered
// has arrived or is overdue: the load of a fleet that is changing says nothing
// about the fleet that it will be.
func holdInTransition(variants []standing) []scaling.Decision {
	var waits []string
	for _, s := range variants {
		if s.phase == arriving {
			waits = append(waits, s.Key.Name+": "+s.detail)
		}
	}
	return each(variants, func(s standing) (int, scaling.Reason, string) {
		return s.base, s.because(scaling.ReasonInTransition), strings.Join(waits, "; ")
	})
}

// grow takes back removals that are still under way, else adds one replica to
// the cheapest variant that can take it.
func grow(a scaling.Analysis, variants []standing) []scaling.Decision {
	if slices.ContainsFunc(variants, func(s standing) bool { return s.phase == leaving }) {
		return cancelRemovals(variants, a.Detail)
	}
	candidates := keep(variants, func(s standing) bool { return s.phase == settled && s.Replicas.Pending == 0 && s.base < s.Bounds.Max })
	if len(candidates) == 0 {
		candidates = keep(variants, func(s standing) bool { return s.limps() && s.base < s.Bounds.Max })
	}
	if len(candidates) == 0 {
		return each(variants, func(s standing) (int, scaling.Reason, string) {
			return s.base, s.because(scaling.ReasonNoCandidate), fmt.Sprintf("%s, and no variant can take a replica (%s)", a.Detail, obstacles(variants))
		})
	}
	chosen := cheapest(candidates)
	return each(variants, func(s standing) (int, scaling.Reason, string) {
		if s.Key == chosen.Key {
			return s.base + 1, a.Reason, a.Detail
		}
		return s.base, s.because(scaling.ReasonOtherVariant), fmt.Sprintf("%s; %s grows, at a cost of %g against %g", a.Detail, chosen.Key.Name, chosen.Cost, s.Cost)
	})
}

// tolerance keeps a sum of exact shares from missing its total by a rounding.
const tolerance = 1e-9

// reduce goes on with removals while the rest can carry the load, and starts
// one where there is too much.
func reduce(a scaling.Analysis, variants []standing) []scaling.Decision {
	// Replicas beyond those asked for go by themselves; with them the supply is
	// not what will be left.
	supply, removing := a.Supply, false
	for _, s := range variants {
		if s.phase == leaving {
			supply -= s.perReplica * float64(s.Replicas.Current-s.base)
			removing = removing || s.fault == ""
		}
	}
	if a.Demand > supply+tolerance && supply < a.Supply {
		return cancelRemovals(variants, fmt.Sprintf("the load of %.2f replicas does not fit the %.2f that would stay", a.Demand, supply))
	}
	surplus := slices.ContainsFunc(variants, func(s standing) bool { return s.phase == settled && s.reporting > s.Replicas.Current })
	if a.Signal != scaling.Shrink || removing || surplus {
		return each(variants, func(s standing) (int, scaling.Reason, string) {
			return s.base, s.because(scaling.ReasonSteady), a.Detail
		})
	}
	return giveUp(a, variants, supply)
}

// giveUp cancels an order that never arrived, else removes one replica of the
// most expensive variant that can spare it.
func giveUp(a scaling.Analysis, variants []standing, supply float64) []scaling.Decision {
	if i := slices.IndexFunc(variants, func(s standing) bool { return s.phase == overdue && s.unarrived() > 0 }); i >= 0 {
		late := variants[i]
		return each(variants, func(s standing) (int, scaling.Reason, string) {
			if s.Key == late.Key {
				return s.base - s.unarrived(), scaling.ReasonOrderCancelled, "no longer needed: " + a.Detail
			}
			return s.base, s.because(scaling.ReasonOtherVariant), a.Detail
		})
	}
	able := keep(variants, func(s standing) bool { return s.phase == settled && s.base > s.floor() })
	fitting := keep(able, func(s standing) bool { return a.Demand <= supply-s.perReplica+tolerance })
	switch {
	case len(able) == 0:
		return each(variants, func(s standing) (int, scaling.Reason, string) {
			return s.base, s.because(scaling.ReasonAtFloor), a.Detail + "; every variant is at its least"
		})
	case len(fitting) == 0:
		return each(variants, func(s standing) (int, scaling.Reason, string) {
			return s.base, s.because(scaling.ReasonSteady), fmt.Sprintf("%s; not reduced: the load of %.2f replicas needs what any removal would take", a.Detail, a.Demand)
		})
	}
	chosen := slices.MaxFunc(fitting, byCostThenName)
	return each(variants, func(s standing) (int, scaling.Reason, string) {
		if s.Key == chosen.Key {
			return s.base - 1, a.Reason, a.Detail
		}
		return s.base, s.because(scaling.ReasonOtherVariant), fmt.Sprintf("%s; %s gives up a replica, at a cost of %g against %g", a.Detail, chosen.Key.Name, chosen.Cost, s.Cost)
	})
}

// unarrived counts the replicas of an order that can be taken back without
// touching one that runs.
func (s standing) unarrived() int {
	return max(0, s.base-max(s.Replicas.Ready, s.reporting, s.floor()))
}

// cancelRemovals lets every variant keep what it has.
func cancelRemovals(variants []standing, why string) []scaling.Decision {
	return each(variants, func(s standing) (int, scaling.Reason, string) {
		if s.phase == leaving {
			return s.Replicas.Current, scaling.ReasonRemovalCancelled, why
		}
		return s.base, s.because(scaling.ReasonOtherVariant), why
	})
}

// because returns the variant's own fault where it has one, else reason.
func (s standing) because(reason scaling.Reason) scaling.Reason {
	if s.phase == overdue || s.phase == leaving && s.fault != "" {
		return s.fault
	}
	return reason
}

// each makes a decision for every variant that can have one.
func each(variants []standing, choose func(standing) (int, scaling.Reason, string)) []scaling.Decision {
	out := make([]scaling.Decision, 0, len(variants))
	for _, s := range variants {
		if s.phase == unreadable {
			if s.decided {
				d := s.decision()
				d.Current, d.Fallback = s.past.Desired, true
				out = append(out, d.Then(scaling.StageOptimize, s.past.Desired, scaling.ReasonTargetUnreadable, "the last decision holds: "+s.detail))
			}
			continue
		}
		to, reason, detail := choose(s)
		if s.detail != "" && reason == s.fault {
			detail = s.detail + "; " + detail
		}
		out = append(out, s.decision().Then(scaling.StageOptimize, to, reason, detail))
	}
	return out
}

// obstacles says for each variant why it cannot grow.
func obstacles(variants []standing) string {
	out := make([]string, 0, len(variants))
	for _, s := range variants {
		why := s.detail
		if s.phase == settled {
			why = fmt.Sprintf("at its most, %d", s.Bounds.Max)
			if s.Replicas.Pending > 0 {
				why = "a replica is pending"
			}
		}
		out = append(out, s.Key.Name+": "+why)
	}
	return strings.Join(out, "; ")
}

// keep returns the variants for which ok holds.
func keep(variants []standing, ok func(standing) bool) []standing {
	return slices.DeleteFunc(slices.Clone(variants), func(s standing) bool { return !ok(s) })
}

// cheapest returns the variant of least cost, the first by name among equals.
func cheapest(variants []standing) standing { return slices.MinFunc(variants, byCostThenName) }

func byCostThenName(a, b standing) int {
	return cmp.Or(cmp.Compare(a.Cost, b.Cost), a.Key.Compare(b.Key))
}
