package controller

import (
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// limitReasons are the reasons of steps that keep a variant from the replicas
// that its load calls for.
var limitReasons = []scaling.Reason{scaling.ReasonAboveMax, scaling.ReasonNoCandidate}

// limit returns the step that limits a decision, and false when none does.
func limit(d scaling.Decision) (scaling.Step, bool) {
	for _, s := range slices.Backward(d.Steps) {
		if slices.Contains(limitReasons, s.Reason) {
			return s, true
		}
	}
	return scaling.Step{}, false
}

// tellLimit tells, when it begins, that a variant does not get the replicas that
// its load calls for. No status holds this, since the decision stays what it is;
// so a new process tells it once more.
func (s *Status) tellLimit(va *v1alpha1.VariantAutoscaling, v view) {
	step, limited := scaling.Step{}, false
	if v.explained && !v.suppressed(keyOf(va)) {
		step, limited = limit(v.Decision)
	}
	if s.limits.begins(keyOf(va), step.Reason) && limited {
		s.events.Eventf(va, nil, corev1.EventTypeWarning, eventLimited, string(step.Reason), "%s", explain.LimitedTo(v.Explanation, step))
	}
}

// limits remembers what limits each variant. The zero value remembers nothing.
// It is safe for concurrent use.
type limits struct {
	mu sync.Mutex
	by map[scaling.VariantKey]scaling.Reason
}

// begins remembers by what a variant is limited, "" for nothing, and reports
// whether that is new.
func (l *limits) begins(key scaling.VariantKey, by scaling.Reason) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.by[key] == by {
		return false
	}
	if l.by == nil {
		l.by = map[scaling.VariantKey]scaling.Reason{}
	}
	l.by[key] = by
	return true
}

// forget drops the variants that are not among those that live.
func (l *limits) forget(alive []client.ObjectKey) {
	lives := make(map[scaling.VariantKey]bool, len(alive))
	for _, key := range alive {
		lives[scaling.VariantKey{Namespace: key.Namespace, Name: key.Name}] = true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for key := range l.by {
		if !lives[key] {
			delete(l.by, key)
		}
	}
}
