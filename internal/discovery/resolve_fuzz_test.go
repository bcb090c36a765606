package discovery

import (
	"math"
	"strings"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// FuzzProfile reads whatever stands in the coefficients of a profile: they are
// numbers that can be reckoned with, or there is a problem.
func FuzzProfile(f *testing.F) {
	for _, text := range []string{"0.5", "-1", "NaN", "1e999", "0x1p-2", " 7 ", "", "fast", "1_0"} {
		f.Add(text, "1", int32(4))
	}
	f.Add(strings.Repeat("x", 1<<20), "1", int32(1<<20))
	f.Fuzz(func(t *testing.T, alpha, delta string, batch int32) {
		spec := v1alpha1.VariantAutoscalingSpec{VariantProfile: &v1alpha1.VariantProfile{MaxBatchSize: &batch, PerfParms: parms(alpha, "2", "3", delta)}}
		p := profile(spec, "A100", 1)
		if p.MaxBatchSize < 0 || p.MaxBatchSize > scaling.MostBatch || len(p.Problem) > 512 {
			t.Errorf("a batch of %d", p.MaxBatchSize)
		}
		for _, c := range []float64{p.Alpha, p.Beta, p.Gamma, p.Delta} {
			if math.IsNaN(c) || math.IsInf(c, 0) || c < 0 {
				t.Errorf("%q and %q give %+v", alpha, delta, p)
			}
		}
		if p.Usable() && p.Beta != 2 || !p.Usable() && (p.Problem == "" || p.Beta != 0) {
			t.Errorf("%q and %q give %+v", alpha, delta, p)
		}
	})
}

// FuzzCost reads whatever stands in variantCost: the cost of a replica is a number
// that can be reckoned with.
func FuzzCost(f *testing.F) {
	for _, text := range []string{"10", "10.0", "0", "-1", "NaN", "Inf", "1e400", "", "0x10", "ten"} {
		f.Add(text, 2)
	}
	unit := UnitCost(func(_, accelerator string) (float64, bool) { return 3, accelerator == "A100" })
	f.Fuzz(func(t *testing.T, variantCost string, gpus int) {
		cost, source := unit.ofReplica(variantCost, "ns", "A100", scaling.Accelerators(max(gpus, 1)))
		if math.IsNaN(cost) || math.IsInf(cost, 0) || cost < 0 {
			t.Errorf("%q gives %g from %q", variantCost, cost, source)
		}
	})
}
