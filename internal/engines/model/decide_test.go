package model

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/modelanalyzer"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/saturation"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

var at = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// snapshot is a variant with a profile and so many idle replicas, of which three
// would do for what arrives.
func snapshot(replicas int) scaling.Snapshot {
	fresh := func(v float64) scaling.Reading { return scaling.Measured(v, scaling.Fresh) }
	s := scaling.Snapshot{Model: scaling.ModelKey{Namespace: "ns", ID: "m"}, At: at, Window: time.Minute, Load: scaling.Load{
		ArrivalRate: fresh(20), InputTokens: fresh(256), OutputTokens: fresh(128), ITL: fresh(25), GatewayQueue: scaling.Reading{State: scaling.NotApplicable},
	}}
	v := scaling.Variant{
		Key: scaling.VariantKey{Namespace: "ns", Name: "v"}, Model: s.Model, Cost: 10, Bounds: scaling.Unbounded(), GPUsPerReplica: 1,
		Profile:  scaling.Profile{Source: "test", Alpha: 20.58, Beta: 0.41, Gamma: 5.2, Delta: 0.01, MaxBatchSize: 64},
		Replicas: scaling.ReplicaCounts{Observed: true, Current: replicas, Ready: replicas},
	}
	s.Variants = append(s.Variants, v)
	for i := range replicas {
		s.Replicas = append(s.Replicas, scaling.ReplicaSample{
			Pod: fmt.Sprint("v", i), Variant: v.Key, Ready: true, KVCapacity: fresh(40_000),
			KVCacheUsage: fresh(0.1), KVCacheUsageNow: fresh(0.1), QueueLength: fresh(0), QueueLengthNow: fresh(0),
		})
	}
	return s
}

func settings(e Engine, m Method) Settings {
	s := Default()
	s.Engine, s.Method, s.Objective = e, m, scaling.Objective{Class: "premium", TTFT: 1000, ITL: 40}
	return s
}

func TestEveryEngineAsksItsAnalyzers(t *testing.T) {
	noObjective := func(s *Settings, _ *scaling.Snapshot) { s.Objective = scaling.Objective{} }
	noCache := func(_ *Settings, s *scaling.Snapshot) {
		for i := range s.Replicas {
			s.Replicas[i].KVCapacity = scaling.Reading{}
		}
	}
	for _, tc := range []struct {
		name   string
		engine Engine
		method Method
		change func(*Settings, *scaling.Snapshot)
		first  string // analyzer that decides
		others []string
		says   string
	}{
		{"the zero value is saturation", "", "", nil, saturation.Name, nil, ""},
		{"saturation", Saturation, Spare, nil, saturation.Name, nil, ""},
		{"tokens", Saturation, Tokens, nil, saturation.TokensName, nil, ""},
		{"tokens that cannot be counted", Saturation, Tokens, noCache, saturation.Name, []string{saturation.TokensName}, ""},
		{"the queueing model", Queueing, Spare, nil, modelanalyzer.Name, []string{saturation.Name}, ""},
		{"the queueing model without an objective", Queueing, Spare, noObjective, saturation.Name, []string{modelanalyzer.Name}, "queueing has no vote, saturation decides (ServiceClassMissing"},
		{"the queueing model without an objective, and tokens", Queueing, Tokens, noObjective, saturation.TokensName, []string{modelanalyzer.Name}, "queueing has no vote, tokens decides"},
		{"hybrid", Hybrid, Spare, nil, modelanalyzer.Name, []string{saturation.Name}, ""},
		{"hybrid with tokens", Hybrid, Tokens, nil, modelanalyzer.Name, []string{saturation.TokensName}, ""},
		{"hybrid without an objective", Hybrid, Spare, noObjective, saturation.Name, []string{modelanalyzer.Name}, "saturation decides alone (ServiceClassMissing"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, snap := settings(tc.engine, tc.method), snapshot(3)
			if tc.change != nil {
				tc.change(&s, &snap)
			}
			out := Decide(Input{Snapshot: snap, Settings: s, Interval: time.Minute})
			var others []string
			for _, a := range out.Analyses[1:] {
				others = append(others, a.Analyzer)
			}
			if out.Analyses[0].Analyzer != tc.first || cmp.Diff(tc.others, others) != "" {
				t.Errorf("%s decides, beside %v; want %s beside %v", out.Analyses[0].Analyzer, others, tc.first, tc.others)
			}
			if detail := out.Decisions[0].Steps[0].Detail; !strings.Contains(detail, tc.says) {
				t.Errorf("says %q, want %q in it", detail, tc.says)
			}
		})
	}
}

