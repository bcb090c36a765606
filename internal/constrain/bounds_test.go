package constrain

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

func TestBounds(t *testing.T) {
	key := scaling.VariantKey{Namespace: "ns", Name: "v"}
	tests := []struct {
		name   string
		target int
		bounds scaling.Bounds
		want   []scaling.Step
	}{
		{"within is left alone", 3, scaling.Bounds{Min: 2, Max: 4}, nil},
		{"at the maximum is left alone", 4, scaling.Bounds{Min: 2, Max: 4}, nil},
		{
			"below the minimum is raised", 0,
			scaling.Bounds{Min: 2, Max: math.MaxInt},
			[]scaling.Step{{Stage: scaling.StageBounds, From: 0, To: 2, Reason: scaling.ReasonBelowMin, Detail: "minReplicas is 2"}},
		},
		{
			"above the maximum is cut", 5,
			scaling.Bounds{Min: 2, Max: 4},
			[]scaling.Step{{Stage: scaling.StageBounds, From: 5, To: 4, Reason: scaling.ReasonAboveMax, Detail: "maxReplicas is 4"}},
		},
		{
			"the maximum wins where the two contradict each other", 3,
			scaling.Bounds{Min: 5, Max: 2},
			[]scaling.Step{{Stage: scaling.StageBounds, From: 3, To: 2, Reason: scaling.ReasonAboveMax, Detail: "maxReplicas is 2"}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			plan := scaling.Plan{Decisions: []scaling.Decision{{Variant: key, Current: tt.target}}}
			in := Input{Variants: map[scaling.VariantKey]scaling.Variant{key: {Key: key, Bounds: tt.bounds}}}
			if diff := cmp.Diff(tt.want, Apply(in, plan).Decisions[0].Steps); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if len(plan.Decisions[0].Steps) != 0 {
				t.Error("the plan given was modified")
			}
		})
	}
}
