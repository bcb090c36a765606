package optimizer

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// How long an order may make its model wait without any progress.
const (
	patienceUnknown = 5 * time.Minute // while the usual start-up is unknown
	// patienceLeast covers what comes on top of a pod's own start: the scaler's
	// sync period (15 s for HPA), scheduling, and the first two scrapes.
	patienceLeast   = time.Minute
	patienceStartUp = 2 // times the usual start-up
)

// phase is where a variant stands with what was last decided for it.
type phase uint8

const (
	unreadable phase = iota // the target's replicas are unknown
	frozen                  // its decision is not to be touched
	settled                 // as decided, and every replica reports
	leaving                 // fewer replicas were decided on than there are
	arriving                // replicas were ordered and do not serve yet
	overdue                 // the same, for longer than is usual
)

// standing is a variant with everything that a choice about it needs.
type standing struct {
	scaling.Variant
	phase      phase
	late       bool // no progress for longer than the variant may take
	past       scaling.Past
	decided    bool    // whether there is a past
	base       int     // replicas that hold if nothing is changed
	reporting  int     // replicas that say something about their load
	perReplica float64 // capacity of one replica [Unit of the analysis]
	fault      scaling.Reason
	detail     string // what the variant waits for, "" when it is settled
}

// floor is the least that a reduction leaves: one replica of each variant, as
// published, or its lower bound.
func (s standing) floor() int { return max(1, s.Bounds.Min) }

// standings classifies the variants of a model, sorted by key.
func standings(in Input) []standing {
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
	out := make([]standing, 0, len(in.Snapshot.Variants))
	for _, v := range in.Snapshot.Variants {
		s := standing{Variant: v, reporting: reporting[v.Key], perReplica: perReplica[v.Key]}
		s.past, s.decided = in.History[v.Key]
		s.base = in.History.Standing(v)
		out = append(out, s.classify(in.Snapshot.At))
	}
	slices.SortFunc(out, func(a, b standing) int { return a.Key.Compare(b.Key) })
	return out
}

func (s standing) classify(now time.Time) standing {
	s.late = s.decided && now.Sub(s.past.ProgressAt) > s.patience()
	switch {
	case !s.Replicas.Observed:
		s.phase, s.detail = unreadable, s.Missing
	case s.Paused:
		s.phase, s.detail = frozen, "paused"
	case s.base < s.Replicas.Current:
		s.phase = leaving
		s.detail = fmt.Sprintf("%d of %d replicas are to go", s.Replicas.Current-s.base, s.Replicas.Current)
		if s.late {
			s.fault = scaling.ReasonTargetNotMoving
		}
	case s.base > s.Replicas.Current || s.reporting < s.Replicas.Current:
		s.phase = arriving
		s.fault, s.detail = s.waitsFor()
		if s.late {
			s.phase = overdue
		}
	case s.reporting > s.Replicas.Current && !s.late:
		// More replicas than were asked for: a rollout's surge, or a removal that
		// is not quite over. Nothing is missing, so it is waited for and not named.
		s.phase = arriving
		s.detail = fmt.Sprintf("%d replicas report and %d are asked for", s.reporting, s.Replicas.Current)
	default:
		s.phase = settled
	}
	return s
}

// patience is how long the variant may take for its next step.
func (s standing) patience() time.Duration {
	if s.StartUp <= 0 {
		return patienceUnknown
	}
	return max(patienceLeast, patienceStartUp*s.StartUp)
}

// waitsFor says what an order waits for: the target, a node, or the pods.
func (s standing) waitsFor() (scaling.Reason, string) {
	r := s.Replicas
	switch {
	case s.base > r.Current:
		return scaling.ReasonTargetNotMoving, fmt.Sprintf("%s decided on, and the target has %d", scaling.Replicas(s.base), r.Current)
	case r.Unschedulable > 0:
		return scaling.ReasonPodsUnschedulable, fmt.Sprintf("no node takes %d of %d replicas", r.Unschedulable, r.Current)
	case r.Pending > 0:
		return scaling.ReasonPodsNotReady, fmt.Sprintf("%d of %d replicas are Ready", r.Ready, r.Current)
	}
	return scaling.ReasonPodsNotReady, fmt.Sprintf("%d of %d replicas report", s.reporting, r.Current)
}

