package policy

import (
	"fmt"
	"math"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// HPA is the HorizontalPodAutoscaler controller for one target, as pkg/controller/podautoscaler of
// Kubernetes 1.36 computes it. Its zero value is an object without a behavior section, which
// follows older rules than an object with the default behavior: at most max(4, 2N) at a time, and
// down after the cluster's stabilization of 300 s.
type HPA struct {
	Behavior *Behavior

	proposed       series // recommendations before stabilization
	added, removed series // changes made, in replicas; in no order
}

// legacyWindow is --horizontal-pod-autoscaler-downscale-stabilization.
const legacyWindow = 300 * time.Second

// Scale is the scale subresource that an HPA reads and its own bounds.
type Scale struct {
	Spec   scaling.Replicas // replicas asked for
	Bounds scaling.Bounds   // Min 0 stands for the default of 1: zero needs an alpha gate
}

// Proposal is the replicas that one metric of an HPA asks for.
type Proposal struct {
	Metric   string
	Replicas scaling.Replicas
	Invalid  string // why there is no number, else ""
}

// Reconcile returns the replicas that the HPA sets now, and why. At zero replicas it does nothing.
// A metric that cannot be read stops a reduction; if no metric can be read, nothing changes.
func (h *HPA) Reconcile(now time.Time, s Scale, proposals []Proposal) (scaling.Replicas, string) {
	s.Bounds.Min = max(1, s.Bounds.Min)
	if len(h.proposed) == 0 {
		h.proposed.add(now, float64(s.Spec), 0)
	}
	switch {
	case s.Spec == 0:
		return 0, "HPA: stands still at zero replicas"
	case s.Spec > s.Bounds.Max:
		return h.set(now, s.Spec, s.Bounds.Max), "HPA: above the maximum"
	case s.Spec < s.Bounds.Min:
		return h.set(now, s.Spec, s.Bounds.Min), "HPA: below the minimum"
	}
	desired, why, ok := highest(proposals, s.Spec)
	if !ok {
		return s.Spec, "HPA: hold, " + why
	}
	n := h.normalize(now, s, desired)
	if n != desired {
		why += fmt.Sprintf(", limited to %d", n)
	}
	return h.set(now, s.Spec, n), "HPA: " + why
}

// highest returns the largest valid proposal, and false if no metric is valid, or some are not and
// the others would remove replicas.
func highest(proposals []Proposal, current scaling.Replicas) (replicas scaling.Replicas, why string, ok bool) {
	invalid := "there is no metric"
	var missing bool
	for _, p := range proposals {
		switch {
		case p.Invalid != "":
			missing = true
			invalid = p.Metric + " is missing: " + p.Invalid
		case !ok || p.Replicas > replicas:
			replicas, why, ok = p.Replicas, fmt.Sprintf("%s wants %d", p.Metric, p.Replicas), true
		}
	}
	if !ok || missing && replicas < current {
		return 0, invalid, false
	}
	return replicas, why, true
}

// normalize stabilizes a recommendation, then limits its rate and its range.
func (h *HPA) normalize(now time.Time, s Scale, desired scaling.Replicas) scaling.Replicas {
	if h.Behavior == nil {
		n := desired
		for _, r := range h.proposed {
			if !r.at.Before(now.Add(-legacyWindow)) {
				n = max(n, scaling.Replicas(r.value))
			}
		}
		h.proposed.add(now, float64(desired), legacyWindow)
		return max(s.Bounds.Min, min(n, s.Bounds.Max, max(4, 2*s.Spec)))
	}
	n := h.stabilize(now, s.Spec, desired)
	switch {
	case n > s.Spec:
		ceiling := max(s.Spec, h.Behavior.Up.ceiling(now, s.Spec, h.added, h.removed))
		return min(n, s.Bounds.Max, ceiling)
	case n < s.Spec:
		floor := min(s.Spec, h.Behavior.Down.floor(now, s.Spec, h.added, h.removed))
		return max(n, s.Bounds.Min, floor)
	}
	return n
}

// stabilize keeps current between the least recommendation of the window up and
// the greatest of the window down.
func (h *HPA) stabilize(now time.Time, current, desired scaling.Replicas) scaling.Replicas {
	up, down := desired, desired
	for _, r := range h.proposed {
		if r.at.After(now.Add(-h.Behavior.Up.Window)) {
			up = min(up, scaling.Replicas(r.value))
		}
		if r.at.After(now.Add(-h.Behavior.Down.Window)) {
			down = max(down, scaling.Replicas(r.value))
		}
	}
	h.proposed.add(now, float64(desired), max(h.Behavior.Up.Window, h.Behavior.Down.Window))
	return min(max(current, up), down)
}

// set records the change from current to n. Each direction forgets by its own periods, while the
// limits of both count all changes: a limit with a longer period than all of the other direction
// may miss some of its changes, as in the controller.
func (h *HPA) set(now time.Time, current, n scaling.Replicas) scaling.Replicas {
	if h.Behavior == nil {
		return n
	}
	switch {
	case n > current:
		h.added.store(now, float64(n-current), h.Behavior.Up.longest())
	case n < current:
		h.removed.store(now, float64(current-n), h.Behavior.Down.longest())
	}
	return n
}

// Tolerance is the distance of a ratio from 1 without a change.
type Tolerance struct {
	Up, Down float64
}

// DefaultTolerance is --horizontal-pod-autoscaler-tolerance.
func DefaultTolerance() Tolerance { return Tolerance{Up: 0.1, Down: 0.1} }

func (t Tolerance) within(ratio float64) bool { return 1-t.Down <= ratio && ratio <= 1+t.Up }

// AverageValue returns the proposal of an External or Object metric with a target of type
// AverageValue: total / target, or status if the average over the replicas of the status is within
// the tolerance. target > 0.
func AverageValue(total, target float64, status scaling.Replicas, t Tolerance) scaling.Replicas {
	usage, want := thousandths(total), targetThousandths(target)
	if t.within(usage / (want * float64(status))) {
		return status
	}
	return ceil(usage / want)
}

// Value returns the proposal of an External or Object metric with a target of type Value: the ratio
// times the ready replicas, whatever the total counts. A queue of the whole model therefore counts
// once for every replica. target > 0.
func Value(total, target float64, current, ready scaling.Replicas, t Tolerance) scaling.Replicas {
	ratio := thousandths(total) / targetThousandths(target)
	switch {
	case current == 0:
		return ceil(ratio)
	case t.within(ratio):
		return current
	}
	return ceil(ratio * float64(ready))
}

// PodsAverage returns the proposal of a Pods metric: reported holds the values of the pods that run
// and report, missing counts those that run and do not report, unready those in phase Pending. Pods
// without a value count against the direction that the others ask for. If no pod reports it returns
// an error. target > 0.
func PodsAverage(reported []float64, missing, unready int, current scaling.Replicas, target float64, t Tolerance) (scaling.Replicas, error) {
	if len(reported) == 0 {
		return 0, fmt.Errorf("no pod reports (%d run, %d are pending)", missing, unready)
	}
	want := targetThousandths(target)
	var total float64
	for _, v := range reported {
		total += thousandths(v)
	}
	counted := len(reported)
	ratio := usageRatio(total, counted, want)
	if missing == 0 && (unready == 0 || ratio <= 1) {
		if t.within(ratio) {
			return current, nil
		}
		return ceil(ratio * float64(counted)), nil
	}
	switch {
	case ratio < 1: // pods without a value count as on target
		total += want * float64(missing)
		counted += missing
	case ratio > 1: // pods without a value count as idle
		counted += missing + unready
	}
	filled := usageRatio(total, counted, want)
	n := ceil(filled * float64(counted))
	if t.within(filled) || against(ratio, filled, n, current) {
		return current, nil
	}
	return n, nil
}

// usageRatio returns the mean over the target, all in thousandths; the controller divides integers.
func usageRatio(total float64, counted int, target float64) float64 {
	return math.Floor(total/float64(counted)) / target
}

// against reports whether the filled-in values turned the direction: of the ratio, or of the change
// from current to n.
func against(ratio, filled float64, n, current scaling.Replicas) bool {
	return ratio < 1 && filled > 1 || ratio > 1 && filled < 1 ||
		filled < 1 && n > current || filled > 1 && n < current
}

// thousandths returns a metric in thousandths: adapters cut it to thousandths. The small addend
// keeps a decimal such as 2.3 from becoming 2.299.
func thousandths(v float64) float64 { return math.Floor(v*1000 + 1e-6) }

// targetThousandths returns a target in thousandths, as the object holds it.
func targetThousandths(v float64) float64 { return math.Round(v * 1000) }

// ceil rounds up into the range of the API's replica counts.
func ceil(v float64) scaling.Replicas {
	switch {
	case math.IsNaN(v):
		return 0
	case v >= math.MaxInt32:
		return math.MaxInt32
	}
	return scaling.Replicas(math.Ceil(v))
}
