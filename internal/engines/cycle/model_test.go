package cycle

import (
	"slices"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// TestAnotherModelBeginsAnotherWait looks at two replicas that were decided on an hour ago; the
// second does not report.
func TestAnotherModelBeginsAnotherWait(t *testing.T) {
	key, of := scaling.VariantKey{Namespace: "ns", Name: "v"}, scaling.ModelKey{Namespace: "ns", ID: "m"}
	v := scaling.Variant{
		Key: key, Model: of, Bounds: scaling.Unbounded(), Accelerator: "A100", GPUsPerReplica: 1, StartUp: time.Minute,
		Replicas: scaling.ReplicaCounts{Observed: true, Current: 2, Ready: 2},
	}
	none := scaling.Measured(0, scaling.Fresh)
	snapshot := scaling.Snapshot{Model: of, At: now, Window: time.Minute, Variants: []scaling.Variant{v}, Replicas: []scaling.ReplicaSample{
		{Pod: "a", Variant: key, Ready: true, At: now, KVCacheUsage: none, KVCacheUsageNow: none, QueueLength: none, QueueLengthNow: none},
		{Pod: "b", Variant: key, Ready: true},
	}}
	for name, tt := range map[string]struct {
		served scaling.ModelKey
		late   bool
	}{
		"the same model":          {of, true},
		"after a restart":         {scaling.ModelKey{}, true},
		"another model until now": {scaling.ModelKey{Namespace: "ns", ID: "typo"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			at := now.Add(-time.Hour)
			past := memory.Past{Model: tt.served, Desired: 2, DecidedAt: at, ProgressAt: at, Counts: v.Replicas, ModelPast: memory.ModelPast{Activity: memory.Activity{At: at, Seen: at}}}
			verdict := Setup{}.Decide(Case{Now: now, Snapshots: []scaling.Snapshot{snapshot}, History: memory.History{key: past}})
			late := slices.ContainsFunc(verdict.Plan.Decisions[0].Steps, func(s scaling.Step) bool { return s.Reason == scaling.ReasonPodsNotReady })
			if late != tt.late {
				t.Errorf("overdue: %t, want %t: %+v", late, tt.late, verdict.Plan.Decisions[0].Steps)
			}
			kept := verdict.History[key]
			if kept.Model != of || kept.Activity.Seen.Equal(at) != tt.late {
				t.Errorf("remembered of %s, with a request seen at %s", kept.Model, kept.Activity.Seen)
			}
		})
	}
}
