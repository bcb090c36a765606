package optimizer

import (
	"fmt"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// phase is what a variant's target is doing with the last decision.
type phase uint8

const (
	unreadable phase = iota // the target's replicas are unknown
	frozen                  // the variant is paused: its decision is not to be touched
	settled                 // the target has at most the replicas that were decided on
	leaving                 // the target has more
)

// variantState is a variant with everything that a choice about it needs.
type variantState struct {
	scaling.Variant
	phase   phase
	past    scaling.Past
	decided bool // whether there is a past
	absent  bool // the target supplies nothing: it does not exist, or nothing was seen of it for long
	hold    int  // replicas if nothing is changed

	reporting int // replicas that say something about their load
	serving   int // replicas that are Ready, whether they report or not

	// Replicas of hold that do not serve: ordered or lost less than the patience
	// ago, and for longer. Of the latter, failed are those that were ordered and not
	// lost, and unset are those that the target was not even asked for.
	starting, returning int
	late, failed, unset int

	unsettled  bool    // its readings are of a fleet that changes: an order or a rollout is under way
	perReplica float64 // capacity of one replica [Unit of the analysis]
	fault      scaling.Reason
	detail     string // what the variant waits for, "" when it waits for nothing
}

// floor is the least that a reduction leaves: one replica of each variant, as
// published, or its lower bound.
func (s variantState) floor() int { return max(1, s.Bounds.Min) }

// states returns the variants of a model, sorted by key.
func states(in Input) []variantState {
	reporting := map[scaling.VariantKey]int{}
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
			// More replicas than were asked for: a rollout's surge, or a removal that
			// is not quite over. Nothing is missing, so it is waited for and not named.
			s.unsettled = true
			s.detail = fmt.Sprintf("%d replicas report and %d are asked for", s.reporting, s.Replicas.Current)
		}
	}
	return s
}

// unmeasured reports whether a replica became Ready so lately that no reading of it
// can be expected yet.
func (s variantState) unmeasured(snap scaling.Snapshot) bool {
	newest := s.Replicas.NewestReady
	age := snap.At.Sub(newest)
	return s.reporting < s.Replicas.Ready && !newest.IsZero() && age >= 0 && age < 2*snap.Window
}

// How long a replica may be waited for.
const (
	// patienceScaler is for how long a target may not be asked for what was decided:
	// an HPA looks every 15 s, KEDA every 30 s, and an adapter lists its metrics
	// every minute.
	patienceScaler = 2 * time.Minute
	// patienceRemoval is for how long a target may be asked for more than was decided:
	// an HPA reduces it to the most that was wanted in 5 minutes.
	patienceRemoval = 6 * time.Minute
)

// patience is how long a replica of the variant may take from the order to Ready.
func (s variantState) patience() time.Duration { return s.Patience(2) }

// patienceForNode is how long a pod may wait for a node. The usual start-up counts
// from the pod's creation: where nodes are added on demand, it contains the wait for
// one.
func (s variantState) patienceForNode() time.Duration { return s.Patience(1) }

