package explain

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

func TestTroublesAreWhatIsInTheWay(t *testing.T) {
	at := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	key, model := scaling.VariantKey{Namespace: "ns", Name: "v"}, scaling.ModelKey{Namespace: "ns", ID: "m"}
	fresh := scaling.Measured(0.5, scaling.Fresh)
	healthy := func() Explanation {
		return Explanation{
			Cycle: "c-1", At: at, AnalyzedAt: at, Decided: true,
			Variant:  scaling.Variant{Key: key, Model: model, Target: scaling.TargetRef{Kind: "Deployment", Name: "d"}, Replicas: scaling.ReplicaCounts{Observed: true, Current: 2, Ready: 2}},
			Snapshot: scaling.Snapshot{Model: model, At: at, Replicas: []scaling.ReplicaSample{{Pod: "p", Variant: key, Ready: true, KVCacheUsage: fresh, QueueLength: fresh}}},
			Decision: scaling.Decision{Variant: key, Model: model, Current: 2}.Then(scaling.StageOptimize, 2, scaling.ReasonSteady, ""),
		}
	}
	step := func(e *Explanation, stage scaling.Stage, to scaling.Replicas, reason scaling.Reason, detail string) {
		e.Decision = e.Decision.Then(stage, to, reason, detail)
	}
	for name, tc := range map[string]struct {
		change func(e *Explanation)
		kinds  []string
		most   Severity
	}{
		"nothing": {func(*Explanation) {}, nil, Fine},
		"the target is gone": {func(e *Explanation) {
			e.Variant.Replicas, e.Variant.Missing = scaling.ReplicaCounts{}, "not found"
		}, []string{"TargetResolved"}, Urgent},
		"the source fails":    {func(e *Explanation) { e.Snapshot.Fault = "refused" }, []string{"MetricsAvailable"}, Urgent},
		"nothing is measured": {func(e *Explanation) { e.Snapshot.Replicas = nil }, []string{"MetricsAvailable"}, Urgent},
		"nothing runs": {func(e *Explanation) {
			e.Snapshot.Replicas, e.Variant.Replicas.Current, e.Variant.Replicas.Ready = nil, 0, 0
		}, nil, Fine},
		"readings are late":            {func(e *Explanation) { e.Snapshot.Replicas[0].KVCacheUsage.State = scaling.Aging }, []string{"MetricsAvailable"}, Note},
		"readings are old":             {func(e *Explanation) { e.Snapshot.Replicas[0].KVCacheUsage.State = scaling.Stale }, []string{"MetricsAvailable"}, Urgent},
		"a replica is stuck":           {func(e *Explanation) { e.Snapshot.Replicas[0].Stuck = scaling.Sick }, []string{"Stuck"}, Urgent},
		"series are of several pods":   {func(e *Explanation) { e.Snapshot.Partial = "pages sum over a Service" }, []string{"Series"}, Wrong},
		"nothing is decided":           {func(e *Explanation) { e.Decided = false }, []string{"OptimizationReady"}, Urgent},
		"it is paused":                 {func(e *Explanation) { e.Variant.Paused = true }, []string{"OptimizationReady"}, Note},
		"no analysis stands behind it": {func(e *Explanation) { e.Decision.Fallback = true }, []string{"OptimizationReady"}, Wrong},
		"an order is overdue":          {func(e *Explanation) { step(e, scaling.StageOptimize, 2, scaling.ReasonPodsUnschedulable, "") }, []string{"ScalerFollowing"}, Urgent},
		"its maximum binds": {func(e *Explanation) {
			step(e, scaling.StageOptimize, 9, scaling.ReasonDemand, "")
			step(e, scaling.StageBounds, 4, scaling.ReasonAboveMax, "maxReplicas is 4")
		}, []string{"Limited"}, Wrong},
		"a reduction waits": {func(e *Explanation) {
			e.Decision.Reduction = scaling.Reduction{Cycle: "c-1", Since: at, From: 2, To: 1}
		}, []string{"ChangesAllowed"}, Note},
		"the worst comes first": {func(e *Explanation) {
			e.Variant.Paused, e.Snapshot.Fault = true, "refused"
		}, []string{"MetricsAvailable", "OptimizationReady"}, Urgent},
	} {
		t.Run(name, func(t *testing.T) {
			e := healthy()
			tc.change(&e)
			var kinds []string
			most := Fine
			for _, trouble := range Troubles(e) {
				kinds, most = append(kinds, trouble.Kind), max(most, trouble.Severity)
				if trouble.Sentence == "" {
					t.Errorf("%s has no sentence", trouble.Kind)
				}
			}
			if diff := cmp.Diff(kinds, tc.kinds); diff != "" || most != tc.most {
				t.Errorf("severity %d, want %d; kinds, -got +want:\n%s", most, tc.most, diff)
			}
		})
	}
}

func TestAnObjectiveIsMissedByMoreThanMayMissIt(t *testing.T) {
	s := scaling.Snapshot{Load: scaling.Load{
		TTFTBuckets: scaling.Histogram{State: scaling.Fresh, Total: 10, Buckets: []scaling.Bucket{{Bound: 500, Rate: 9}}},
		ITLBuckets:  scaling.Histogram{State: scaling.Fresh, Total: 10, Buckets: []scaling.Bucket{{Bound: 40, Rate: 10}}},
	}}
	for name, tc := range map[string]struct {
		objective scaling.Objective
		missed    bool
	}{
		"of 10 % one of twenty may": {scaling.Objective{TTFT: 500}, true},
		"of 10 % one of five may":   {scaling.Objective{TTFT: 500, Attainment: 0.8}, false},
		"without an objective":      {scaling.Objective{}, false},
	} {
		if got, missed := ObjectiveMissed(s, tc.objective); missed != tc.missed {
			t.Errorf("%s: missed %t (%s), want %t", name, missed, got.Sentence, tc.missed)
		}
	}
	if _, missed := ObjectiveMissed(scaling.Snapshot{}, scaling.Objective{TTFT: 500}); missed {
		t.Error("what is not measured misses an objective")
	}
}
