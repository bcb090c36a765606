package watch

import (
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

func TestAnIdleModelIsNewsWhereOnlyChangesRunCycles(t *testing.T) {
	key := scaling.VariantKey{Namespace: "ns", Name: "v"}
	none := scaling.Measured(0, scaling.Fresh)
	for name, tt := range map[string]struct {
		current, least scaling.Replicas
		running        scaling.Reading
		reason         scaling.Reason // of its last decision
		alone, want    bool
	}{
		"idle":                    {1, 0, none, scaling.ReasonSteady, true, true},
		"a cycle comes by itself": {1, 0, none, scaling.ReasonSteady, false, false},
		"its period is over":      {1, 0, none, scaling.ReasonIdle, true, false},
		"the last one stays":      {1, 0, none, scaling.ReasonLastReplica, true, false},
		"at its least":            {1, 1, none, scaling.ReasonSteady, true, false},
		"at zero":                 {0, 0, none, scaling.ReasonSteady, true, false},
		"busy":                    {1, 0, scaling.Measured(1, scaling.Fresh), scaling.ReasonSteady, true, false},
		"not known to be idle":    {1, 0, scaling.Reading{}, scaling.ReasonSteady, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			v := scaling.Variant{Key: key, Bounds: scaling.Bounds{Min: tt.least, Max: 9}, Replicas: scaling.ReplicaCounts{Observed: true, Current: tt.current, Ready: tt.current}}
			s := scaling.Snapshot{Variants: []scaling.Variant{v}, Load: scaling.Load{ArrivalRate: none, GatewayQueue: none}}
			if tt.current > 0 {
				s.Replicas = []scaling.ReplicaSample{{Pod: "p", Variant: key, Ready: true, Running: tt.running, QueueLengthNow: none}}
			}
			fleet := scaling.Fleet{Variants: s.Variants}
			last := memory.Record{Fleet: fleet, Plan: scaling.Plan{Decisions: []scaling.Decision{
				scaling.Decision{Variant: key, Current: tt.current}.Then(scaling.StageRetention, tt.current, tt.reason, ""),
			}}}
			look := Look{Last: last, Fleet: fleet, Snapshots: []scaling.Snapshot{s}, Alone: tt.alone}
			steady := func(memory.Record, scaling.Snapshot) []scaling.Analysis {
				return []scaling.Analysis{{Signal: scaling.Steady}}
			}
			if got := look.Reason(steady); (got != "") != tt.want {
				t.Errorf("got %q, want a reason: %t", got, tt.want)
			}
		})
	}
}