// countMissing sorts the replicas that do not serve by how long they have been waited
// for. Those that the target was not asked for are the last; before them are those
// that wait for a node.
func (s variantState) countMissing(now time.Time) variantState {
	first := s.serving // the replicas that are counted: those up to it serve
	for _, m := range s.past.Waits.Missing(s.serving, s.hold, s.past.ProgressAt) {
		last := first + m.Replicas
		placed := min(max(first, s.Replicas.Current-s.Replicas.Unschedulable), last)
		set := min(max(placed, s.Replicas.Current), last)
		waited := now.Sub(m.Since)
		s.countAlike(placed-first, m.WasReady, waited > s.patience())
		s.countAlike(set-placed, m.WasReady, waited > s.patienceForNode())
		// A scaler that goes step by step is not late while it does.
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

// countAlike adds replicas that wait for the same: they are late, or were lost and
// return, or start.
func (s *variantState) countAlike(replicas int, lost, late bool) {
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

// waitsFor says what missing replicas wait for: the target, a node, or the pods. It
// is a fault where they are late. So is a replica that is Ready and reports nothing,
// but it serves, and nothing is made dependent on it.
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
		reason, detail = scaling.ReasonTargetNotMoving, fmt.Sprintf("%s decided on, and the target has %d", scaling.Replicas(s.hold), r.Current)
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

// withinTolerance reports whether an HPA with the default tolerance takes a decision for so
// many replicas for no difference.
func (s variantState) withinTolerance(replicas int) bool {
	return replicas == s.Replicas.Current || scaling.Tolerates(scaling.DefaultTolerance, replicas, s.Replicas.Current)
}

// beyondTolerance is the least growth that such an HPA takes for a difference.
func (s variantState) beyondTolerance() int {
	replicas := int((1 + scaling.DefaultTolerance) * float64(s.Replicas.Current))
	for s.withinTolerance(replicas) {
		replicas++
	}
	return replicas
}

// mayGive reports whether a replica of the variant may be given up and one stays.
func (s variantState) mayGive() bool { return s.hold > s.floor() && s.mayRelease() }

// mayRelease reports whether replicas of the variant may be given up: one of which
// nothing is on its way, or whose last removal an HPA takes for no difference. Unlike
// the spare capacity path, a variant of a model may go to its lower bound: another
// carries its load.
func (s variantState) mayRelease() bool {
	return s.phase == settled && !s.unsettled || s.tolerated()
}

// counted is how many replicas carry load or will: what holds, without what is late.
// Replicas without data count, as idle. An absent target supplies nothing.
func (s variantState) counted() int {
	if s.phase == unreadable && (!s.decided || s.absent) {
		return 0
	}
	return s.hold - s.late
}

// sure is how many replicas carry load: those that are Ready, whether they report it
// or not.
func (s variantState) sure() int {
	if s.phase == unreadable {
		return 0
	}
	return min(s.hold, s.Replicas.Ready)
}

// effort is how readily variants are grown.
type effort uint8

const (
	usual  effort = iota // what was ordered lately arrives
	utmost               // some of it does not: where nothing else can grow
)

// failedUtmost is the part of the replicas that serve of which as many of an order may be
// late for the variant to grow at all, if any of the last order arrived; up to
// scaling.FewFail it grows like any other. A rollout must not pin a model for ever, and an
// image that never starts must not be ordered again and again.
const failedUtmost = 0.5

// retryLeast is how soon one replica more is tried after an order of which nothing
// arrived: what kept it from starting may have ended.
const retryLeast = 10 * time.Minute

// room is how many replicas may be added.
func (s variantState) room(e effort, now time.Time) int {
	if s.phase == unreadable || s.phase == frozen {
		return 0
	}
	most := max(0, min(s.Bounds.Max, max(s.hold, replicasAtMost))-s.hold)
	some := max(1, int(failedUtmost*float64(s.serving)))
	waitsForNode := s.late > 0 && s.Replicas.Unschedulable > 0
	switch {
	case s.unset == 0 && !waitsForNode && float64(s.failed) <= scaling.FewFail*float64(s.serving):
		return most
	case e == usual:
		return 0
	case s.unset > 0:
		if s.failed > some || !s.withinTolerance(s.hold) {
			return 0 // the target does not take what was decided on, or its pods do not start
		}
	case s.failed > some:
		return 0
	case s.past.Before > 0:
		if now.Sub(s.past.DecidedAt) < max(retryLeast, 2*s.patience()) {
			return 0
		}
		some = 1
	}
	return min(most, some)
}

// grownBy is the decision with so many replicas more than are counted. What the
// target was never asked for is not added to, but asked for again, by a step that an
// HPA does not take for no difference.
func (s variantState) grownBy(added int) int {
	to := s.hold + added
	if s.unset > 0 {
		to = max(s.hold-s.unset+added, s.hold, s.beyondTolerance())
	}
	return min(to, max(s.hold, s.Bounds.Max))
}

// changing reports whether the readings of the variant are of a fleet that is not
// yet the one decided on.
func (s variantState) changing() bool { return s.phase == settled && s.unsettled }

// goesOn reports whether the last change was a step of a larger reduction, a window
// ago: fewer replicas were wanted by the readings of before it.
func (s variantState) goesOn(snap scaling.Snapshot) bool {
	wanted, known := s.past.Wants.Now()
	return known && s.past.Change < 0 && wanted < s.hold && snap.At.Sub(s.past.DecidedAt) >= snap.Window
}

// cancellable reports whether the variant has a removal under way that can be
// taken back: down to its upper bound it cannot.
func (s variantState) cancellable() bool {
	return s.phase == leaving && s.hold < min(s.Replicas.Current, s.Bounds.Max)
}

// frozenAt decides that the variant stays as it was decided.
func (s variantState) frozenAt() scaling.Decision {
	return s.decision().Then(scaling.StageOptimize, s.hold, scaling.ReasonPaused,
		fmt.Sprintf("the variant is paused: its decision is frozen at %d", s.hold))
}

// decision starts the variant's decision.
func (s variantState) decision() scaling.Decision {
	return scaling.Decision{Variant: s.Key, Model: s.Model, Current: s.Replicas.Current}
}
