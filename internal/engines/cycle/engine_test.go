package cycle

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/queueing"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
)

// siteObjective is what a replica meets up to about three quarters of its highest rate.
var siteObjective = scaling.Objective{Class: "premium", Priority: 1, TTFT: 1000, ITL: 40}

// covering are the engines that know the demand of a model.
var covering = map[string]settings.Model{
	"tokens":                 settingsOf(settings.Saturation, settings.Tokens),
	"model":                  settingsOf(settings.Queueing, settings.Spare),
	"hybrid with spare":      settingsOf(settings.Hybrid, settings.Spare),
	"hybrid with the tokens": settingsOf(settings.Hybrid, settings.Tokens),
}

func settingsOf(e settings.Engine, m settings.Method) settings.Model {
	s := settings.Default()
	s.Engine, s.Method, s.Objective = e, m, siteObjective
	return s
}

// forEngines runs a test with each covering engine.
func forEngines(t *testing.T, test func(t *testing.T, s settings.Model)) {
	t.Helper()
	for name, how := range covering {
		t.Run(name, func(t *testing.T) { test(t, how) })
	}
}

func steady(rate float64) func(time.Duration) float64 {
	return func(time.Duration) float64 { return rate }
}

// perReplica returns what a replica serves within the objectives, in requests/s.
func perReplica(t *testing.T, v scaling.Variant) float64 {
	t.Helper()
	s := site{variants: []scaling.Variant{v}, rate: steady(1), tick: time.Minute, created: [][]time.Duration{{-time.Hour}}, ready: []float64{most(v.Profile)}}
	a := queueing.Analyze(s.observe(0), siteObjective, queueing.Default(), queueing.Memory{})
	if a.Signal == scaling.Unknown {
		t.Fatalf("the site cannot be sized: %s", a.Detail)
	}
	return a.Variants[0].PerReplica
}

// needs finds by trial the fewest replicas of a variant that the engine keeps at a rate.
func needs(t *testing.T, how settings.Model, v scaling.Variant, rate float64) scaling.Replicas {
	t.Helper()
	for n := scaling.Replicas(1); n < 1000; n++ {
		v.Replicas = scaling.ReplicaCounts{Observed: true, Current: n, Ready: n}
		s := site{variants: []scaling.Variant{v}, settings: how, rate: steady(rate), tick: 15 * time.Second, startUp: time.Minute}
		if float64(n)*most(v.Profile) >= rate && s.run(15 * time.Second)[0] <= n {
			return n
		}
	}
	t.Fatalf("no fleet is enough for %g requests/s", rate)
	return 0
}

// TestEnginesOrderNoMoreThanConstantDemandNeeds is rule 4 for engines that may order many replicas
// at once, while queues build up.
func TestEnginesOrderNoMoreThanConstantDemandNeeds(t *testing.T) {
	forEngines(t, func(t *testing.T, how settings.Model) {
		for _, rate := range []float64{2, 23, 117} {
			need := needs(t, how, siteVariant("v", 10, 1, 1), rate)
			for _, startUp := range []time.Duration{20 * time.Second, 90 * time.Second, 4 * time.Minute} {
				for _, tick := range []time.Duration{15 * time.Second, time.Minute} {
					for _, window := range []time.Duration{0, time.Minute} {
						s := site{variants: []scaling.Variant{siteVariant("v", 10, 1, 1)}, settings: how, rate: steady(rate), startUp: startUp, tick: tick, window: window}
						sums := s.run(25 * time.Minute)
						if got := slices.Max(sums); got > need+1 {
							t.Errorf("rate %g, start-up %s, tick %s: ordered %d replicas, %d are needed", rate, startUp, tick, got, need)
						}
						if got := sums[len(sums)-1]; got < need {
							t.Errorf("rate %g, start-up %s, tick %s: ended with %d replicas, %d are needed", rate, startUp, tick, got, need)
						}
					}
				}
			}
		}
	})
}

// TestModelEngineOrdersWhatTheObjectivesTake compares the orders with rate / perReplica.
func TestModelEngineOrdersWhatTheObjectivesTake(t *testing.T) {
	v := siteVariant("v", 10, 1, 1)
	per := perReplica(t, v)
	for _, rate := range []float64{0.5 * per, 1.01 * per, 7.5 * per, 40 * per} {
		s := site{variants: []scaling.Variant{v}, settings: covering["model"], rate: steady(rate), startUp: time.Minute, tick: 15 * time.Second}
		sums := s.run(10 * time.Minute)
		if got, want := slices.Max(sums), scaling.Replicas(math.Ceil(rate/per)); got < want || got > want+1 {
			t.Errorf("%.3g requests/s at %.3g a replica: %d replicas, want %d, or one more", rate, per, got, want)
		}
	}
}

