package queueing

import (
	"strings"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// TestAVariantThatMissesTheObjectivesServesOnlyAsALastResort: of two variants one keeps the ITL, and
// more arrives than it serves at its maximum.
func TestAVariantThatMissesTheObjectivesServesOnlyAsALastResort(t *testing.T) {
	slow := scaling.Profile{Source: "variantProfile", Alpha: 50, Beta: 0.1, Gamma: 5, MaxBatchSize: 8}
	look := func(rate float64, waiting float64, current, most scaling.Replicas, since time.Duration) scaling.Analysis {
		fast := variant("fast", a100, current)
		fast.Bounds.Max = most
		other := variant("slow", slow, 1)
		other.Bounds.Max = 9
		s := snapshot(rate, fast, other)
		waits(&s, int(current), waiting)
		m := Memory{Interval: time.Minute, Backlog: memory.Backlog{Waiting: waiting * float64(current), At: at, StandsSince: at.Add(-since)}}
		return Analyze(s, objective, Default(), m)
	}
	of := func(a scaling.Analysis) scaling.Capacity { return a.Variants[1] }
	for name, tt := range map[string]struct {
		a    scaling.Analysis
		want bool
	}{
		"the others are at their maximum and requests wait": {look(60, 40, 3, 3, 2*time.Minute), true},
		"the others may grow":                               {look(60, 40, 3, 4, 2*time.Minute), false},
		"the others may grow and do not":                    {look(60, 40, 3, 4, 11*time.Minute), true},
		"the others serve what arrives":                     {look(1, 40, 3, 3, 2*time.Minute), false},
		"no request waits":                                  {look(60, 0, 3, 3, 2*time.Minute), false},
		"the queue is new":                                  {look(60, 40, 3, 3, 0), false},
	} {
		got := of(tt.a)
		if (got.PerReplica > 0) != tt.want || got.Fixed == tt.want || strings.Contains(tt.a.Detail, "that miss the objectives: slow") != tt.want {
			t.Errorf("%s: a replica serves %g requests/s, fixed %t (%s), %q; want it to serve: %t", name, got.PerReplica, got.Fixed, got.Source, tt.a.Detail, tt.want)
		}
	}
}

// TestObjectivesOutOfReachAreThoseOfTheNearestVariant: both variants miss an ITL of 40 ms, one by a
// quarter, the other by a factor of five.
func TestObjectivesOutOfReachAreThoseOfTheNearestVariant(t *testing.T) {
	near := scaling.Profile{Source: "variantProfile", Alpha: 50, Beta: 0.1, Gamma: 5, MaxBatchSize: 8}
	far := scaling.Profile{Source: "variantProfile", Alpha: 200, Beta: 0.1, Gamma: 5, MaxBatchSize: 64}
	a := Analyze(snapshot(3, variant("far", far, 1), variant("near", near, 1)), objective, Default(), Memory{})
	if got := a.Variants[0]; got.PerReplica != 0 || !got.Fixed {
		t.Errorf("the far one serves %g requests/s, fixed %t (%s), want none", got.PerReplica, got.Fixed, got.Source)
	}
	if got := a.Variants[1]; got.PerReplica == 0 || got.Fixed || !strings.Contains(got.Source, "sized to a tenth above the best possible") {
		t.Errorf("the near one serves %g requests/s, fixed %t (%s), want some", got.PerReplica, got.Fixed, got.Source)
	}
	if a.Reason != scaling.ReasonObjectiveInfeasible || len(a.Infeasible) != 2 {
		t.Errorf("reason %s, infeasible %v, want both named", a.Reason, a.Infeasible)
	}
}
