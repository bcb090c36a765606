package queueing

import (
	"math"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/analyzer"
)

func TestAReplicaIsExpectedToDoWhatTheQueueingModelSaysOfItsPart(t *testing.T) {
	q, err := analyzer.NewQueueAnalyzer(analyzer.Config{
		MaxBatch: 64, MaxQueue: 640, Service: analyzer.FourParameter{Alpha: 20.58, Beta: 0.41, Gamma: 5.2, Delta: 0.01},
		Size: analyzer.RequestSize{InputTokens: 256, OutputTokens: 128},
	})
	if err != nil {
		t.Fatal(err)
	}
	const rate, replicas = 10.0, 4
	mean, err := q.Analyze(rate / replicas)
	if err != nil {
		t.Fatal(err)
	}
	p90, err := q.PercentileTTFT(rate/replicas, 0.9)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		options   Options
		ttft, itl float64
	}{{Options{}, mean.TTFT, mean.ITL}, {Default(), p90, mean.ITL}} {
		got := Expect(snapshot(rate, variant("v", a100, replicas), variant("w", a100, 0)), objective, tc.options, Memory{})
		if len(got) != 1 || math.Abs(got[0].Rate-rate/replicas) > 1e-12 || got[0].TTFT != tc.ttft || got[0].ITL != tc.itl || got[0].Overloaded {
			t.Errorf("%+v: got %+v, want TTFT %g and ITL %g ms at %g requests/s", tc.options, got, tc.ttft, tc.itl, rate/replicas)
		}
	}
}

func TestMoreThanAReplicaCompletesHasNoLatency(t *testing.T) {
	got := Expect(snapshot(1000, variant("v", a100, 2)), objective, Default(), Memory{})
	if len(got) != 1 || !got[0].Overloaded || got[0].TTFT != 0 {
		t.Errorf("got %+v", got)
	}
}

func TestNothingIsExpectedOfWhatIsNotKnown(t *testing.T) {
	blind := snapshot(10, variant("v", a100, 2))
	blind.Load.ArrivalRate = scaling.Reading{}
	for name, got := range map[string][]Expected{
		"no objective":    Expect(snapshot(10, variant("v", a100, 2)), scaling.Objective{}, Default(), Memory{}),
		"no arrival rate": Expect(blind, objective, Default(), Memory{}),
		"no profile":      Expect(snapshot(10, variant("v", scaling.Profile{}, 2)), objective, Default(), Memory{}),
		"no load":         Expect(snapshot(0, variant("v", a100, 2)), objective, Default(), Memory{}),
		"no replica":      Expect(snapshot(10, variant("v", a100, 0)), objective, Default(), Memory{}),
	} {
		if got != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
