package lab

import (
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/simtest"
)

// TestBenchmarkOfALoadThatNoPolicyServesWhole: a twentieth of the requests is longer
// than the KV cache. What a replica can do for the others is measured all the same.
func TestBenchmarkOfALoadThatNoPolicyServesWhole(t *testing.T) {
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
	b.slo.TTFT = 1 // ms: no replica meets that
	if none, err := b.measure(t.Context()); err != nil || none.Rate != 0 {
		t.Errorf("got %.3g requests/s, %v, want none where no objective can be met", none.Rate, err)
	}
}