// TestAnalyzerKeepsItsVoteForThreeIntervals: the rate fails from the second
// minute on, while the fleet is much too large.
func TestAnalyzerKeepsItsVoteForThreeIntervals(t *testing.T) {
	for _, engine := range []Engine{Queueing, Hybrid} {
		history := scaling.History{}
		var deciders []string
		for minute := range 7 {
			snap := snapshot(9)
			snap.At = at.Add(time.Duration(minute) * time.Minute)
			if minute > 0 {
				snap.Load.ArrivalRate = scaling.Reading{}
			}
			out := Decide(Input{Snapshot: snap, History: history, Settings: settings(engine, Spare), Interval: time.Minute})
			deciders = append(deciders, out.Analyses[0].Analyzer)
			target := out.Decisions[0].Target()
			if live := minute > 0 && minute <= 3; live && target != 9 {
				t.Errorf("%s, minute %d: %d replicas, although queueing has a vote and knows nothing", engine, minute, target)
			}
			if minute > 3 && target != 8 {
				t.Errorf("%s, minute %d: %d replicas, want 8 of saturation alone", engine, minute, target)
			}
			history = scaling.History{snap.Variants[0].Key: {Desired: 9, DecidedAt: at.Add(-time.Hour), ProgressAt: at.Add(-time.Hour), Informed: out.Informed}}
		}
		q, s := modelanalyzer.Name, saturation.Name
		if diff := cmp.Diff([]string{q, q, q, q, s, s, s}, deciders); diff != "" {
			t.Errorf("%s: deciders (-want +got):\n%s", engine, diff)
		}
	}
}

func TestNothingShrinksWithNoneLive(t *testing.T) {
	for _, engine := range []Engine{Saturation, Queueing, Hybrid} {
		for _, method := range []Method{Spare, Tokens} {
			snap := snapshot(9)
			snap.Load = scaling.Load{}
			for i, r := range snap.Replicas {
				snap.Replicas[i] = scaling.ReplicaSample{Pod: r.Pod, Variant: r.Variant, Ready: true}
			}
			out := Decide(Input{Snapshot: snap, Settings: settings(engine, method), Interval: time.Minute})
			if d := out.Decisions[0]; d.Target() != 9 || !d.Fallback {
				t.Errorf("%s, %s: %d replicas, fallback %v", engine, method, d.Target(), d.Fallback)
			}
			if len(out.Informed) != 0 {
				t.Errorf("%s, %s: %v are live", engine, method, out.Informed)
			}
		}
	}
}

func TestMemoryOfTheFutureIsNone(t *testing.T) {
	snap := snapshot(9)
	snap.Load.ArrivalRate = scaling.Reading{}
	key := snap.Variants[0].Key
	h := scaling.History{key: {Informed: []scaling.Informed{{Analyzer: modelanalyzer.Name, At: at.Add(time.Hour)}}, Backlog: scaling.Backlog{Waiting: 7, At: at.Add(time.Hour)}}}
	out := Decide(Input{Snapshot: snap, History: h, Settings: settings(Queueing, Spare), Interval: time.Minute})
	if out.Analyses[0].Analyzer != saturation.Name || out.Backlog.Waiting != 0 {
		t.Errorf("%s decides, backlog %+v", out.Analyses[0].Analyzer, out.Backlog)
	}
}
