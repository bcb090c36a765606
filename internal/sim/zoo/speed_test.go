package zoo

import (
	"math"
	"slices"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/lab"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// measurements keep what the lab measures of a replica.
type measurements map[scaling.VariantKey]lab.Measured

func (m measurements) Known(_ string, v scaling.VariantKey) (lab.Measured, bool) {
	one, ok := m[v]
	return one, ok
}

func (m measurements) Keep(_ string, v scaling.VariantKey, one lab.Measured) { m[v] = one }

// TestSpeedIsNearTheBenchmark compares the estimate with what the lab measures of the
// first variant in cases with both objectives and few replicas.
func TestSpeedIsNearTheBenchmark(t *testing.T) {
	s := stock(t)
	s.Requests = 2000
	var ratios []float64
	for i := 0; len(ratios) < 3; i++ {
		c := Draw(11, i, s)
		if len(c.Models) > 1 || c.Models[0].ITL == 0 || c.Models[0].TTFT == 0 || c.Drawn.Constant || c.Drawn.Replicas > 4 {
			continue
		}
		scenario, err := c.Scenario(s)
		if err != nil {
			t.Fatal(err)
		}
		m := &scenario.Models[0]
		m.Spec.Variants = m.Spec.Variants[:1]
		m.Spec.Routing = 0
		known := measurements{}
		plan := lab.Plan{Scenarios: []lab.Scenario{scenario}, Choices: []lab.Choice{{Name: "hpa-rate", Params: map[string]string{"share": "1"}}}, Seeds: []uint64{1}, Tune: true}
		if _, err := lab.Execute(t.Context(), plan, lab.Options{Benchmarks: known}); err != nil {
			t.Fatal(err)
		}
		first := m.Spec.Variants[0]
		l := formLengths(t, s, c)
		itl := float64(c.Models[0].ITL.Microseconds()) / 1000
		speed := Speed(first.Profile, l, itl, 1.65)
		ratios = append(ratios, math.Abs(math.Log(speed/known[first.Spec.Key].Rate)))
	}
	slices.Sort(ratios)
	if middle, worst := ratios[len(ratios)/2], ratios[len(ratios)-1]; middle > math.Log(2) || worst > math.Log(4) {
		t.Errorf("half of the estimates are off by a factor of %.2f or more, one by %.2f, want 2 and 4", math.Exp(middle), math.Exp(worst))
	}
}

// formLengths returns the lengths of the requests of a case, as they come.
func formLengths(t *testing.T, s Stock, c Case) Lengths {
	t.Helper()
	scenario, err := c.Scenario(s)
	if err != nil {
		t.Fatal(err)
	}
	var all []workload.Request
	for request, err := range scenario.Workload.Open(1) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, request)
	}
	return lengthsOf(all)
}

// TestSpeedAtItsLimits compares the estimate with closed forms.
func TestSpeedAtItsLimits(t *testing.T) {
	p := stock(t).Replicas[0].Profile
	p.GammaMS, p.DeltaMS = 0, 1e-9
	short := Lengths{Input: 100, Output: 200}
	// Without prefills a full batch of 256 takes alpha + 256 beta for a token of each.
	if got, want := Speed(p, short, math.Inf(1), 0), 256/(200*(18+0.05*256)/1000); math.Abs(got/want-1) > 0.01 {
		t.Errorf("a full batch: %g requests/s, want %g", got, want)
	}
	// A KV cache for 40 of them is the limit where it is smaller.
	p.KVCacheTokens = 10_000
	if got, want := Speed(p, short, math.Inf(1), 0), 40/(200*(18+0.05*40)/1000); math.Abs(got/want-1) > 0.01 {
		t.Errorf("a full KV cache: %g requests/s, want %g", got, want)
	}
	if got := Speed(p, short, 17, 0); got != 0 && got > 1e-6 {
		t.Errorf("an ITL below that of an empty batch: %g requests/s", got)
	}
	// Prompts alone: 80 % of the time.
	p.DeltaMS = 10
	if got, want := Speed(p, Lengths{Input: 100, Output: 1}, math.Inf(1), 0), 0.8; math.Abs(got/want-1) > 0.05 {
		t.Errorf("prefills: %g requests/s, want %g", got, want)
	}
}
