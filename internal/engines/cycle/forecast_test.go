package cycle

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
)

// lookingAhead are the engines that forecast the arrival rate.
var lookingAhead = map[string]settings.Model{
	"model":             settingsOf(settings.Queueing, settings.Spare),
	"hybrid":            settingsOf(settings.Hybrid, settings.Spare),
	"hybrid and tokens": settingsOf(settings.Hybrid, settings.Tokens),
}

// TestRampIsServedByWhatIsReady: for twenty minutes the rate grows by a replica or more per
// start-up. After four windows of growth and a start-up, the Ready replicas serve all arrivals at
// every moment.
func TestRampIsServedByWhatIsReady(t *testing.T) {
	const from, begin, length = 10.0, 10 * time.Minute, 20 * time.Minute
	v := siteVariant("v", 10, 1, 3)
	for name, how := range lookingAhead {
		for _, tick := range []time.Duration{15 * time.Second, time.Minute} {
			for _, growth := range []float64{2, 6} { // requests/s per minute
				s := site{
					variants: []scaling.Variant{v}, settings: how, startUp: 108 * time.Second, tick: tick, window: time.Minute,
					rate: func(t time.Duration) float64 { return from + growth*min(max(0, t-begin), length).Minutes() },
				}
				sums := s.run(60 * time.Minute)
				seen := begin + 5*time.Minute + s.startUp + 2*tick
				for t0 := seen; t0 < begin+length; t0 += tick {
					if ready := s.ready[int(t0/tick)]; ready < s.rate(t0) {
						t.Errorf("%s, tick %s, %g more a minute: at %s what is Ready serves %.3g requests/s, %.3g arrive", name, tick, growth, t0, ready, s.rate(t0))
						break
					}
				}
				// When the ramp ends, orders exceed the need by the growth that was expected: that
				// of four windows, and of the one in which the ramp ends.
				need := needs(t, how, v, s.rate(time.Hour))
				if most := need + scaling.Replicas(math.Ceil(growth*5/perReplica(t, v))); slices.Max(sums) > most {
					t.Errorf("%s, tick %s, %g more a minute: ordered %d replicas, %d are needed in the end", name, tick, growth, slices.Max(sums), need)
				}
			}
		}
	}
}

// TestPoissonDemandOrdersOneReplicaTooManyAtMost runs for twelve hours at a constant rate of
// Poisson arrivals. The orders never exceed the need of the highest measured rate by more than one
// replica.
func TestPoissonDemandOrdersOneReplicaTooManyAtMost(t *testing.T) {
	v := siteVariant("v", 10, 1, 1)
	for name, how := range lookingAhead {
		for seed, rate := range []float64{2, 20, 90} {
			r := rand.New(rand.NewPCG(uint64(seed), 17))
			counts := make([]float64, 12*60)
			for i := range counts {
				for at := r.ExpFloat64() / rate; at < 60; at += r.ExpFloat64() / rate {
					counts[i]++
				}
			}
			s := site{
				variants: []scaling.Variant{v}, settings: how, startUp: 108 * time.Second, tick: time.Minute,
				rate: func(t time.Duration) float64 { return counts[int(t.Minutes())%len(counts)] / 60 }, policy: documented,
			}
			sums := s.run(12 * time.Hour)
			// Orders of the first minutes also clear what waited for the first replicas.
			if need := needs(t, how, v, slices.Max(counts)/60); slices.Max(sums) > need+1 {
				t.Errorf("%s, %g requests/s: ordered %d replicas, the highest rate of %.3g needs %d", name, rate, slices.Max(sums), slices.Max(counts)/60, need)
			}
		}
	}
}

// TestAForecastThatOrdersIsExplained also where the present demand is met.
func TestAForecastThatOrdersIsExplained(t *testing.T) {
	for name, how := range lookingAhead {
		s := site{
			variants: []scaling.Variant{siteVariant("v", 10, 1, 8)}, settings: how, startUp: 108 * time.Second, tick: time.Minute, window: time.Minute,
			rate: func(t time.Duration) float64 { return 10 + 3*t.Minutes() },
		}
		found := false
		s.after = func(time.Duration) {
			for _, d := range s.last.Plan.Decisions {
				detail := d.Cause().Detail
				found = found || d.Target() > d.Current && strings.Contains(detail, "are expected in") && strings.Contains(detail, "a replica ordered now is Ready in 3m3s")
			}
		}
		if s.run(20 * time.Minute); !found {
			t.Errorf("%s: no growth is explained by what is expected: %+v", name, s.last.Plan.Decisions)
		}
	}
}
