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
		target scaling.Replicas
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

func TestAHeldVariantIsNotReducedAndAScalerRaisesItself(t *testing.T) {
	for _, tt := range []struct {
		origin        string
		desired, want scaling.Replicas
	}{
		{"", 5, 5}, {"", 0, 2}, {scaling.KindHPA, 5, 5}, {scaling.KindHPA, 0, 0},
	} {
		v := scaling.Variant{Key: scaling.VariantKey{Name: "v"}, Origin: tt.origin, Undecidable: "it has two scalers", Bounds: scaling.Bounds{Min: 2, Max: 4}}
		in := Input{Variants: map[scaling.VariantKey]scaling.Variant{v.Key: v}}
		got := Bounds(in, scaling.Plan{Decisions: []scaling.Decision{{Variant: v.Key, Current: tt.desired}}}).Decisions[0].Target()
		if got != tt.want {
			t.Errorf("origin %q: %d replicas are bounded to %d, want %d", tt.origin, tt.desired, got, tt.want)
		}
	}
}

// TestGoldenBounds holds the recorded cases of the published version.
func TestGoldenBounds(t *testing.T) {
	key := scaling.VariantKey{Namespace: "ns", Name: "v"}
	tests := []struct {
		id            string
		desired, want scaling.Replicas
		bounds        scaling.Bounds
	}{
		{"SC-bounds-019", 0, 2, scaling.Bounds{Min: 2, Max: math.MaxInt}},
		{"SC-bounds-020", 5, 4, scaling.Bounds{Min: 2, Max: 4}},
		{"SC-bounds-021", 3, 3, scaling.Bounds{Min: 2, Max: 4}},
		{"SC-bounds-022", 4, 4, scaling.Bounds{Min: 2, Max: 4}},
		{"SC-bounds-024", 7, 7, scaling.Bounds{Max: 7}},
		{"SC-bounds-025", -1, 0, scaling.Bounds{Max: math.MaxInt}},
	}
	for _, tt := range tests {
		t.Run(tt.id, func(t *testing.T) {
			d := scaling.Decision{Variant: key}.Then(scaling.StageOptimize, tt.desired, "Asked", "it was asked for")
			in := Input{Variants: map[scaling.VariantKey]scaling.Variant{key: {Key: key, Bounds: tt.bounds}}}
			if got := Bounds(in, scaling.Plan{Decisions: []scaling.Decision{d}}).Decisions[0]; got.Target() != tt.want {
				t.Errorf("got %d replicas, want %d: %+v", got.Target(), tt.want, got.Steps)
			}
		})
	}
}
