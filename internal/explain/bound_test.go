package explain

import (
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

func TestWhatHoldsGrowthIsNamed(t *testing.T) {
	optimized := func(to scaling.Replicas, reason scaling.Reason) scaling.Decision {
		return scaling.Decision{Current: 4}.Then(scaling.StageOptimize, to, reason, "")
	}
	wanted := optimized(6, scaling.ReasonSaturated)
	for name, tt := range map[string]struct {
		decision scaling.Decision
		signal   scaling.Signal
		want     scaling.Reason // "" where growth is not held
	}{
		"growth":       {wanted, scaling.Grow, ""},
		"steady":       {optimized(4, scaling.ReasonSteady), scaling.Steady, ""},
		"a bound":      {wanted.Then(scaling.StageBounds, 4, scaling.ReasonAboveMax, ""), scaling.Grow, scaling.ReasonAboveMax},
		"a part of it": {wanted.Then(scaling.StageCapacity, 5, scaling.ReasonNoStock, ""), scaling.Grow, scaling.ReasonNoStock},
		"the nearest bound": {
			wanted.Then(scaling.StageBounds, 5, scaling.ReasonAboveMax, "").Then(scaling.StageCapacity, 4, scaling.ReasonOverQuota, ""),
			scaling.Grow, scaling.ReasonOverQuota,
		},
		"a lost replica": {
			optimized(4, scaling.ReasonSteady).Then(scaling.StageCapacity, 3, scaling.ReasonNoStock, ""), scaling.Steady,
			scaling.ReasonNoStock,
		},
		"no candidate": {optimized(4, scaling.ReasonNoCandidate), scaling.Grow, scaling.ReasonNoCandidate},
		"at its most":  {optimized(9, scaling.ReasonNoCandidate), scaling.Grow, scaling.ReasonAboveMax},
		"the pace":     {wanted.Then(scaling.StageStabilize, 5, scaling.ReasonStepLimited, ""), scaling.Grow, scaling.ReasonStepLimited},
		"the pace of a reduction": {
			optimized(1, scaling.ReasonSpareCapacity).Then(scaling.StageStabilize, 3, scaling.ReasonStabilizing, ""), scaling.Shrink, "",
		},
		"an order under way":            {optimized(4, scaling.ReasonInTransition), scaling.Grow, scaling.ReasonInTransition},
		"an order that is enough":       {optimized(4, scaling.ReasonInTransition), scaling.Steady, ""},
		"pods that no node takes":       {optimized(4, scaling.ReasonPodsUnschedulable), scaling.Grow, scaling.ReasonPodsUnschedulable},
		"a pause":                       {optimized(4, scaling.ReasonPaused), scaling.Grow, scaling.ReasonPaused},
		"a pause that holds nothing up": {optimized(4, scaling.ReasonPaused), scaling.Steady, ""},
		"another variant grows":         {optimized(4, scaling.ReasonOtherVariant), scaling.Grow, ""},
		"nothing is known":              {optimized(4, scaling.ReasonNoData), scaling.Unknown, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got, held := GrowthHeld(scaling.Variant{Bounds: scaling.Bounds{Max: 9}}, tt.decision, tt.signal); got != tt.want || held != (tt.want != "") {
				t.Errorf("got %q, %t, want %q", got, held, tt.want)
			}
		})
	}
}
