package model

import (
	"math"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// TestSurplusIsWhatNoDemandNeeded: replicas that serve 100 requests/s.
func TestSurplusIsWhatNoDemandNeeded(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		peak   float64       // requests/s, the largest of the past
		since  time.Duration // for which demands were seen
		signal scaling.Signal
		unit   scaling.Unit
		supply float64
		want   float64 // part of the replicas
	}{
		"four tenths of them carry the peak": {40, time.Hour, scaling.Shrink, scaling.UnitRequestRate, 100, 0.2},
		"more than the peak was served":      {80, time.Hour, scaling.Shrink, scaling.UnitRequestRate, 100, 0},
		"half of them carries the peak":      {50, time.Hour, scaling.Shrink, scaling.UnitRequestRate, 100, 0},
		"the peak needs almost nothing":      {1, time.Hour, scaling.Shrink, scaling.UnitRequestRate, 100, surplusMost},
		"too short a time was seen":          {1, 9 * time.Minute, scaling.Shrink, scaling.UnitRequestRate, 100, 0},
		"no reduction is wanted":             {1, time.Hour, scaling.Steady, scaling.UnitRequestRate, 100, 0},
		"the analysis is in another unit":    {1, time.Hour, scaling.Shrink, scaling.UnitTokens, 100, 0},
		"what the replicas serve is unknown": {1, time.Hour, scaling.Shrink, scaling.UnitRequestRate, 0, 0},
	} {
		var peaks memory.Peaks
		for ago := tt.since; ago >= 0; ago -= time.Minute {
			peaks = peaks.Then(tt.peak, scaling.UnitRequestRate, now.Add(-ago))
		}
		a := scaling.Analysis{Signal: tt.signal, Unit: tt.unit, Demand: 1, Supply: tt.supply}
		if got := surplus(a, peaks); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("%s: the surplus is %g, want %g", name, got, tt.want)
		}
	}
}