// TestTenfoldStepIsServedWithinAStartUp: the supply for ten times the load is Ready one
// start-up and two cycles after the readings show it.
func TestTenfoldStepIsServedWithinAStartUp(t *testing.T) {
	for name, how := range covering {
		for _, startUp := range []time.Duration{45 * time.Second, 3 * time.Minute} {
			for _, window := range []time.Duration{0, time.Minute} {
				const step = 20 * time.Minute
				s := site{
					variants: []scaling.Variant{siteVariant("v", 10, 1, 2)}, settings: how, startUp: startUp, tick: 15 * time.Second, window: window,
					rate: func(t time.Duration) float64 {
						if t < step {
							return 8
						}
						return 80
					},
				}
				sums := s.run(40 * time.Minute)
				at := int((step + window + startUp + 2*s.tick) / s.tick)
				if s.ready[at] < 80 {
					t.Errorf("%s, start-up %s, window %s: capacity %.3g requests/s, 80 arrive", name, startUp, window, s.ready[at])
				}
				if need := needs(t, how, siteVariant("v", 10, 1, 1), 80); slices.Max(sums) > need+1 {
					t.Errorf("%s, start-up %s, window %s: ordered %d replicas, %d are needed", name, startUp, window, slices.Max(sums), need)
				}
			}
		}
	}
}

// TestNoiseOfATenthMovesNoFleetForEver runs for twelve hours at constant load. Every measured rate
// has a noise of a tenth, far more than that of arrivals. It may look twice like less load, and
// twice like more.
func TestNoiseOfATenthMovesNoFleetForEver(t *testing.T) {
	forEngines(t, func(t *testing.T, how settings.Model) {
		for seed := range uint64(2) {
			r := rand.New(rand.NewPCG(seed, 11))
			s := site{
				variants: []scaling.Variant{siteVariant("v", 10, 1, scaling.Replicas(1+r.IntN(30))), siteVariant("w", 24, 2.6, scaling.Replicas(r.IntN(4)))}, settings: how,
				rate: steady(3 + 60*r.Float64()), startUp: 90 * time.Second, tick: time.Minute, window: time.Minute, noise: r, spread: 0.1,
				policy: documented,
			}
			sums := s.run(12 * time.Hour)
			settled := s.targets[len(s.targets)/6:] // after two hours, since reductions go replica by replica
			moves := 0
			for i := 1; i < len(settled); i++ {
				if !slices.Equal(settled[i], settled[i-1]) {
					moves++
				}
			}
			if moves > 4 {
				t.Errorf("seed %d: %d changes in 10 hours, from %v to %v, most %d", seed, moves, settled[0], settled[len(settled)-1], slices.Max(sums))
			}
		}
	})
}

// TestBlindEnginesNeverShrink is rule 1: no replica is removed while the readings fail,
// whatever the load was before.
func TestBlindEnginesNeverShrink(t *testing.T) {
	forEngines(t, func(t *testing.T, how settings.Model) {
		for seed := range uint64(3) {
			r := rand.New(rand.NewPCG(seed, 13))
			s := site{
				variants: []scaling.Variant{siteVariant("v", 10, 1, scaling.Replicas(2+r.IntN(6))), siteVariant("w", 24, 2.6, scaling.Replicas(r.IntN(4)))}, settings: how,
				rate: func(t time.Duration) float64 { return 20 * (1 + math.Sin(t.Minutes()/7)) }, startUp: time.Minute, tick: 15 * time.Second,
			}
			s.blind = func(t time.Duration) bool { return (t/(8*time.Minute)+time.Duration(seed))%2 == 1 }
			sums := s.run(90 * time.Minute)
			for i := 1; i < len(sums); i++ {
				if s.blind(time.Duration(i)*s.tick) && sums[i] < sums[i-1] {
					t.Fatalf("seed %d: from %d to %d replicas while nothing was known", seed, sums[i-1], sums[i])
				}
			}
		}
	})
}

// TestCheaperMixIsFoundAndKept: a fleet of the dear variant is replaced by one of the cheap
// variant, and the new replicas are Ready before the old ones are removed.
func TestCheaperMixIsFoundAndKept(t *testing.T) {
	forEngines(t, func(t *testing.T, how settings.Model) {
		s := site{
			variants: []scaling.Variant{siteVariant("cheap", 10, 1, 0), siteVariant("dear", 50, 2, 6)}, settings: how,
			rate: steady(50), startUp: 2 * time.Minute, tick: 30 * time.Second, policy: documented,
		}
		s.run(3 * time.Hour)
		if last := s.targets[len(s.targets)-1]; last[1] != 0 || last[0] == 0 {
			t.Errorf("ended with %v of cheap and dear", last)
		}
		for i, capacity := range s.ready {
			if capacity < 50 {
				t.Fatalf("cycle %d: capacity %.3g requests/s while moving, 50 arrive", i, capacity)
			}
		}
	})
}
