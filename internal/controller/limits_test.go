package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

func TestALimitIsToldWhenItBegins(t *testing.T) {
	f := newFixture()
	for i, reason := range []scaling.Reason{
		scaling.ReasonSteady, scaling.ReasonNoCandidate, scaling.ReasonNoCandidate, scaling.ReasonAboveMax,
		scaling.ReasonSteady, scaling.ReasonNoCandidate,
	} {
		f.cycle(10*(i+1), 2, 2, reason)
		f.reconcile(t)
	}
	want := []string{
		"Warning Limited limited to 2 replicas: NoCandidate (why); cycle 20",
		"Warning Limited limited to 2 replicas: AboveMax (why); cycle 40",
		"Warning Limited limited to 2 replicas: NoCandidate (why); cycle 60",
	}
	if diff := cmp.Diff(want, f.events.told); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if f.objects.writes != 1 {
		t.Errorf("got %d writes, want the first one: a limit is no change of a decision", f.objects.writes)
	}
}

func TestTheStepNearestToTheDecisionLimitsIt(t *testing.T) {
	d := scaling.Decision{Current: 9}
	tests := map[string]struct {
		decision scaling.Decision
		want     scaling.Reason
	}{
		"no step":                       {d, ""},
		"free":                          {d.Then(scaling.StageOptimize, 10, scaling.ReasonSaturated, ""), ""},
		"raised to min":                 {d.Then(scaling.StageBounds, 10, scaling.ReasonBelowMin, ""), ""},
		"cut to max":                    {d.Then(scaling.StageOptimize, 10, scaling.ReasonSaturated, "").Then(scaling.StageBounds, 5, scaling.ReasonAboveMax, ""), scaling.ReasonAboveMax},
		"no variant can grow":           {d.Then(scaling.StageOptimize, 9, scaling.ReasonNoCandidate, ""), scaling.ReasonNoCandidate},
		"both, bounds later":            {d.Then(scaling.StageOptimize, 9, scaling.ReasonNoCandidate, "").Then(scaling.StageBounds, 5, scaling.ReasonAboveMax, ""), scaling.ReasonAboveMax},
		"no accelerator is left":        {d.Then(scaling.StageOptimize, 10, scaling.ReasonDemand, "").Then(scaling.StageCapacity, 9, scaling.ReasonNoStock, ""), scaling.ReasonNoStock},
		"the quota is used up":          {d.Then(scaling.StageOptimize, 10, scaling.ReasonDemand, "").Then(scaling.StageCapacity, 9, scaling.ReasonOverQuota, ""), scaling.ReasonOverQuota},
		"what is left is unknown":       {d.Then(scaling.StageOptimize, 10, scaling.ReasonDemand, "").Then(scaling.StageCapacity, 9, scaling.ReasonInventoryUnknown, ""), scaling.ReasonInventoryUnknown},
		"what was borrowed is returned": {d.Then(scaling.StageCapacity, 7, scaling.ReasonReturned, ""), scaling.ReasonReturned},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got, limited := explain.Bound(tt.decision); got.Reason != tt.want || limited != (tt.want != "") {
				t.Errorf("got %q, limited %t; want %q", got.Reason, limited, tt.want)
			}
		})
	}
}

func TestWhatWasToldOfDeletedObjectsIsForgotten(t *testing.T) {
	var l lastReported[scaling.Reason]
	gone := scaling.VariantKey{Namespace: "n", Name: "gone"}
	for _, key := range []scaling.VariantKey{keyV, gone} {
		if !l.begins(key, scaling.ReasonAboveMax) || l.begins(key, scaling.ReasonAboveMax) {
			t.Errorf("%s: the beginning is not told once", key)
		}
	}
	l.forget([]client.ObjectKey{{Namespace: "n", Name: "v"}})
	if l.begins(keyV, scaling.ReasonAboveMax) || !l.begins(gone, scaling.ReasonAboveMax) {
		t.Error("want the deleted object forgotten and the other not")
	}
}
