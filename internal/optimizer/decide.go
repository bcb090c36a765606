package optimizer

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// Input is the input of the decision about one model.
type Input struct {
	Snapshot scaling.Snapshot
	Analysis scaling.Analysis
	History  memory.History
}

// Decide returns the decisions for the variants of one model, sorted by key, before any
// constraint. A variant with unknown replicas and no earlier decision gets none.
func Decide(in Input) []scaling.Decision {
	variants := states(in)
	switch {
	case in.Analysis.Signal == scaling.Unknown:
		return holdWithoutData(in.Analysis, variants)
	case slices.ContainsFunc(variants, variantState.changing):
		return holdInTransition(in.Analysis, variants)
	case in.Analysis.Signal == scaling.Grow:
		return grow(in.Analysis, variants, in.Snapshot.At)
	default:
		return reduce(in, variants)
	}
}

// grow cancels removals that are under way. If there are none, it adds one replica to the
// cheapest variant that can take it.
func grow(a scaling.Analysis, variants []variantState, at time.Time) []scaling.Decision {
	if slices.ContainsFunc(variants, variantState.cancellable) {
		return cancelRemovals(variants, a.Detail)
	}
	candidates := keep(variants, func(s variantState) bool { return s.Replicas.Pending == 0 && s.room(usual, at) > 0 })
	for e := usual; e <= utmost && len(candidates) == 0; e++ {
		candidates = keep(variants, func(s variantState) bool { return s.room(e, at) > 0 })
	}
	if len(candidates) == 0 {
		return each(variants, func(s variantState) (scaling.Replicas, scaling.Reason, string) {
			return s.hold, s.because(scaling.ReasonNoCandidate), fmt.Sprintf("%s, and no variant can take a replica (%s)", a.Detail, obstacles(variants))
		})
	}
	chosen := cheapest(candidates)
	detail := a.Detail
	if cheaper := keep(variants, func(s variantState) bool { return s.Cost < chosen.Cost }); len(cheaper) > 0 {
		detail += "; what is cheaper cannot grow (" + obstacles(cheaper) + ")"
	}
	return each(variants, func(s variantState) (scaling.Replicas, scaling.Reason, string) {
		if s.Key == chosen.Key {
			return s.grownBy(1), a.Reason, detail
		}
		return s.hold, s.because(scaling.ReasonOtherVariant), fmt.Sprintf("%s; %s grows, at a cost of %g against %g", a.Detail, chosen.Key.Name, chosen.Cost, s.Cost)
	})
}

// rounding keeps a sum of exact shares from missing its total.
const rounding = 1e-9

// margin is the part of the remaining supply that the load may fill where the last change
// of the model was growth. A supply that was just too small is not reduced when it is just
// enough; otherwise noise would make the fleet grow and shrink in turn.
const margin = 0.9

// reduce continues removals while the remaining replicas can carry the load, and starts one
// where there is too much supply.
func reduce(in Input, variants []variantState) []scaling.Decision {
	a := in.Analysis
	if slices.ContainsFunc(variants, variantState.cancellable) && !fitsWithoutLeaving(a, variants) {
		return cancelRemovals(variants, fmt.Sprintf("the load of %.2f replicas does not fit those that would stay", a.Demand))
	}
	if why := reasonToWait(in.Snapshot, variants); a.Signal != scaling.Shrink || why != "" {
		detail := a.Detail
		if a.Signal == scaling.Shrink {
			detail += "; not reduced: " + why
		}
		return withheld(a, each(variants, func(s variantState) (scaling.Replicas, scaling.Reason, string) {
			return s.hold, s.because(scaling.ReasonSteady), detail
		}))
	}
	return giveUp(a, variants)
}

// reasonToWait says why no replica is given up now although there is too much supply, "" where one
// may be given up.
func reasonToWait(snap scaling.Snapshot, variants []variantState) string {
	if silent, serving := silentOf(snap, variants); 2*silent > serving {
		return fmt.Sprintf("%d of %d Ready replicas report nothing fresh", silent, serving)
	}
	for _, s := range variants {
		switch {
		case s.phase == leaving && s.fault == "":
			return s.Key.Name + " gives one up already"
		case s.phase == settled && s.reporting > s.Replicas.Current:
			// These replicas end by themselves; the supply with them is not the supply that
			// remains.
			return s.Key.Name + " has replicas beyond those asked for"
		case s.decided && snap.At.Sub(s.past.ProgressAt) < snap.Window && !s.continuesReduction(snap):
			// The readings no longer show the load of the removed replicas, and the other
			// replicas do not show it yet.
			return "the readings still show the fleet before its last change"
		}
	}
	return ""
}

// silentOf returns how many Ready replicas have no fresh reading, and how many there are.
func silentOf(snap scaling.Snapshot, variants []variantState) (silent, serving scaling.Replicas) {
	for _, s := range variants {
		serving += s.serving
	}
	silent = serving
	for _, r := range snap.Replicas {
		if r.KVCacheUsage.State == scaling.Fresh || r.QueueLength.State == scaling.Fresh {
			silent--
		}
	}
	return max(0, silent), serving
}

// fitsWithoutLeaving reports whether the replicas that stay can carry the load once all
// removals under way are over.
func fitsWithoutLeaving(a scaling.Analysis, variants []variantState) bool {
	return a.Demand <= remaining(a, variants)+rounding
}

// remaining returns the supply without the replicas that are being removed.
func remaining(a scaling.Analysis, variants []variantState) float64 {
	supply := a.Supply
	for _, s := range variants {
		if s.phase == leaving || s.phase == frozen {
			supply -= s.perReplica * float64(max(0, s.Replicas.Current-s.hold))
		}
	}
	return supply
}

