package controller

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// at returns an instant, a number of seconds after the beginning.
func at(seconds int) time.Time {
	return time.Date(2026, 1, 1, 0, 0, seconds, 0, time.UTC)
}

func stamp(seconds int) *metav1.Time {
	t := metav1.NewTime(at(seconds))
	return &t
}

var keyV = scaling.VariantKey{Namespace: "n", Name: "v"}

// object returns the VariantAutoscaling n/v of generation 4.
func object(change ...func(*v1alpha1.VariantAutoscaling)) *v1alpha1.VariantAutoscaling {
	va := &v1alpha1.VariantAutoscaling{
		ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "v", Generation: 4},
		Spec: v1alpha1.VariantAutoscalingSpec{
			ModelID: "m", ScaleTargetRef: &v1alpha1.ScaleTargetRef{Kind: "Deployment", Name: "d"},
		},
	}
	for _, f := range change {
		f(va)
	}
	return va
}

// explanation returns the explanation of n/v by a cycle at 100 s: two Ready replicas on A100, fresh
// readings, nothing to change.
func explanation(change ...func(*explain.Explanation)) explain.Explanation {
	model := scaling.ModelKey{Namespace: "n", ID: "m"}
	e := explain.Explanation{
		Cycle: "7", At: at(100), AnalyzedAt: at(100), Decided: true,
		Variant: scaling.Variant{
			Key: keyV, ID: "m-A100-1", Model: model, Accelerator: "A100", GPUsPerReplica: 1, Bounds: scaling.Unbounded(),
			Target:   scaling.TargetRef{APIVersion: "apps/v1", Kind: "Deployment", Name: "d"},
			Replicas: scaling.ReplicaCounts{Observed: true, Current: 2, Ready: 2},
		},
		Decision: scaling.Decision{Variant: keyV, Model: model, Current: 2}.Then(scaling.StageOptimize, 2, scaling.ReasonSteady, "enough"),
		Past:     memory.Past{Desired: 2, DecidedAt: at(40), ProgressAt: at(40)},
		Snapshot: scaling.Snapshot{Model: model, Replicas: []scaling.ReplicaSample{sample(scaling.Fresh), sample(scaling.Fresh)}},
	}
	for _, f := range change {
		f(&e)
	}
	return e
}

// sample returns the readings of a Ready pod of n/v.
func sample(state scaling.Freshness) scaling.ReplicaSample {
	r := scaling.Reading{State: state}
	return scaling.ReplicaSample{Variant: keyV, Ready: true, KVCacheUsage: r, QueueLength: r}
}

func samples(s ...scaling.ReplicaSample) func(*explain.Explanation) {
	return func(e *explain.Explanation) { e.Snapshot.Replicas = s }
}

// deciding replaces the decision by one for another number of replicas.
func deciding(to scaling.Replicas, reason scaling.Reason) func(*explain.Explanation) {
	return func(e *explain.Explanation) {
		e.Decision = scaling.Decision{Variant: keyV, Current: e.Variant.Replicas.Current}.Then(scaling.StageOptimize, to, reason, "why")
		if e.Past.Desired != to {
			e.Past = memory.Past{Desired: to, DecidedAt: e.At, ProgressAt: e.At}
		}
	}
}

// fallback replaces the decision by one without an analysis.
func fallback(to scaling.Replicas) func(*explain.Explanation) {
	return func(e *explain.Explanation) {
		deciding(to, scaling.ReasonNoData)(e)
		e.Decision.Fallback, e.AnalyzedAt = true, at(90)
	}
}

func running(current, ready, unschedulable scaling.Replicas) func(*explain.Explanation) {
	return func(e *explain.Explanation) {
		e.Variant.Replicas = scaling.ReplicaCounts{
			Observed: true, Current: current, Ready: ready, Pending: current - ready, Unschedulable: unschedulable,
		}
	}
}

func unreadable(e *explain.Explanation) {
	e.Variant.Missing = `Deployment "d" not found in namespace "n"`
	e.Variant.Replicas = scaling.ReplicaCounts{}
}

func undecided(e *explain.Explanation) {
	e.Decision, e.Decided, e.AnalyzedAt = scaling.Decision{}, false, time.Time{}
}

func later(seconds int) func(*explain.Explanation) {
	return func(e *explain.Explanation) { e.At = at(seconds) }
}

// seen returns a view of an explanation.
func seen(e explain.Explanation) view {
	return view{at: e.At, cycle: e.Cycle, explained: true, Explanation: e}
}

// statusAfter returns the status of an object after a sequence of explanations.
func statusAfter(va *v1alpha1.VariantAutoscaling, es ...explain.Explanation) v1alpha1.VariantAutoscalingStatus {
	va = va.DeepCopy()
	for _, e := range es {
		va.Status, _ = next(va, seen(e))
	}
	return va.Status
}
