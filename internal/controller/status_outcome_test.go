package controller

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

func measured(ttft, itl float64) func(*explain.Explanation) {
	return func(e *explain.Explanation) {
		e.Snapshot.Load.TTFT = scaling.Measured(ttft, scaling.Fresh)
		e.Snapshot.Load.ITL = scaling.Measured(itl, scaling.Fresh)
	}
}

func TestStatusAllocations(t *testing.T) {
	named := func(e *explain.Explanation) { e.Variant.ID = "m-H100-8" }
	known := statusAfter(object(), explanation(running(5, 5, 0), deciding(5, scaling.ReasonSteady)))
	before := func(va *v1alpha1.VariantAutoscaling) { va.Status = known }
	tests := map[string]struct {
		va      *v1alpha1.VariantAutoscaling
		e       explain.Explanation
		current *v1alpha1.CurrentAlloc
		desired int32 // -1: none
		applied bool
	}{
		"as decided":               {object(), explanation(measured(123.456, 7)), &v1alpha1.CurrentAlloc{VariantID: "m-A100-1", NumReplicas: 2, TTFTAverage: "123.46", ITLAverage: "7.00"}, 2, true},
		"on its way":               {object(), explanation(deciding(3, scaling.ReasonSaturated)), &v1alpha1.CurrentAlloc{VariantID: "m-A100-1", NumReplicas: 2}, 3, false},
		"another id":               {object(), explanation(named), &v1alpha1.CurrentAlloc{VariantID: "m-H100-8", NumReplicas: 2}, 2, true},
		"zero":                     {object(), explanation(running(0, 0, 0), deciding(0, scaling.ReasonSteady)), &v1alpha1.CurrentAlloc{VariantID: "m-A100-1"}, 0, true},
		"unreadable, known before": {object(before), explanation(unreadable, fallback(5)), &v1alpha1.CurrentAlloc{VariantID: "m-A100-1", NumReplicas: 5}, 5, false},
		"unreadable, never known":  {object(), explanation(unreadable, undecided), nil, -1, false},
		"undecided, stored before": {object(before), explanation(running(5, 5, 0), undecided), &v1alpha1.CurrentAlloc{VariantID: "m-A100-1", NumReplicas: 5}, 5, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := statusAfter(tt.va, tt.e)
			if diff := cmp.Diff(got.CurrentAlloc, tt.current); diff != "" {
				t.Errorf("current, -got +want:\n%s", diff)
			}
			if tt.desired < 0 {
				if got.DesiredOptimizedAlloc != nil || got.Actuation != nil {
					t.Errorf("got %+v and %+v, want no decision", got.DesiredOptimizedAlloc, got.Actuation)
				}
				return
			}
			if got.DesiredOptimizedAlloc.NumReplicas != tt.desired || got.Actuation.Applied != tt.applied {
				t.Errorf("got %d, applied %v; want %d, %v", got.DesiredOptimizedAlloc.NumReplicas, got.Actuation.Applied, tt.desired, tt.applied)
			}
		})
	}
}