// lastGrew reports whether the last change of the model was growth.
func lastGrew(variants []variantState) bool {
	var last memory.Past
	for _, s := range variants {
		if s.past.Change != 0 && s.past.DecidedAt.After(last.DecidedAt) {
			last = s.past
		}
	}
	return last.Change > 0
}

// giveUp cancels an order that never became Ready. If there is none, it removes one replica
// of the most expensive variant that can spare one.
func giveUp(a scaling.Analysis, variants []variantState) []scaling.Decision {
	if decisions, cancelled := cancelOrder(variants, a.Detail); cancelled {
		return decisions
	}
	able := keep(variants, variantState.maySpareOne)
	fill := 1.0
	if lastGrew(variants) {
		fill = margin
	}
	left := remaining(a, variants)
	fitting := keep(able, func(s variantState) bool { return a.Demand <= fill*(left-s.perReplica)+rounding })
	switch {
	case len(able) == 0:
		return each(variants, func(s variantState) (scaling.Replicas, scaling.Reason, string) {
			return s.hold, s.because(scaling.ReasonAtFloor), a.Detail + "; every variant that may change is at its least"
		})
	case len(fitting) == 0:
		return each(variants, func(s variantState) (scaling.Replicas, scaling.Reason, string) {
			return s.hold, s.because(scaling.ReasonSteady), fmt.Sprintf("%s; not reduced: the load of %.2f replicas would fill more than %.0f %% of the others", a.Detail, a.Demand, 100*fill)
		})
	}
	chosen := slices.MaxFunc(fitting, byCostThenName)
	detail := a.Detail
	if dearest := slices.MaxFunc(able, byCostThenName); dearest.Key != chosen.Key {
		detail += fmt.Sprintf("; the dearer %s stays, the load would not fit without it", dearest.Key.Name)
	}
	decisions := each(variants, func(s variantState) (scaling.Replicas, scaling.Reason, string) {
		if s.Key == chosen.Key {
			return s.hold - 1, a.Reason, detail
		}
		return s.hold, s.because(scaling.ReasonOtherVariant), fmt.Sprintf("%s; %s gives up a replica, at a cost of %g against %g", a.Detail, chosen.Key.Name, chosen.Cost, s.Cost)
	})
	for i := range decisions {
		if decisions[i].Variant == chosen.Key {
			decisions[i].Spare = chosen.spare(left - a.Demand/fill)
		}
	}
	return decisions
}

// cancelOrder cancels the first order that never became Ready, and reports whether there
// was one.
func cancelOrder(variants []variantState, detail string) ([]scaling.Decision, bool) {
	i := slices.IndexFunc(variants, func(s variantState) bool { return s.phase == settled && s.late > 0 && s.unarrived() > 0 })
	if i < 0 {
		return nil, false
	}
	late := variants[i]
	return each(variants, func(s variantState) (scaling.Replicas, scaling.Reason, string) {
		if s.Key == late.Key {
			return s.hold - s.unarrived(), scaling.ReasonOrderCancelled, "no longer needed: " + detail
		}
		return s.hold, s.because(scaling.ReasonOtherVariant), detail
	}), true
}

// spare returns how many replicas could be removed after the first, where surplus supply is not
// needed.
func (s variantState) spare(surplus float64) scaling.Replicas {
	most := s.hold - 1 - s.floor()
	if s.perReplica <= 0 || surplus >= s.perReplica*float64(most+1) {
		return most
	}
	return max(0, scaling.Replicas((surplus+rounding)/s.perReplica)-1)
}

// unarrived returns how many replicas of an order can be cancelled without removing a running one.
func (s variantState) unarrived() scaling.Replicas {
	least := min(s.floor(), max(s.Replicas.Current, s.Bounds.Min)) // at zero nothing needs to stay
	return max(0, s.hold-max(s.Replicas.Ready, s.reporting, least))
}

// cancelRemovals holds every variant at its current replicas.
func cancelRemovals(variants []variantState, why string) []scaling.Decision {
	return each(variants, func(s variantState) (scaling.Replicas, scaling.Reason, string) {
		if s.cancellable() {
			return s.Replicas.Current, scaling.ReasonRemovalCancelled, why
		}
		return s.hold, s.because(scaling.ReasonOtherVariant), why
	})
}

// because returns the variant's own fault where it has one, else reason.
func (s variantState) because(reason scaling.Reason) scaling.Reason {
	if s.fault != "" {
		return s.fault
	}
	return reason
}

// each makes a decision for every variant that can have one.
func each(variants []variantState, choose func(variantState) (scaling.Replicas, scaling.Reason, string)) []scaling.Decision {
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
		if s.phase == frozen {
			out = append(out, s.frozenAt())
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

// obstacles says why variants cannot grow, for the first few of each reason.
func obstacles(variants []variantState) string {
	out := make([]string, 0, len(variants))
	for _, s := range variants {
		why := s.detail
		if s.phase == settled && s.hold >= s.Bounds.Max {
			why = fmt.Sprintf("at its most, %d", s.Bounds.Max)
		}
		out = append(out, s.Key.Name+": "+why)
	}
	return scaling.Few(out)
}

// keep returns the variants for which ok holds.
func keep(variants []variantState, ok func(variantState) bool) []variantState {
	return slices.DeleteFunc(slices.Clone(variants), func(s variantState) bool { return !ok(s) })
}

// cheapest returns the variant of least cost, the first by name among equals.
func cheapest(variants []variantState) variantState { return slices.MinFunc(variants, byCostThenName) }

func byCostThenName(a, b variantState) int {
	return cmp.Or(cmp.Compare(a.Cost, b.Cost), a.Key.Compare(b.Key))
}
