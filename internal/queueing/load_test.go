package queueing

import (
	"math"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// smooth returns the rate with which the last of several looks, a minute apart, is analyzed.
func smooth(t *testing.T, rates ...float64) float64 {
	t.Helper()
	snap, past := arriving(rates...)
	l, why := measure(snap)
	if why != "" {
		t.Fatal(why)
	}
	return l.smoothed(snap, past).rate
}

func TestARateIsTheMeanOfThreeWindowsWithinNoise(t *testing.T) {
	for _, tt := range []struct {
		name  string
		rates []float64
		want  float64
	}{
		{"one window", []float64{10}, 10},
		{"two windows", []float64{10, 10.4}, 10.4},
		{"the same rate", []float64{10, 10, 10}, 10},
		{"a little more", []float64{10, 10, 10.6}, 10.2}, // two deviations are 2 sqrt(10.2 / 60) = 0.82
		{"a little less", []float64{10, 10, 9.4}, 9.8},
		{"the last three of more", []float64{50, 10, 10, 10.6}, 10.2},
		{"just within two deviations", []float64{10, 10, 11.2}, 10.4},    // 0.80 of 0.83
		{"just beyond two deviations", []float64{10, 10, 11.3}, 11.3},    // 0.87 of 0.83
		{"just beyond two deviations less", []float64{10, 10, 8.7}, 8.7}, // 0.87 of 0.80
		{"much more", []float64{10, 10, 20}, 20},
		{"much less", []float64{10, 10, 1}, 1},
		{"none", []float64{10, 10, 0}, 0},
	} {
		if got := smooth(t, tt.rates...); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%s: %v are %g requests/s, want %g", tt.name, tt.rates, got, tt.want)
		}
	}
}

func TestOldWindowsDoNotSmoothTheRate(t *testing.T) {
	_, past := arriving(10, 10, 10.6)
	later := snapshot(10.6, variant("v", a100, 2))
	later.At = at.Add(time.Minute)
	l, _ := measure(later)
	if got := l.smoothed(later, past).rate; got != 10.6 {
		t.Errorf("a look that is not remembered yet: %g requests/s, want its own 10.6", got)
	}
}

func TestLengthsAreTheMeansOfTheLastMinutes(t *testing.T) {
	s := snapshot(10, variant("v", a100, 2))
	s.Load.InputTokens, s.Load.OutputTokens, s.Load.PrefixHits = fresh(1000), fresh(400), fresh(0.75)
	past := Memory{Traffic: memory.Traffic{Means: memory.Means{At: at, Requests: 10, Input: 2000, Output: 1000}}}
	l, why := measure(s)
	if why != "" {
		t.Fatal(why)
	}
	if got := l.smoothed(s, past); got.prompt != 200 || got.input != 50 || got.output != 100 {
		t.Errorf("prompts of %g tokens of which %g are computed, answers of %g; want 200, 50 since three quarters are cached, and 100", got.prompt, got.input, got.output)
	}
	if got := l.smoothed(s, Memory{}); got.prompt != 1000 || got.input != 250 || got.output != 400 {
		t.Errorf("without means: prompts of %g tokens of which %g are computed, answers of %g; want those measured", got.prompt, got.input, got.output)
	}
	short := Memory{Traffic: memory.Traffic{Means: memory.Means{At: at, Requests: 10, Input: 2000, Output: 5}}}
	if got := l.smoothed(s, short); got.output != 1 {
		t.Errorf("answers of %g tokens, want at least 1", got.output)
	}
}

// TestAModelWithoutRequestsIsNotSizedByTheWindowsBefore: one request came two minutes ago, which is
// within the noise of none, and the lengths of requests are unknown.
func TestAModelWithoutRequestsIsNotSizedByTheWindowsBefore(t *testing.T) {
	snap, past := arriving(1.0/60, 0, 0)
	snap.Load.InputTokens, snap.Load.OutputTokens = scaling.Reading{}, scaling.Reading{}
	if a := Analyze(snap, objective, Default(), past); a.Signal == scaling.Grow || a.Demand != 0 {
		t.Errorf("%s for a demand of %g: %s", a.Signal, a.Demand, a.Detail)
	}
}
