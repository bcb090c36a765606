package optimizer

import (
	"fmt"
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
	settled                 // as decided, and every replica reports
	leaving                 // fewer replicas were decided on than there are
	arriving                // replicas were ordered and do not serve yet
	overdue                 // the same, for longer than is usual
)

// standing is a variant with everything that a choice about it needs.
type standing struct {
	scaling.Variant
	phase      phase
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
		out = append(out, s.classify(in.Snapshot.At))
	}
	slices.SortFunc(out, func(a, b standing) int { return a.Key.Compare(b.Key) })
	return out
}

func (s standing) classify(now time.Time) standing {
	s.base = s.Replicas.Current
	// A decision for zero counts as none: nothing here decides on zero, so it
	// can only be left from a time when the variant had no replicas.
	if s.decided && (s.past.Desired != 0 || !s.Replicas.Observed) {
		s.base = s.past.Desired
	}
	switch {
	case !s.Replicas.Observed:
		s.phase, s.detail = unreadable, s.Missing
	case s.base < s.Replicas.Current:
		s.phase = leaving
		s.detail = fmt.Sprintf("%d of %d replicas are to go", s.Replicas.Current-s.base, s.Replicas.Current)
		if s.late(now) {
			s.fault = scaling.ReasonTargetNotMoving
		}
	case s.base > s.Replicas.Current || s.reporting < s.Replicas.Current:
		s.phase = arriving
		s.fault, s.detail = s.waitsFor()
		if s.late(now) {
			s.phase = overdue
		}
	case s.reporting > s.Replicas.Current && !s.late(now):
		// More replicas than were asked for: a rollout's surge, or a removal that
		// is not quite over. Nothing is missing, so it is waited for and not named.
		s.phase = arriving
		s.detail = fmt.Sprintf("%d replicas report and %d are asked for", s.reporting, s.Replicas.Current)
	default:
		s.phase = settled
	}
	return s
}

// late reports whether the variant has made no progress for longer than it may.
// A replica that became Ready is progress, also one of which only its pod tells,
// to a process that has just started.
func (s standing) late(now time.Time) bool {
	progress := s.past.ProgressAt
	if newest := s.Replicas.NewestReady; newest.After(progress) {
		progress = newest
	}
	return s.decided && now.Sub(progress) > s.patience()
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
		return scaling.ReasonTargetNotMoving, fmt.Sprintf("%d replicas were decided on and the target has %d", s.base, r.Current)
	case r.Unschedulable > 0:
		return scaling.ReasonPodsUnschedulable, fmt.Sprintf("no node takes %d of %d replicas", r.Unschedulable, r.Current)
	case r.Pending > 0:
		return scaling.ReasonPodsNotReady, fmt.Sprintf("%d of %d replicas are Ready", r.Ready, r.Current)
	}
	return scaling.ReasonPodsNotReady, fmt.Sprintf("%d of %d replicas report", s.reporting, r.Current)
}

// limps reports whether the variant is overdue because of single pods that do
// not become Ready or do not report, while most do. Such a variant may still
// grow where nothing else can: one bad node must not pin a model for ever, and
// an image that never starts must not be ordered without end.
func (s standing) limps() bool {
	return s.phase == overdue && s.fault == scaling.ReasonPodsNotReady && 2*s.reporting >= s.base
}

// decision starts the variant's decision.
func (s standing) decision() scaling.Decision {
	return scaling.Decision{Variant: s.Key, Model: s.Model, Current: s.Replicas.Current}
}