func TestWhatIsAReasonToWrite(t *testing.T) {
	first := explanation(measured(100, 10))
	renamed := func(e *explain.Explanation) { e.Variant.Accelerator = "H100" }
	detail := func(e *explain.Explanation) {
		e.Decision = scaling.Decision{Variant: keyV, Current: 2}.Then(scaling.StageOptimize, 2, scaling.ReasonSteady, "other numbers")
	}
	fault := func(text string) func(*explain.Explanation) {
		return func(e *explain.Explanation) { fallback(2)(e); e.Snapshot.Fault = text }
	}
	tests := map[string]struct {
		before, after explain.Explanation
		want          bool
	}{
		"the first status":        {explain.Explanation{}, first, true},
		"nothing":                 {first, first, false},
		"time":                    {first, explanation(later(500), measured(100, 10)), false},
		"latencies":               {first, explanation(measured(200, 20)), false},
		"latencies lost":          {first, explanation(), false},
		"the words of a step":     {first, explanation(detail), false},
		"another reason, as many": {first, explanation(deciding(2, scaling.ReasonOtherVariant)), false},
		"Ready pods":              {first, explanation(running(2, 1, 0)), false},
		"another number":          {first, explanation(deciding(3, scaling.ReasonSaturated)), true},
		"other replicas":          {first, explanation(running(3, 2, 0)), true},
		"a fallback":              {first, explanation(fallback(2)), true},
		"another accelerator":     {first, explanation(renamed), true},
		"aging":                   {first, explanation(samples(sample(scaling.Aging))), true},
		"another connection to the same fault": {
			explanation(fault("read tcp 10.0.0.1:1111->10.0.0.2:9090: i/o timeout")), explanation(fault("read tcp 10.0.0.1:2222->10.0.0.2:9090: i/o timeout")), false,
		},
		"another fault": {explanation(fault("i/o timeout")), explanation(fault("connection refused")), true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			va := object()
			if tt.before.Cycle != "" {
				va.Status = statusAfter(va, tt.before)
			}
			if got := differs(va.Status, statusAfter(va, tt.after)); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
	t.Run("a new generation", func(t *testing.T) {
		va := object()
		va.Status = statusAfter(va, first)
		va.Generation++
		if !differs(va.Status, statusAfter(va, first)) {
			t.Error("not written")
		}
	})
}

func TestTargetConflictComesAndGoes(t *testing.T) {
	winner, loser := keyV, scaling.VariantKey{Namespace: "n", Name: "w"}
	rivals := []scaling.VariantKey{winner, loser}
	won := seen(explanation())
	won.contenders = rivals
	lost := view{at: at(200), cycle: "8", contenders: rivals}

	va := object()
	status, _ := next(va, won)
	got := short(status.Conditions)
	if got["DeploymentTargetConflict"] != "True ConflictResolvedByArbitration" || got["Ready"] != "True Ready" {
		t.Errorf("the winner got %v", got)
	}
	va.Status = status
	status, _ = next(va, seen(explanation(later(300))))
	if _, still := short(status.Conditions)["DeploymentTargetConflict"]; still {
		t.Error("the winner's condition outlives the conflict")
	}

	other := object(func(va *v1alpha1.VariantAutoscaling) { va.Name = "w" })
	other.Status = statusAfter(other, explanation(deciding(2, scaling.ReasonSteady)))
	status, known := next(other, lost)
	got = short(status.Conditions)
	if !known || got["DeploymentTargetConflict"] != "True SuppressedDueToConflict" || got["Ready"] != "False SuppressedDueToConflict" {
		t.Errorf("the loser got %v", got)
	}
	if diff := cmp.Diff(status.DesiredOptimizedAlloc, other.Status.DesiredOptimizedAlloc); diff != "" {
		t.Errorf("the loser's last decision changed, -got +want:\n%s", diff)
	}
	if status.Actuation.Applied {
		t.Error("the loser's decision counts as applied")
	}
	other.Status = status
	if again, _ := next(other, view{at: at(300), cycle: "9", contenders: rivals}); differs(other.Status, again) {
		t.Error("a lasting conflict is written again")
	}
	status, _ = next(other, seen(explanation(later(400))))
	got = short(status.Conditions)
	if _, still := got["DeploymentTargetConflict"]; still || got["Ready"] != "True Ready" {
		t.Errorf("after the conflict the loser got %v", got)
	}
}

func TestNothingKnownLeavesTheStatusAlone(t *testing.T) {
	if _, known := next(object(), view{at: at(100)}); known {
		t.Error("a status was made of nothing")
	}
}

// TestStatusOfOlderVersions starts from statuses as older versions stored them.
func TestStatusOfOlderVersions(t *testing.T) {
	tests := map[string]string{
		"multi-accelerator": `{"currentAlloc":{"accelerator":"A100","numReplicas":1,"maxBatch":256,"variantCost":"40.00","itlAverage":"7.70",
			"ttftAverage":"120.50","load":{"arrivalRate":"1.00","avgInputTokens":"128","avgOutputTokens":"64"}},
			"desiredOptimizedAlloc":{"lastRunTime":"2025-11-01T00:00:00Z","accelerator":"A100","numReplicas":1},"actuation":{"applied":true}}`,
		"seeds": `{"currentAlloc":{"numReplicas":2},"desiredOptimizedAlloc":{"lastRunTime":"2025-12-01T00:00:00Z","numReplicas":2,
			"lastUpdate":{"updateTime":"2025-12-01T00:00:00Z","numReplicasChanged":1,"reason":"Optimizer solution: cost and latency optimized allocation"}},
			"actuation":{"applied":true},"conditions":[{"type":"Ready","status":"False","reason":"DeploymentTargetConflict",
			"message":"Suppressed due to deployment target conflict","lastTransitionTime":"2025-12-01T00:00:00Z"},
			{"type":"DeploymentTargetConflict","status":"True","reason":"SuppressedDueToConflict","message":"","lastTransitionTime":"2025-12-01T00:00:00Z"}]}`,
		"empty": `{}`,
	}
	for name, stored := range tests {
		t.Run(name, func(t *testing.T) {
			va := object()
			if err := json.Unmarshal([]byte(stored), &va.Status); err != nil {
				t.Fatal(err)
			}
			va.Status = statusAfter(va, explanation())
			want := map[string]string{
				"TargetResolved": "True TargetFound", "MetricsAvailable": "True MetricsFound",
				"OptimizationReady": "True OptimizationSucceeded", "ScalerFollowing": "True Following", "Ready": "True Ready",
			}
			if diff := cmp.Diff(short(va.Status.Conditions), want); diff != "" {
				t.Errorf("-got +want:\n%s", diff)
			}
			if last := va.Status.DesiredOptimizedAlloc.LastUpdate; last == nil || last.UpdateTime.IsZero() || last.Reason == "" {
				t.Errorf("lastUpdate is %+v", last)
			}
			if differs(va.Status, statusAfter(va, explanation(later(200)))) {
				t.Error("the next cycle writes again")
			}
		})
	}
}

func TestMeaningLeavesItsArgumentAlone(t *testing.T) {
	s := statusAfter(object(), explanation(measured(1, 2)))
	want := *s.DeepCopy()
	meaning(s)
	if diff := cmp.Diff(s, want, cmp.Comparer(func(a, b metav1.Time) bool { return a.Equal(&b) })); diff != "" {
		t.Errorf("-got +want:\n%s", diff)
	}
}
