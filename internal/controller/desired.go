package controller

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
)

// desiredAlloc returns the decision after e: the stored one when e has none.
func desiredAlloc(was v1alpha1.VariantAutoscalingStatus, e explain.Explanation) *v1alpha1.OptimizedAlloc {
	stored := was.DesiredOptimizedAlloc.DeepCopy()
	if !e.Decided {
		return stored
	}
	now := metav1.NewTime(e.At)
	return &v1alpha1.OptimizedAlloc{
		LastRunTime: &now,
		Accelerator: e.Variant.Accelerator,
		NumReplicas: replicas(e.Decision.Target()),
		LastUpdate: update(stored, change{
			from:    replicas(e.Decision.Current),
			number:  replicas(e.Decision.Target()),
			reason:  reasonOf(was, e),
			decided: decidedAt(e),
			now:     e.At,
		}),
	}
}

// reasonOf returns the reason of the step that settled the number of replicas. While the number
// stays, its reason stays, whatever later cycles give as theirs, unless a fallback begins or ends.
func reasonOf(was v1alpha1.VariantAutoscalingStatus, e explain.Explanation) string {
	stood := fallbackOf(was) != nil
	if decides(was, e) && stood == e.Decision.Fallback {
		if last := was.DesiredOptimizedAlloc.LastUpdate; last != nil && last.Reason != "" {
			return last.Reason
		}
	}
	return string(e.Decision.Cause().Reason)
}

// decidedAt returns when the number of e was first decided on.
func decidedAt(e explain.Explanation) time.Time {
	if e.Past.Desired != e.Decision.Target() || e.Past.DecidedAt.IsZero() {
		return e.At
	}
	return e.Past.DecidedAt
}

// change is a decision that may change the stored one.
type change struct {
	from    int32 // replicas when it was made; used for the first decision
	number  int32
	reason  string
	decided time.Time // when the number was decided on
	now     time.Time
}

// update returns the last change of a decision after c: the stored one while neither number nor
// reason differs. A decision without a time, as older versions wrote it, counts as a change of its
// reason.
func update(stored *v1alpha1.OptimizedAlloc, c change) *v1alpha1.LastUpdate {
	before, at := c.from, c.decided
	if stored != nil {
		before = stored.NumReplicas
		last := stored.LastUpdate
		if c.number == before && last != nil && last.UpdateTime != nil && last.Reason == c.reason {
			return last
		}
		if c.number == before || last != nil && last.UpdateTime != nil && at.Before(last.UpdateTime.Time) {
			at = c.now // the stored change is newer than the number
		}
	}
	moved := metav1.NewTime(at)
	return &v1alpha1.LastUpdate{UpdateTime: &moved, NumReplicasChanged: c.number - before, Reason: c.reason}
}
