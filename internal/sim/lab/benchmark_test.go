package lab

import (
	"math"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/simtest"
)

// TestBenchmarkOfALoadThatNobodyServesWhole: a twentieth of the requests is longer
// than the KV cache. What a replica can do for the others is measured all the same.
func TestBenchmarkOfALoadThatNobodyServesWhole(t *testing.T) {
	s := slowed(testScenario(t, "constant(4,10m)"), 8)
	s.Workload = Generator(simtest.Rates(t, "constant(4,10m)"), simtest.Lengths(t, 160, 40)) // tokens are what takes time
	s.Models[0].Spec.SLO.Attainment = 0.97
	f, err := fit(t.Context(), s, look{seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	b := bench{variant: s.Models[0].Spec.Variants[0], slo: s.Models[0].Spec.SLO, sample: f.survey.sample, mean: f.survey.Lengths, replicas: 4}
	whole, err := b.measure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range b.sample {
		if i%20 == 0 {
			b.sample[i].InputTokens = 1_000_000
		}
	}
	part, err := b.measure(t.Context())
	// The rest, nineteen of twenty, is what takes time.
	if err != nil || part.Rate < 0.8*whole.Rate || part.Rate > 1.3*whole.Rate {
		t.Errorf("got %.3g requests/s, %v, want about the %.3g of the load without the long ones", part.Rate, err, whole.Rate)
	}
	b.slo.TTFT = 1 // ms: nobody meets that
	if none, err := b.measure(t.Context()); err != nil || none.Rate != 0 {
		t.Errorf("got %.3g requests/s, %v, want none where no objective can be met", none.Rate, err)
	}
}

// TestBenchmarkIsOfTheFleetThatTheWorkloadNeeds: one replica alone carries less than each
// of many, and what is measured is what each carries of as many as the peak calls for.
func TestBenchmarkIsOfTheFleetThatTheWorkloadNeeds(t *testing.T) {
	s := slowed(testScenario(t, "constant(4,10m)"), 8)
	s.Workload = Generator(simtest.Rates(t, "constant(4,10m)"), simtest.Lengths(t, 160, 40))
	f, err := fit(t.Context(), s, look{seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	b := bench{variant: s.Models[0].Spec.Variants[0], slo: s.Models[0].Spec.SLO, sample: f.survey.sample, mean: f.survey.Lengths}
	last := 0.0
	for _, peak := range []float64{1, 30, 1e6} { // requests/s
		m, err := b.ofFleet(t.Context(), peak)
		if err != nil {
			t.Fatal(err)
		}
		need := min(16, math.Ceil(peak/m.Rate)) // 16 is the maximum of the variant
		if math.Abs(need-float64(m.Replicas)) > 1 || m.Rate < last {
			t.Errorf("%g requests/s: measured %g requests/s of each of %d replicas, %g are needed and fewer carry %g each", peak, m.Rate, m.Replicas, need, last)
		}
		last = m.Rate
	}
	if one, err := b.ofFleet(t.Context(), 1); err != nil || one.Replicas > 2 || one.Rate > 0.9*last {
		t.Errorf("%d replicas carry %g each, %v: want one or two, and less than 0.9 of %g", one.Replicas, one.Rate, err, last)
	}
}