// limps reports whether the variant may grow although not all is well with it,
// where nothing else can:
//
//   - One pod does not become Ready or does not report, or fails its readiness
//     probe under the load and does report. One bad node must not pin a model for
//     ever; an image that never starts must not be ordered again and again, so
//     with two such pods it is over.
//   - The target did not take the last step, and that step is within the 10 % by
//     which an HPA with the default tolerance ignores a difference. One more
//     replica is beyond it.
func (s standing) limps() bool {
	switch {
	case !s.late:
		return false
	case s.phase == settled:
		return s.Replicas.Pending > 0
	case s.phase != overdue:
		return false
	case s.fault == scaling.ReasonTargetNotMoving:
		return s.whole() && s.withinTolerance()
	}
	return s.fault == scaling.ReasonPodsNotReady && s.base-s.reporting <= 1
}

// whole reports whether every replica that the target has serves and reports.
func (s standing) whole() bool {
	return s.Replicas.Pending == 0 && s.reporting == s.Replicas.Current
}

// withinTolerance reports whether an HPA with the default tolerance of 0.1 takes
// the decision for no difference (k8s.io/kubernetes, podautoscaler).
func (s standing) withinTolerance() bool {
	const tolerance = 0.1
	return math.Abs(float64(s.base-s.Replicas.Current)) <= tolerance*float64(s.Replicas.Current)+rounding
}

// mayGive reports whether a replica of the variant may be given up: one that is
// settled, or whose last removal an HPA takes for no difference.
func (s standing) mayGive() bool {
	return s.base > s.floor() && s.whole() &&
		(s.phase == settled || s.phase == leaving && s.fault != "" && s.withinTolerance())
}

// counted is how many replicas carry load or will: what stands, without what was
// ordered and is overdue. Replicas without data count, as idle.
func (s standing) counted() int {
	switch {
	case s.phase == unreadable && !s.decided:
		return 0
	case s.phase == overdue, s.phase == frozen && s.late:
		return min(s.base, max(s.Replicas.Ready, s.reporting))
	}
	return s.base
}

// sure is how many replicas are known to carry load.
func (s standing) sure() int {
	if s.phase == unreadable {
		return 0
	}
	return min(s.base, s.Replicas.Ready, s.reporting)
}

// room is how many replicas may be added.
func (s standing) room() int {
	switch {
	case s.phase == unreadable, s.phase == frozen, s.phase == overdue && !s.limps(), s.Replicas.Unschedulable > 0:
		return 0
	}
	return max(0, min(s.Bounds.Max, max(s.base, replicasAtMost))-s.base)
}

// mayRelease reports whether replicas of the variant may be given up: one that is
// settled, or whose last removal an HPA takes for no difference. Unlike the spare
// capacity path, a variant of a model may go to its lower bound: another carries
// its load.
func (s standing) mayRelease() bool {
	return s.whole() && (s.phase == settled || s.phase == leaving && s.fault != "" && s.withinTolerance())
}

// cancellable reports whether the variant has a removal under way that can be
// taken back: down to its upper bound it cannot.
func (s standing) cancellable() bool {
	return s.phase == leaving && s.base < min(s.Replicas.Current, s.Bounds.Max)
}

// frozenAt decides that the variant stays as it was decided.
func (s standing) frozenAt() scaling.Decision {
	return s.decision().Then(scaling.StageOptimize, s.base, scaling.ReasonPaused,
		fmt.Sprintf("the variant is paused: its decision is frozen at %d", s.base))
}

// decision starts the variant's decision.
func (s standing) decision() scaling.Decision {
	return scaling.Decision{Variant: s.Key, Model: s.Model, Current: s.Replicas.Current}
}
