package lab

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/race"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/simtest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// warmUp is until when an engine may look for the number of replicas that a load
// needs.
const warmUp = 30 * time.Minute

// halfDay is how long a constant load is watched: twelve hours.
var halfDay = time.Duration(race.Cases(8)) * 90 * time.Minute

// soaked is one model on slow replicas, of one variant, under a load.
type soaked struct{ fitted }

func soak(t *testing.T, rates string, lengths workload.Lengths) soaked {
	t.Helper()
	s := slowed(testScenario(t, "constant(1,1m)"), 4)
	s.Workload = Generator(simtest.Rates(t, rates), lengths)
	s.Models[0].Spec.Variants[0].StartUp = sim.StartUp{Mean: DefaultStartUp}
	f, err := fit(t.Context(), s, look{seed: 1, until: hour, bench: true})
	if err != nil {
		t.Fatal(err)
	}
	return soaked{f}
}

// needs returns how many replicas carry a rate in requests/s.
func (s soaked) needs(rate float64) scaling.Replicas {
	return scaling.Replicas(math.Ceil(rate / s.measured[s.Models[0].Spec.Variants[0].Spec.Key].Rate))
}

// run runs an engine with the manager's defaults, and tells see what it wants and
// what is Ready at every end of an interval.
func (s soaked) run(t *testing.T, engine string, seed uint64, interval time.Duration, see func(at time.Duration, v sim.VariantInterval)) sim.ModelReport {
	t.Helper()
	p, sync, err := Choice{Name: engine}.open(s.fitted)
	if err != nil {
		t.Fatal(err)
	}
	c := s.config(seed)
	c.Sync, c.Interval = sync, interval
	c.OnInterval = func(i sim.Interval) { see(i.End, i.Variants[0]) }
	r, err := sim.Run(t.Context(), c, p)
	if err != nil {
		t.Fatal(err)
	}
	return r.Models[0]
}

// engines are this project's.
func engines() []string { return []string{Saturation, Tokens, Queueing, Hybrid} }

// turns counts how often a series of replicas changes its direction, as a step up
// after a step down does.
func turns(replicas []scaling.Replicas) int {
	n, direction := 0, scaling.Replicas(0)
	for i := 1; i < len(replicas); i++ {
		step := replicas[i] - replicas[i-1]
		if step*direction < 0 {
			n++
		}
		if step != 0 {
			direction = step
		}
	}
	return n
}

// TestConstantLoadSettles offers requests that are all alike, at even distances,
// for half a day. Once an engine has found its number of replicas it has no reason
// to leave it: it turns never, and what it keeps is at most one more than the load
// needs.
func TestConstantLoadSettles(t *testing.T) {
	const rate = 1.5
	s := soak(t, fmt.Sprintf("gamma(%g,%s,cv=0.1)", rate, halfDay), simtest.Alike(t, 161, 338))
	need := s.needs(rate)
	s.Models[0].Spec.Variants[0].Replicas = need
	for _, engine := range engines() {
		for _, seed := range []uint64{1, 2} {
			t.Run(fmt.Sprintf("%s, seed %d", engine, seed), func(t *testing.T) {
				t.Parallel()
				var wanted []scaling.Replicas
				r := s.run(t, engine, seed, time.Minute, func(at time.Duration, v sim.VariantInterval) {
					if at > warmUp && at <= halfDay {
						wanted = append(wanted, v.Wanted)
					}
				})
				if n := turns(wanted); n > 0 || slices.Min(wanted) < need || slices.Max(wanted) > need+1 {
					t.Errorf("from %d to %d replicas, %d turns; want none, and the %d that are needed or one more", slices.Min(wanted), slices.Max(wanted), n, need)
				}
				if r.Attainment < DefaultTarget {
					t.Errorf("attained %.3f, want %g or more", r.Attainment, DefaultTarget)
				}
			})
		}
	}
}

// TestNoiseIsNotFollowedFar offers Poisson arrivals with the lengths of chat, which
// two replicas can carry. A window of a minute holds 75 requests, give or take an
// eighth, of lengths that differ by as much as their mean, so that windows ask for
// one replica up to four. Turns are rare all the same: replicas that were added are
// kept for the two minutes of scaleDownStabilization beyond their start-up, twelve
// turns in an hour at the most. Measured are 1 to 7, and more than four replicas for
// 2 % of the time.
func TestNoiseIsNotFollowedFar(t *testing.T) {
	const rate, most = 1.25, 12 // turns in an hour
	length := warmUp + halfDay/3
	s := soak(t, fmt.Sprintf("constant(%g,%s)", rate, length), simtest.ShareGPT(t))
	need := s.needs(rate)
	s.Models[0].Spec.Variants[0].Replicas = need
	for _, engine := range engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			var wanted []scaling.Replicas
			r := s.run(t, engine, 1, time.Minute, func(at time.Duration, v sim.VariantInterval) {
				if at > warmUp && at <= length {
					wanted = append(wanted, v.Wanted)
				}
			})
			more := 0
			for _, n := range wanted {
				if n > need+2 {
					more++
				}
			}
			if part := float64(more) / float64(len(wanted)); part > 0.05 {
				t.Errorf("%.3f of the time with more than two replicas too many, want 0.05 at most", part)
			}
			if n := float64(turns(wanted)) / (length - warmUp).Hours(); n > most {
				t.Errorf("%.1f turns in an hour, want %d at most", n, most)
			}
			if r.Attainment < DefaultTarget {
				t.Errorf("attained %.3f, want %g or more", r.Attainment, DefaultTarget)
			}
		})
	}
}

// TestTenfoldLoadIsServedWithinAStartUpAndTwoCycles steps from a load that one
// replica carries to ten times as much.
func TestTenfoldLoadIsServedWithinAStartUpAndTwoCycles(t *testing.T) {
	const (
		rate, step = 3.0, 20 * time.Minute
		cycles     = 2 * time.Minute
		tick       = 5 * time.Second
	)
	s := soak(t, fmt.Sprintf("gamma(%g,%s,cv=0.1),gamma(%g,10m,cv=0.1)", rate/10, step, rate), simtest.Alike(t, 161, 338))
	need := s.needs(rate)
	for _, engine := range []string{Queueing, Hybrid} {
		for _, seed := range []uint64{1, 2} {
			t.Run(fmt.Sprintf("%s, seed %d", engine, seed), func(t *testing.T) {
				t.Parallel()
				var ordered, ready time.Duration
				s.run(t, engine, seed, tick, func(at time.Duration, v sim.VariantInterval) {
					if ordered == 0 && v.Wanted >= need {
						ordered = at
					}
					if ready == 0 && v.Ready >= need {
						ready = at
					}
				})
				if ordered <= step || ordered > step+cycles {
					t.Errorf("%d replicas were ordered %s after the step, want it within %s", need, ordered-step, cycles)
				}
				if ready <= step || ready > step+cycles+DefaultStartUp {
					t.Errorf("%d replicas were Ready %s after the step, want it within %s", need, ready-step, cycles+DefaultStartUp)
				}
			})
		}
	}
}
