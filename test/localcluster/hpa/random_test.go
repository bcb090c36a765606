package hpa

import (
	"math/rand/v2"
	"strings"
)

// newSequence draws the object of a sequence.
func newSequence(rng *rand.Rand) *Sequence {
	s := &Sequence{Min: 1 + rng.Int32N(3)}
	s.Max = s.Min + rng.Int32N(40)
	if rng.IntN(5) > 0 {
		s.Up, s.Down = newRules(rng), newRules(rng)
	}
	kinds := []string{"AverageValue", "Value", "Pods"}
	for range 1 + rng.IntN(8)/6 {
		s.Metrics = append(s.Metrics, Metric{Kind: kinds[rng.IntN(3)], Target: 1 + rng.Int64N(40)*25})
	}
	s.replicas = s.Min + rng.Int32N(s.Max-s.Min+1)
	return s
}

func newRules(rng *rand.Rand) *Rules {
	r := &Rules{
		Window: 15 * rng.Int32N(2) * rng.Int32N(6), Select: []string{"Max", "Max", "Min", "Disabled"}[rng.IntN(4)],
		Tolerance: []int64{-1, -1, 0, 50, 100, 300}[rng.IntN(6)],
	}
	if r.Select == "Disabled" && rng.IntN(3) > 0 {
		r.Select = "Max"
	}
	for range 1 + rng.IntN(3) {
		r.Policies = append(r.Policies, ScalingPolicy{
			Percent: rng.IntN(2) == 0, Value: 1 + rng.Int32N(6), Period: 15 * (1 + rng.Int32N(6)),
		})
		if p := &r.Policies[len(r.Policies)-1]; p.Percent {
			p.Value *= 20
		}
	}
	return r
}

// next draws what the controller will read at its next sync.
func (s *Sequence) next(rng *rand.Rand) *Sync {
	if rng.IntN(40) == 0 { // a user scales by hand
		s.replicas = rng.Int32N(s.Max + 3)
	}
	now := Sync{Spec: s.replicas, Status: s.replicas}
	if rng.IntN(12) == 0 { // a rollout, or a controller that lags
		now.Status = max(1, s.replicas+rng.Int32N(5)-2)
	}
	var pods strings.Builder
	for range now.Status {
		pods.WriteByte("rrrrrrrrrrrrrrrrsssp"[rng.IntN(20)])
	}
	now.Pods = pods.String()
	// The load of most sequences is around the target, so that the tolerance matters.
	if rng.IntN(4) == 0 || len(s.Syncs) == 0 {
		s.load = []float64{0, 0.3, 0.7, 0.85, 0.9, 1, 1.1, 1.15, 1.5, 2.5, 10}[rng.IntN(11)]
	}
	for _, m := range s.Metrics {
		now.Values = append(now.Values, m.values(rng, s.load, now))
	}
	s.Syncs = append(s.Syncs, now)
	return &s.Syncs[len(s.Syncs)-1]
}

// values draws the values of a metric for a load, a ratio of its target.
func (m Metric) values(rng *rand.Rand, load float64, now Sync) []int64 {
	missing := rng.IntN(15) == 0
	if m.Kind != "Pods" {
		if missing {
			return []int64{-1}
		}
		if m.Kind == "AverageValue" {
			load *= float64(now.Status)
		}
		return []int64{int64(load*float64(m.Target)) + rng.Int64N(3)}
	}
	gaps := rng.IntN(3) // of three sequences one has pods without a value, and a few
	out := make([]int64, len(now.Pods))
	for i := range out {
		out[i] = int64(load*float64(m.Target)) + rng.Int64N(2)*m.Target/8
		if missing || gaps == 0 && rng.IntN(4) == 0 || now.Pods[i] == 's' && rng.IntN(2) == 0 {
			out[i] = -1
		}
	}
	return out
}
