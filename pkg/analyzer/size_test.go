package analyzer

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

func TestSizeEqualsAHundredHalvings(t *testing.T) {
	forRandomQueues(t, 15, func(t *testing.T, c Config, q QueueAnalyzer, rng *rand.Rand) {
		least, most := q.RateRange()
		at, err := q.Analyze(most * (0.1 + 0.85*rng.Float64()))
		if err != nil {
			t.Fatal(err)
		}
		ttft, itl := at.TTFT*(1+rng.Float64()), at.ITL*(1+0.1*rng.Float64())
		got, err := q.Size(Targets{TTFT: ttft, ITL: itl})
		if err != nil {
			t.Fatal(err)
		}
		if want := newPlain(c).size(least, most, ttft, itl); distance(got.Rate, want) > 1e-8 {
			t.Errorf("TTFT %v and ITL %v allow %v requests/s, want %v", ttft, itl, got.Rate, want)
		}
	})
}

// targetsAround are targets that a random replica can meet, for the mean or a
// percentile.
func targetsAround(t *testing.T, q QueueAnalyzer, rng *rand.Rand) Targets {
	t.Helper()
	_, most := q.RateRange()
	rate := most * (0.01 + 0.98*rng.Float64())
	m, err := q.Analyze(rate)
	if err != nil {
		t.Fatal(err)
	}
	targets := Targets{TTFT: m.TTFT, ITL: m.ITL * 1.01}
	if rng.IntN(2) == 0 {
		targets.TTFTPercentile = 0.5 + 0.499*rng.Float64()
		if targets.TTFT, err = q.PercentileTTFT(rate, targets.TTFTPercentile); err != nil {
			t.Fatal(err)
		}
	}
	if rng.IntN(2) == 0 {
		targets.ITLPercentile = 0.5 + 0.499*rng.Float64()
		if targets.ITL, err = q.PercentileITL(rate, targets.ITLPercentile); err != nil {
			t.Fatal(err)
		}
	}
	return targets
}

func TestAtTheSizeEveryTargetIsKeptAndNextToItOneIsMissed(t *testing.T) {
	forRandomQueues(t, 300, func(t *testing.T, _ Config, q QueueAnalyzer, rng *rand.Rand) {
		targets := targetsAround(t, q, rng)
		s, err := q.Size(targets)
		if err != nil {
			t.Fatal(err)
		}
		if s.TTFT > targets.TTFT*(1+1e-9) || s.ITL > targets.ITL*(1+1e-9) {
			t.Errorf("%+v is missed at %v: TTFT %v, ITL %v", targets, s.Rate, s.TTFT, s.ITL)
		}
		_, most := q.RateRange()
		above := s.Rate * (1 + 1e-6)
		if above > most {
			return
		}
		// Percentiles jump from one batch to the next; a target between two of them is
		// missed from where the higher one is reached.
		arrival := above / perSecond
		if q.ttft(arrival, targets.TTFTPercentile) <= targets.TTFT && q.itl(arrival, targets.ITLPercentile) <= targets.ITL {
			t.Errorf("%+v is kept above %v too", targets, s.Rate)
		}
	})
}

func TestATighterTargetNeverAllowsAHigherRate(t *testing.T) {
	forRandomQueues(t, 100, func(t *testing.T, _ Config, q QueueAnalyzer, rng *rand.Rand) {
		targets := targetsAround(t, q, rng)
		last := math.Inf(1)
		for i := range 20 {
			tighter := targets
			tighter.TTFT *= 1 - 0.04*float64(i)
			tighter.ITL *= 1 - 0.001*float64(i)
			s, err := q.Size(tighter)
			if err != nil {
				if _, ok := errors.AsType[*TargetError](err); !ok {
					t.Fatal(err)
				}
				last = 0 // out of reach: all tighter ones have to be too
				continue
			}
			if s.Rate > last*(1+1e-11) {
				t.Errorf("%+v allows %v requests/s, a looser one %v", tighter, s.Rate, last)
			}
			last = s.Rate
		}
	})
}

func TestATighterPercentileNeverAllowsAHigherRate(t *testing.T) {
	forRandomQueues(t, 50, func(t *testing.T, c Config, q QueueAnalyzer, _ *rand.Rand) {
		last := math.Inf(1)
		for _, p := range []float64{0.1, 0.5, 0.9, 0.95, 0.99, 0.999} {
			s, err := q.Size(Targets{TTFT: 1.5 * q.firstToken(c.MaxBatch), TTFTPercentile: p})
			if err != nil {
				if c.Size.InputTokens == 0 {
					return // every request that waits misses a target of 0
				}
				t.Fatal(err)
			}
			if s.Rate > last*(1+1e-11) {
				t.Errorf("percentile %v allows %v requests/s, a lower one %v", p, s.Rate, last)
			}
			last = s.Rate
		}
	})
}

