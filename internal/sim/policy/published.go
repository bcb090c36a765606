package policy

import (
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// inSeries carries out a policy through an HPA that reads the wanted replicas as an External metric
// with an average of 1: the HPA applies its tolerance, its windows and its limits to them.
type inSeries struct {
	law    Autoscaler
	hpa    *hpaPolicy
	wanted map[scaling.VariantKey]Target
}

var _ Autoscaler = (*inSeries)(nil)

func newSeries(law Autoscaler, behavior *Behavior, tolerance float64) *inSeries {
	s := &inSeries{law: law, wanted: map[scaling.VariantKey]Target{}}
	p := DefaultHPAParams(1)
	p.Sync, p.Tolerance = law.Interval(), tolerance
	s.hpa = newHPA(p, metric{
		name: "desired replicas", target: fixed(1),
		total: func(_ time.Time, _ Observation, v Variant) scaling.Reading {
			return scaling.Measured(float64(s.wanted[v.Key].Replicas), scaling.Fresh)
		},
	})
	s.hpa.behavior = behavior
	return s
}

func (s *inSeries) Interval() time.Duration { return s.law.Interval() }

func (s *inSeries) Decide(now time.Time, in Observation) []Target {
	for _, t := range s.law.Decide(now, in) {
		s.wanted[t.Variant] = t
	}
	return each(in, func(v Variant) (scaling.Replicas, string) {
		n, why := s.hpa.reconcile(now, in, v)
		return n, s.wanted[v.Key].Reason + "; " + why
	})
}

// publishedBehavior returns the behavior of the HPA in the published benchmark: 10 pods in 150 s
// both ways, down after 240 s.
func publishedBehavior() *Behavior {
	tenPods := []Limit{{Value: 10, Period: 150 * time.Second}}
	return &Behavior{Up: Rules{Policies: tenPods}, Down: Rules{Window: 240 * time.Second, Policies: tenPods}}
}

// byCost returns the variants sorted by cost, the cheapest first, ties by key.
func byCost(variants []Variant) []Variant {
	out := slices.Clone(variants)
	slices.SortFunc(out, cheaper)
	return out
}
