package memory

import (
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

func TestAnUnreadTargetCountsForFiveMinutes(t *testing.T) {
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	v := scaling.Variant{Key: scaling.VariantKey{Namespace: "ns", Name: "a"}}
	past := Past{Desired: 2, DecidedAt: start.Add(-time.Hour)}
	for _, step := range []struct {
		name     string
		at       time.Duration
		seen     bool
		mayServe bool
	}{
		{"not seen for the first time", 0, false, true},
		{"almost five minutes later", 5*time.Minute - time.Second, false, true},
		{"five minutes later", 5 * time.Minute, false, false},
		{"an hour later", time.Hour, false, false},
		{"a pod of it is Ready", time.Hour + time.Minute, true, true},
		{"not seen again: the time begins anew", time.Hour + 2*time.Minute, false, true},
		{"and is over", time.Hour + 7*time.Minute, false, false},
	} {
		now := start.Add(step.at)
		past = past.See(step.seen, now)
		h := History{v.Key: past}
		if h.MayServe(v, now) != step.mayServe || h.Absent(v, now) == step.mayServe {
			t.Errorf("%s: may serve %t, absent %t, want %t and %t", step.name, h.MayServe(v, now), h.Absent(v, now), step.mayServe, !step.mayServe)
		}
	}
}

func TestWhoMayServe(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		variant  scaling.Variant
		past     Past
		mayServe bool
		absent   bool
	}{
		"a Ready replica":           {scaling.Variant{Replicas: scaling.ReplicaCounts{Observed: true, Current: 2, Ready: 1}}, Past{}, true, false},
		"one that starts":           {scaling.Variant{Replicas: scaling.ReplicaCounts{Observed: true, Current: 1, Pending: 1}}, Past{Desired: 1}, false, false},
		"unread, decided for one":   {scaling.Variant{}, Past{Desired: 1}, true, false},
		"unread, decided for none":  {scaling.Variant{}, Past{}, false, false},
		"gone, decided for one":     {scaling.Variant{Gone: true}, Past{Desired: 1}, false, true},
		"gone, and unread just now": {scaling.Variant{Gone: true}, Past{Desired: 1, UnseenSince: now}, false, true},
		"read again after an hour":  {scaling.Variant{Replicas: scaling.ReplicaCounts{Observed: true}}, Past{Desired: 1, UnseenSince: now.Add(-time.Hour)}, false, false},
	} {
		h := History{tt.variant.Key: tt.past}
		if got := h.MayServe(tt.variant, now); got != tt.mayServe {
			t.Errorf("%s: may serve %t, want %t", name, got, tt.mayServe)
		}
		if got := h.Absent(tt.variant, now); got != tt.absent {
			t.Errorf("%s: absent %t, want %t", name, got, tt.absent)
		}
	}
}

// TestAGoneTargetKeepsNothingFromBeingIdle: a deleted target is known to have no replica.
func TestAGoneTargetKeepsNothingFromBeingIdle(t *testing.T) {
	s := scaling.Snapshot{
		Variants: []scaling.Variant{{Key: scaling.VariantKey{Namespace: "ns", Name: "a"}, Missing: "not found"}},
		Load:     scaling.Load{ArrivalRate: scaling.Measured(0, scaling.Fresh), GatewayQueue: scaling.Measured(0, scaling.Fresh)},
	}
	if life, detail := lifeOf(s); life != scaling.LifeUnknown {
		t.Errorf("with a target that cannot be read it is %q (%s), want not known", life, detail)
	}
	s.Variants[0].Gone = true
	if life, detail := lifeOf(s); life != scaling.LifeIdle {
		t.Errorf("with a target that does not exist it is %q (%s), want idle", life, detail)
	}
	if !atZero(s.Variants) {
		t.Error("with no target that exists it is not at zero")
	}
}
