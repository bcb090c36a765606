package profile

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// TestNineOfTenIntervalsHoldTheTruth: replicas keep the law, and their measurements have random
// errors. It holds after five minutes, half an hour and a night.
func TestNineOfTenIntervalsHoldTheTruth(t *testing.T) {
	for name, tt := range map[string]struct {
		minutes int
		off     float64 // relative standard deviation of a measurement
	}{
		"half an hour":          {30, 0.03},
		"half an hour, precise": {30, 0.02},
		"half an hour, noisy":   {30, 0.06},
		"five minutes":          {5, 0.03},
		"a night":               {480, 0.03},
		"a night, noisy":        {480, 0.06},
	} {
		t.Run(name, func(t *testing.T) {
			const draws = 400
			var held, asked [4]float64
			r := rand.New(rand.NewPCG(7, 11))
			for range draws {
				prior := Unknown().step
				truth, x := drawn(r, prior), [3]float64{}
				var f memory.Fit
				for range tt.minutes {
					together := 1 + math.Exp(5*r.Float64())
					x = [3]float64{1, together, together * math.Exp(3*r.Float64())}
					itl := dot(truth, x) * (1 + tt.off*r.NormFloat64())
					add(&f, sample{band: int(math.Log2(together)), step: x, itl: itl}, 1)
				}
				itl := appendITL(nil, f)
				e := prior.estimated(itl)
				for i := range 4 {
					of := [3]float64{}
					if i < 3 {
						of[i] = 1
					} else {
						of = x
					}
					asked[i]++
					in, is := e.at(of), dot(truth, of)
					if i == 3 { // no engine keeps the law more exactly than that at other lengths
						in, is = e.latency(of), is*(1+bent*r.NormFloat64())
					}
					if in.Low <= is && is <= in.High {
						held[i]++
					}
				}
			}
			for i, what := range []string{"a", "b", "d", "the ITL"} {
				if part := held[i] / asked[i]; part < 0.85 || part > 0.95 {
					t.Errorf("%.3f of the intervals of %s hold the truth, want 0.85 to 0.95", part, what)
				}
			}
		})
	}
}

// TestALawThatIsBentIsDoubted: where the mean of a band is off the straight line by more than its
// scatter explains, the intervals grow by that.
func TestALawThatIsBentIsDoubted(t *testing.T) {
	var straight, bent memory.Fit
	for minute := range 60 {
		together := math.Exp2(float64(minute%6) + 0.5)
		x := [3]float64{1, together, 3 * together}
		add(&straight, sample{band: minute % 6, step: x, itl: 12 + 0.35*together}, 1)
		add(&bent, sample{band: minute % 6, step: x, itl: 12 + 2.5*math.Sqrt(together)}, 1)
	}
	for _, f := range []memory.Fit{straight, bent} {
		itl := appendITL(nil, f)
		e := Unknown().step.estimated(itl)
		for _, s := range itl {
			in, measured := e.latency([3]float64{1, s.X1 / s.X0, s.X2 / s.X0}), s.Samples/s.X0
			if measured < in.Low || measured > in.High {
				t.Errorf("with %.0f together %.2f ms are measured, and %+v is believed", s.X1/s.X0, measured, in)
			}
			if f.Bands[0].ITL == straight.Bands[0].ITL && in.High-in.Low > 0.05*in.Mean {
				t.Errorf("with %.0f together %+v is believed of a straight line", s.X1/s.X0, in)
			}
		}
	}
}

// drawn returns random coefficients of the distribution l, none of them negative.
func drawn(r *rand.Rand, l linear) (out [3]float64) {
	for i := range 3 {
		for out[i] <= 0 {
			out[i] = l.mean[i] + math.Sqrt(l.cov[i][i])*r.NormFloat64()
		}
	}
	return out
}
