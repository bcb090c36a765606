package queueing

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

func TestALoadThatRisesHasHeadroom(t *testing.T) {
	steady := func(startUp time.Duration, rose time.Duration) (scaling.Snapshot, Memory) {
		snap, past := arriving(10, 10, 10, 10)
		for i := range snap.Variants {
			snap.Variants[i].StartUp = startUp
		}
		if rose > 0 {
			past.Traffic.Rose = snap.At.Add(-rose)
		}
		return snap, past
	}
	for name, test := range map[string]struct {
		startUp, rose time.Duration
		want          float64 // requests/s
	}{
		"never rose":                {10 * time.Minute, 0, 10},
		"rose an hour ago":          {3*time.Minute + 45*time.Second, time.Hour, 11.5}, // lead: 3m45s, the cycle and the scaler are 5 minutes
		"a long start-up is capped": {30 * time.Minute, time.Hour, 13},
		"a start-up of no length":   {0, time.Hour, 10},
		"rose longer ago":           {10 * time.Minute, 61 * time.Minute, 10},
	} {
		snap, past := steady(test.startUp, test.rose)
		a := Analyze(snap, objective, Default(), past)
		if math.Abs(a.Demand-test.want) > 1e-9 {
			t.Errorf("%s: demand %g, want %g: %s", name, a.Demand, test.want, a.Detail)
		}
		if says := strings.Contains(a.Detail, "with headroom of"); says != (test.want > 10) {
			t.Errorf("%s: got %q", name, a.Detail)
		}
	}
}

func TestATrendThatAsksForMoreThanTheHeadroomBinds(t *testing.T) {
	snap, past := arriving(4, 6, 8, 10)
	past.Traffic.Rose = snap.At
	a := Analyze(snap, objective, Default(), past)
	if f := Look(snap, past); a.Demand != f.Rate || !strings.Contains(a.Detail, "are expected in") {
		t.Errorf("demand %g, forecast %+v: %s", a.Demand, f, a.Detail)
	}
}