func TestHowASearchEnds(t *testing.T) {
	q := mustAnalyzer(t, benchConfig)
	least, most := q.RateRange()
	for _, c := range []struct {
		name      string
		targets   Targets
		ttft, itl Ending
		low, high float64 // bounds of the rate
	}{
		{"no targets", Targets{}, NotSearched, NotSearched, most, most},
		{"TTFT within the range", Targets{TTFT: 3000}, Converged, NotSearched, least, most},
		{"both within the range", Targets{TTFT: 3000, ITL: 100}, Converged, Converged, least, most},
		{"a percentile within the range", Targets{TTFT: 3000, TTFTPercentile: 0.99}, Converged, NotSearched, least, most},
		{"ITL beyond the range", Targets{ITL: 1000}, NotSearched, AtUpperEnd, most, most},
		{"TTFT beyond the range", Targets{TTFT: 1e9}, AtUpperEnd, NotSearched, most, most},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := q.Size(c.targets)
			if err != nil {
				t.Fatal(err)
			}
			if s.SearchTTFT.Ending != c.ttft || s.SearchITL.Ending != c.itl {
				t.Errorf("searches end %+v and %+v, want %v and %v", s.SearchTTFT, s.SearchITL, c.ttft, c.itl)
			}
			if s.Rate < c.low || s.Rate > c.high {
				t.Errorf("rate is %v, want %v to %v", s.Rate, c.low, c.high)
			}
			if n := max(s.SearchTTFT.Evaluations, s.SearchITL.Evaluations); n > 30 {
				t.Errorf("a search takes %d evaluations, want a superlinear number", n)
			}
		})
	}
}

func TestTargetsOutOfReachCarryTheBestAchievable(t *testing.T) {
	q := mustAnalyzer(t, benchConfig)
	for _, c := range []struct {
		name    string
		targets Targets
		want    TargetError
	}{
		// A request alone: 5.2 + 0.1 x 128 = 18 ms and 20.58 + 0.41 = 20.99 ms.
		{"TTFT", Targets{TTFT: 17}, TargetError{Target: "TTFT", Unit: "ms", Wanted: 17, Best: 18}},
		{"TTFT percentile", Targets{TTFT: 17, TTFTPercentile: 0.5}, TargetError{Target: "TTFT", Unit: "ms", Wanted: 17, Best: 18, Percentile: 0.5}},
		{"ITL", Targets{ITL: 20}, TargetError{Target: "ITL", Unit: "ms", Wanted: 20, Best: 20.99}},
		// 13.3012 requests/s served at the end of the range (TestGolden...), 128 tokens each.
		{"TPS", Targets{TPS: 2000}, TargetError{Target: "TPS", Unit: "tokens/s", Wanted: 2000, Best: 13.30122345 * 128}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := q.Size(c.targets)
			var got *TargetError
			if !errors.As(err, &got) {
				t.Fatalf("got %+v, %v, want a TargetError", s, err)
			}
			if s != (Sizing{}) {
				t.Errorf("an answer beside the error: %+v", s)
			}
			if got.Search.Ending != OutOfReach {
				t.Errorf("search ends %v, want OutOfReach", got.Search.Ending)
			}
			if distance(got.Best, c.want.Best) > 1e-3 {
				t.Errorf("best is %v, want %v", got.Best, c.want.Best)
			}
			c.want.Best, c.want.Search = got.Best, got.Search
			if *got != c.want {
				t.Errorf("got %+v, want %+v", *got, c.want)
			}
		})
	}
}

func TestATPSTargetIsAFloor(t *testing.T) {
	q := mustAnalyzer(t, benchConfig)
	with, err := q.Size(Targets{ITL: 60, TPS: 1000})
	if err != nil {
		t.Fatal(err)
	}
	without, err := q.Size(Targets{ITL: 60})
	if err != nil {
		t.Fatal(err)
	}
	if with.Rate != without.Rate {
		t.Errorf("the floor moves the rate from %v to %v", without.Rate, with.Rate)
	}
	m, err := q.Analyze(with.RateTPS)
	if err != nil {
		t.Fatal(err)
	}
	if tps := m.Throughput * 128; tps < 1000*(1-1e-12) || tps > 1000*(1+1e-9) {
		t.Errorf("%v requests/s yield %v tokens/s, want 1000", with.RateTPS, tps)
	}
	// The published versions take a tenth off the greatest rate instead.
	_, most := q.RateRange()
	published, err := q.Published().Size(Targets{TPS: 1})
	if err != nil {
		t.Fatal(err)
	}
	if distance(published.Rate, 0.9*most) > 1e-12 {
		t.Errorf("published rate is %v, want 0.9 x %v", published.Rate, most)
	}
}

func TestALatencyThatDoesNotChangeMeetsLooserTargets(t *testing.T) {
	q := mustAnalyzer(t, Config{
		MaxBatch: 1, MaxQueue: 10,
		Service: FourParameter{Alpha: 5, Beta: 0.1, Gamma: 5, Delta: 0.01}, Size: RequestSize{InputTokens: 100, OutputTokens: 100},
	})
	_, most := q.RateRange()
	for _, itl := range []float64{5.1, 200} { // one request at a time: always alpha + beta = 5.1
		s, err := q.Size(Targets{ITL: itl})
		if err != nil {
			t.Fatal(err)
		}
		if s.Rate != most {
			t.Errorf("ITL %v allows %v requests/s, want %v", itl, s.Rate, most)
		}
	}
	if _, err := q.Published().Size(Targets{ITL: 200}); err == nil {
		t.Error("the published versions take 200 ms for out of reach")
	}
}
