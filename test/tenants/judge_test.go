package tenants

import (
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Without the hostile namespace a model was given two replicas on one variant, which its
// target did not follow, and then two on another in their place.
func TestAnOrderThatWasReplacedIsDueOnce(t *testing.T) {
	at := func(name string, from, to int, reason scaling.Reason) scaling.Decision {
		return scaling.Decision{
			Variant: scaling.VariantKey{Namespace: honestNamespace(0), Name: name}, Current: scaling.Replicas(from),
		}.Then(scaling.StageOptimize, scaling.Replicas(to), reason, "")
	}
	var base outcome
	for n := range turns {
		base.decisions[n] = []scaling.Decision{at("a", 14, 16, scaling.ReasonTargetNotMoving), at("b", 1, 3, scaling.ReasonDemand)}
	}
	for _, grown := range []int{0, 1, 2} {
		got := base
		for n := range turns {
			got.decisions[n] = []scaling.Decision{at("a", 14, 14+grown, scaling.ReasonDemand), at("b", 1, 1, scaling.ReasonOtherVariant)}
		}
		violations := base.contest(Case{Honest: fewHonest, Stock: StockQuota}, got)
		if suffices := grown == 2; (len(violations) == 0) != suffices {
			t.Errorf("%d of 2 replicas granted: got %v, want a violation unless all are", grown, violations)
		}
	}
}
