package subresource

import (
	"cmp"
	"maps"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// usualStartUp is how long a start is remembered where the start-up time of the variant is
// unknown: four periods of an HPA (every 15 s), of which the first may read an older
// decision.
const usualStartUp = time.Minute

// start is a start from zero of a target that another scaler scales too.
type start struct {
	until time.Time        // when the replicas should be Ready
	to    scaling.Replicas // replicas
}

// starts holds the starts that may have to be repeated, by variant.
type starts map[scaling.VariantKey]start

// add records a change that a plan of time at made to a target that another scaler scales too. A
// start is repeated once: the repetition, a change from above zero, deletes it.
func (s starts) add(o order, at time.Time, c change) {
	if c.from > 0 {
		delete(s, o.variant.Key)
		return
	}
	s[o.variant.Key] = start{until: at.Add(cmp.Or(o.variant.StartUp, usualStartUp)), to: c.to}
}

// forget drops the starts whose replicas should be Ready by now.
func (s starts) forget(now time.Time) {
	maps.DeleteFunc(s, func(_ scaling.VariantKey, begun start) bool { return now.After(begun.until) })
}

// repeat returns the replicas to set once more at a target; 0 where it has them, was not
// started recently, or fewer were decided since. An HPA that resumes has no history of
// recommendations, so it removes replicas at once if the first number that it reads is an
// old one (Kubernetes, "Horizontal Pod Autoscaling: implicit maintenance-mode deactivation"
// and its stabilization window).
func (s starts) repeat(o order, by scaling.Scalers) scaling.Replicas {
	begun, ok := s[o.variant.Key]
	if !ok {
		return 0
	}
	if o.desired < begun.to {
		delete(s, o.variant.Key)
		return 0
	}
	turn, to := by.Turn(0, begun.to) // as it would be started now
	if current := o.variant.Replicas.Current; !by.Known || turn != scaling.TurnOwn || current == 0 || current >= to {
		return 0
	}
	return to
}
