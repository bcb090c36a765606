package optimizer

import (
	"fmt"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// phase is what a variant's target is doing with the last decision.
type phase uint8

const (
	unreadable phase = iota // the target's replicas are unknown
	frozen                  // the variant is paused: its decision is not to be touched
	settled                 // the target has at most the decided replicas
	leaving                 // the target has more
)

// variantState is a variant with all values that a choice about it needs.
type variantState struct {
	scaling.Variant
	phase   phase
	past    memory.Past
	decided bool             // whether there is a past
	absent  bool             // the target supplies nothing: it does not exist, or nothing was seen of it for long
	hold    scaling.Replicas // replicas if the cycle changes nothing

	reporting scaling.Replicas // replicas that report their load
	serving   scaling.Replicas // replicas that are Ready, whether they report or not

	// Replicas of hold that do not serve: starting were ordered and returning were lost within the
	// patience; late were ordered or lost earlier. Of the late ones, failed were ordered and not
	// lost, and unset are those that the target was not even asked for.
	starting, returning scaling.Replicas
	late, failed, unset scaling.Replicas

	unsettled  bool    // an order or a rollout is under way, so its readings are of a changing fleet
	perReplica float64 // capacity of one replica [Unit of the analysis]
	fault      scaling.Reason
	detail     string // what the variant waits for, "" for nothing
}

// floor returns the least replicas that a reduction leaves: one replica of each variant, as
// published, or its lower bound.
func (s variantState) floor() scaling.Replicas { return max(1, s.Bounds.Min) }

// states returns the variants of a model, sorted by key.
func states(in Input) []variantState {
	reporting := map[scaling.VariantKey]scaling.Replicas{}
	for _, r := range in.Snapshot.Replicas {
		if r.Reports() {
			reporting[r.Variant]++
		}
	}
	perReplica := map[scaling.VariantKey]float64{}
	for _, c := range in.Analysis.Variants {
		perReplica[c.Variant] = c.PerReplica
	}
	out := make([]variantState, 0, len(in.Snapshot.Variants))
	for _, v := range in.Snapshot.Variants {
		s := variantState{Variant: v, reporting: reporting[v.Key], perReplica: perReplica[v.Key]}
		s.past, s.decided = in.History[v.Key]
		s.absent = in.History.Absent(v, in.Snapshot.At)
		s.hold = in.History.LastDesired(v)
		out = append(out, s.classify(in.Snapshot))
	}
	slices.SortFunc(out, func(a, b variantState) int { return a.Key.Compare(b.Key) })
	return out
}

func (s variantState) classify(snap scaling.Snapshot) variantState {
	if !s.Replicas.Observed {
		s.phase, s.detail = unreadable, s.Missing
		return s
	}
	s.serving = min(s.Replicas.Current, max(s.Replicas.Ready, s.reporting))
	s = s.countMissing(snap.At)
	quiet := snap.At.Sub(s.past.ProgressAt)
	switch {
	case s.Undecidable != "":
		s.phase, s.detail = frozen, "held: "+s.Undecidable
		s.hold = max(s.hold, s.Replicas.Current)
	case s.Paused:
		s.phase, s.detail = frozen, "paused"
	case s.hold < s.Replicas.Current:
		s.phase = leaving
		s.detail = fmt.Sprintf("%d of %d replicas are to go", s.Replicas.Current-s.hold, s.Replicas.Current)
		if s.decided && quiet > min(s.patience(), patienceRemoval) {
			s.fault = scaling.ReasonTargetNotMoving
		}
	default:
		s.phase = settled
		s.fault, s.detail = s.waitsFor(quiet)
		s.unsettled = s.starting > 0 || s.unmeasured(snap)
		if s.reporting > s.Replicas.Current && (!s.decided || quiet <= s.patience()) {
			// The target has more replicas than decided: a rollout's surge, or a removal
			// that is almost over. No replica is missing, so the decision waits and names
			// no reason.
			s.unsettled = true
			s.detail = fmt.Sprintf("%d replicas report and %d are asked for", s.reporting, s.Replicas.Current)
		}
	}
	return s
}

// unmeasured reports whether a replica became Ready so recently that no reading of it can
// exist yet.
func (s variantState) unmeasured(snap scaling.Snapshot) bool {
	return s.reporting < s.Replicas.Ready && s.Replicas.ReadyWithin(snap.At, 2*snap.Window)
}

// How long a decision waits for a replica.
const (
	// patienceScaler is how long the scaler may take to set the decided replicas on the
	// target: an HPA reads its metric every 15 s, KEDA every 30 s, and an adapter lists its
	// metrics every minute.
	patienceScaler = 2 * time.Minute
	// patienceRemoval is how long the target may keep more replicas than decided: an HPA
	// reduces it to the largest number wanted in the last 5 minutes.
	patienceRemoval = 6 * time.Minute
)

// patience returns how long a replica of the variant may take from the order to Ready.
func (s variantState) patience() time.Duration { return s.past.Patience(s.Variant, 2) }

// patienceForNode returns how long a pod may wait for a node. The usual start-up time
// counts from the creation of the pod: where nodes are added on demand, it includes the
// wait for a node.
func (s variantState) patienceForNode() time.Duration { return s.past.Patience(s.Variant, 1) }

// countMissing classifies the replicas that do not serve by how long the variant has waited
// for them. The last ones are those that the target was not asked for; before them come
// those that wait for a node.
func (s variantState) countMissing(now time.Time) variantState {
	first := s.serving // index of the replica that is counted: replicas before it serve
	for _, m := range s.past.Waits.Missing(s.serving, s.hold, s.past.ProgressAt) {
		last := first + m.Replicas
		placed := min(max(first, s.Replicas.Current-s.Replicas.Unschedulable), last)
		set := min(max(placed, s.Replicas.Current), last)
		waited := now.Sub(m.Since)
		s.countAlike(placed-first, m.WasReady, waited > s.patience())
		s.countAlike(set-placed, m.WasReady, waited > s.patienceForNode())
		// A scaler that grows in steps is not late while it makes progress.
		unset := last - set
		late := min(waited, now.Sub(s.past.ProgressAt)) > min(s.patience(), patienceScaler)
		if s.decided && late {
			s.late, s.unset = s.late+unset, s.unset+unset
		} else {
			s.starting += unset
		}
		first = last
	}
	return s
}

// countAlike adds replicas in the same state: late, or lost and returning, or starting.
func (s *variantState) countAlike(replicas scaling.Replicas, lost, late bool) {
	switch {
	case s.decided && late:
		s.late += replicas
		if !lost {
			s.failed += replicas
		}
	case lost:
		s.returning += replicas
	default:
		s.starting += replicas
	}
}

// waitsFor says what the missing replicas wait for: the target, a node, or the pods. It
// returns a fault where they are late. A Ready replica that reports nothing is a fault too,
// but it serves, and no choice depends on that fault.
func (s variantState) waitsFor(quiet time.Duration) (scaling.Reason, string) {
	r := s.Replicas
	reason, detail := scaling.Reason(""), ""
	switch {
	case s.starting+s.returning+s.late == 0:
		if s.reporting < r.Ready {
			reason, detail = scaling.ReasonPodsNotReady, fmt.Sprintf("%d of %d replicas report", s.reporting, r.Current)
		}
		if !s.decided || quiet <= s.patience() {
			reason = ""
		}
		return reason, detail
	case s.unset > 0, s.hold > r.Current && s.late == 0:
		reason, detail = scaling.ReasonTargetNotMoving, fmt.Sprintf("%s decided on, and the target has %d", s.hold.Text(), r.Current)
	case r.Unschedulable > 0:
		reason, detail = scaling.ReasonPodsUnschedulable, fmt.Sprintf("no node takes %d of %d replicas", r.Unschedulable, r.Current)
	default:
		reason, detail = scaling.ReasonPodsNotReady, fmt.Sprintf("%d of %d replicas are Ready", r.Ready, r.Current)
	}
	if s.late == 0 {
		reason = ""
	}
	return reason, detail
}

// withinTolerance reports whether an HPA with the default tolerance ignores a decision for
// so many replicas because it is within its tolerance.
func (s variantState) withinTolerance(replicas scaling.Replicas) bool {
	return replicas == s.Replicas.Current || scaling.Tolerates(scaling.DefaultTolerance, replicas, s.Replicas.Current)
}

// beyondTolerance returns the least replicas of a growth that such an HPA does not ignore.
func (s variantState) beyondTolerance() scaling.Replicas {
	replicas := scaling.Replicas((1 + scaling.DefaultTolerance) * float64(s.Replicas.Current))
	for s.withinTolerance(replicas) {
		replicas++
	}
	return replicas
}

// maySpareOne reports whether the variant may give up a replica and still keep its floor.
func (s variantState) maySpareOne() bool { return s.hold > s.floor() && s.mayRelease() }

// mayRelease reports whether the variant may give up replicas: no replica of it is on its
// way, or an HPA ignores its last removal as within its tolerance. Unlike in the spare
// capacity path, a variant may go to its lower bound, because another variant carries its
// load.
func (s variantState) mayRelease() bool {
	return s.phase == settled && !s.unsettled || s.tolerated()
}

// counted returns how many replicas carry load or will: hold less the late replicas.
// Replicas without data count, as idle. An absent target supplies nothing.
func (s variantState) counted() scaling.Replicas {
	if s.phase == unreadable && (!s.decided || s.absent) {
		return 0
	}
	return s.hold - s.late
}

// carrying returns how many replicas carry load: the Ready ones, whether they report load or
// not.
func (s variantState) carrying() scaling.Replicas {
	if s.phase == unreadable {
		return 0
	}
	return min(s.hold, s.Replicas.Ready)
}

// effort says how readily variants are grown.
type effort uint8

const (
	usual  effort = iota // recent orders become Ready
	utmost               // some recent orders do not, and no other variant can grow
)

// failedUtmost is the largest number of late replicas of an order, as a part of the serving
// replicas, with which a variant still grows, if any replica of the last order became
// Ready. Up to memory.FewFail the variant grows like any other. A rollout must not block a
// model for ever, and an image that never starts must not be ordered again and again.
const failedUtmost = 0.5

// retryLeast is the least time after which one more replica is tried when no replica of an
// order became Ready: the cause may have ended.
const retryLeast = 10 * time.Minute

// room returns how many replicas may be added.
func (s variantState) room(e effort, now time.Time) scaling.Replicas {
	if s.phase == unreadable || s.phase == frozen {
		return 0
	}
	most := max(0, min(s.Bounds.Max, max(s.hold, replicasAtMost))-s.hold)
	some := max(1, scaling.Replicas(failedUtmost*float64(s.serving)))
	waitsForNode := s.late > 0 && s.Replicas.Unschedulable > 0
	switch {
	case s.unset == 0 && !waitsForNode && float64(s.failed) <= memory.FewFail*float64(s.serving):
		return most
	case e == usual:
		return 0
	case s.unset > 0:
		if s.failed > some || !s.withinTolerance(s.hold) {
			return 0 // the target does not follow the decision, or its pods do not start
		}
	case s.failed > some:
		return 0
	case s.past.Before > 0 && s.late == s.failed: // else those that are missing may be of before, as in a rollout
		if now.Sub(s.past.DecidedAt) < max(retryLeast, 2*s.patience()) {
			return 0
		}
		some = 1
	}
	return min(most, some)
}

// grownBy returns the decision for so many replicas more than are counted. It does not add to
// replicas that the target was never asked for, but asks for them again, by a step outside the
// tolerance of an HPA.
func (s variantState) grownBy(added scaling.Replicas) scaling.Replicas {
	to := s.hold + added
	if s.unset > 0 {
		to = max(s.hold-s.unset+added, s.hold, s.beyondTolerance())
	}
	return min(to, max(s.hold, s.Bounds.Max))
}

// changing reports whether the readings of the variant are of a fleet that does not yet
// match the decision.
func (s variantState) changing() bool { return s.phase == settled && s.unsettled }

// continuesReduction reports whether the last change was a step of a larger reduction, at least one
// window ago: the last readings called for fewer replicas than hold.
func (s variantState) continuesReduction(snap scaling.Snapshot) bool {
	wanted, known := s.past.Wants.Now()
	return known && s.past.Change < 0 && wanted < s.hold && snap.At.Sub(s.past.DecidedAt) >= snap.Window
}

// cancellable reports whether the variant has a removal under way that can be cancelled. A
// removal down to the upper bound cannot.
func (s variantState) cancellable() bool {
	return s.phase == leaving && s.hold < min(s.Replicas.Current, s.Bounds.Max)
}

// frozenAt repeats the last decision of a paused or frozen variant. For a held variant it returns
// max(last decision, current replicas).
func (s variantState) frozenAt() scaling.Decision {
	if s.Undecidable != "" {
		return s.decision().Then(scaling.StageOptimize, s.hold, scaling.ReasonHeld, s.Undecidable)
	}
	if s.Freeze.Allow == scaling.AllowNone {
		return s.decision().Then(scaling.StageOptimize, s.hold, scaling.ReasonFrozen, fmt.Sprintf("no change: %s", s.Freeze))
	}
	return s.decision().Then(scaling.StageOptimize, s.hold, scaling.ReasonPaused,
		fmt.Sprintf("the variant is paused: its decision is frozen at %d", s.hold))
}

// decision starts the variant's decision.
func (s variantState) decision() scaling.Decision {
	return scaling.Decision{Variant: s.Key, Model: s.Model, Current: s.Replicas.Current}
}
