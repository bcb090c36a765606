package saturation

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// TestPeaksCountForLessWhereMoreMeetTheObjectives: two caches of 50,000 tokens are filled to 80 % at
// their peaks. A mean request holds 1100 tokens.
func TestPeaksCountForLessWhereMoreMeetTheObjectives(t *testing.T) {
	fresh := func(v float64) scaling.Reading { return scaling.Measured(v, scaling.Fresh) }
	for _, tc := range []struct {
		name   string
		times  float64
		now    float64 // KV cache usage at the last scrape
		change func(*scaling.Snapshot)
		want   float64 // KV cache usage that counts
	}{
		{"no surplus", 1, 0.2, nil, 0.8},
		{"a surplus", 1.6, 0.2, nil, 0.5},
		{"not less than by Little's law", 1.6, 0.2, func(s *scaling.Snapshot) { s.Load.ArrivalRate = fresh(6) }, 0.66}, // 6 x 200 x 0.05 x 1100 of 100,000
		{"a burst at the last scrape", 1.6, 0.8, nil, 0.8 - 0.8*1.3/math.Sqrt(50)},
		{"a fuller cache than chance explains", 1.1, 0.8, nil, 0.8 / 1.1},
		{"few requests fill a cache", 1.6, 0.2, func(s *scaling.Snapshot) { s.Replicas[1].KVCapacity = fresh(16_000) }, 0.8},
		{"arrivals are unknown", 1.6, 0.2, func(s *scaling.Snapshot) { s.Load.ArrivalRate = scaling.Reading{} }, 0.8},
		{"a replica is new", 1.6, 0.2, func(s *scaling.Snapshot) { s.Variants[0].Replicas.NewestReady = goldenNow.Add(-time.Second) }, 0.8},
	} {
		s := tokenSnapshot(0.8, 0, 2)
		s.Load.ArrivalRate, s.Load.ITL = fresh(1), fresh(50)
		for i := range s.Replicas {
			r := &s.Replicas[i]
			r.KVCapacity, r.KVCacheUsageNow, r.Running = fresh(50_000), fresh(tc.now), fresh(25)
		}
		if tc.change != nil {
			tc.change(&s)
		}
		got, why := Eased(s, DefaultTokens(), time.Minute, tc.times)
		if usage := got.Replicas[0].KVCacheUsage.Value; math.Abs(usage-tc.want) > 1e-9 {
			t.Errorf("%s: the peak counts as %g, want %g", tc.name, usage, tc.want)
		}
		if less := tc.want < 0.8; less != strings.Contains(why, "peaks of the KV caches count for") {
			t.Errorf("%s: says %q", tc.name, why)
		}
		if s.Replicas[0].KVCacheUsage.Value != 0.8 {
			t.Errorf("%s: the Snapshot itself was changed", tc.name)
		}
	}
}
