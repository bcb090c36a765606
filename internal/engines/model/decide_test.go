package model

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/queueing"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/saturation"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
)

var at = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// snapshot returns a variant with a profile and idle replicas, three of which would serve the
// arrival rate.
func snapshot(replicas scaling.Replicas) scaling.Snapshot {
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

func settingsOf(e settings.Engine, m settings.Method) settings.Model {
	s := settings.Default()
	s.Engine, s.Method, s.Objective = e, m, scaling.Objective{Class: "premium", TTFT: 1000, ITL: 40}
	return s
}

func TestEveryEngineAsksItsAnalyzers(t *testing.T) {
	noObjective := func(s *settings.Model, _ *scaling.Snapshot) { s.Objective = scaling.Objective{} }
	noCache := func(_ *settings.Model, s *scaling.Snapshot) {
		for i := range s.Replicas {
			s.Replicas[i].KVCapacity = scaling.Reading{}
		}
	}
	for _, tc := range []struct {
		name   string
		engine settings.Engine
		method settings.Method
		change func(*settings.Model, *scaling.Snapshot)
		first  string // analyzer that decides
		others []string
		says   string
	}{
		{"the zero value is saturation", "", "", nil, saturation.Name, nil, ""},
		{"saturation", settings.Saturation, settings.Spare, nil, saturation.Name, nil, ""},
		{"the published rule", settings.Published, settings.Spare, nil, saturation.Name, nil, ""},
		{"the published rule, whatever the method", settings.Published, settings.Tokens, nil, saturation.Name, nil, ""},
		{"tokens", settings.Saturation, settings.Tokens, nil, saturation.TokensName, nil, ""},
		{"tokens that cannot be counted", settings.Saturation, settings.Tokens, noCache, saturation.Name, []string{saturation.TokensName}, ""},
		{"the queueing model", settings.Queueing, settings.Spare, nil, queueing.Name, []string{saturation.Name}, ""},
		{
			"the queueing model without an objective", settings.Queueing, settings.Spare, noObjective, saturation.Name,
			[]string{queueing.Name},
			"queueing has no vote, saturation decides (ServiceClassMissing",
		},
		{
			"the queueing model without an objective, and tokens", settings.Queueing, settings.Tokens, noObjective, saturation.TokensName,
			[]string{queueing.Name},
			"queueing has no vote, tokens decides",
		},
		{"hybrid", settings.Hybrid, settings.Spare, nil, queueing.Name, []string{saturation.Name}, ""},
		{"hybrid with tokens", settings.Hybrid, settings.Tokens, nil, queueing.Name, []string{saturation.TokensName}, ""},
		{"hybrid without an objective", settings.Hybrid, settings.Spare, noObjective, saturation.Name, []string{queueing.Name}, "saturation decides alone (ServiceClassMissing"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, snap := settingsOf(tc.engine, tc.method), snapshot(3)
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

// TestAnalyzerKeepsItsVoteForThreeIntervals: the arrival rate is missing from the second minute on,
// while the fleet is much too large.
func TestAnalyzerKeepsItsVoteForThreeIntervals(t *testing.T) {
	for _, engine := range []settings.Engine{settings.Queueing, settings.Hybrid} {
		history := memory.History{}
		var deciders []string
		for minute := range 7 {
			snap := snapshot(9)
			snap.At = at.Add(time.Duration(minute) * time.Minute)
			if minute > 0 {
				snap.Load.ArrivalRate = scaling.Reading{}
			}
			out := Decide(Input{Snapshot: snap, History: history, Settings: settingsOf(engine, settings.Spare), Interval: time.Minute})
			deciders = append(deciders, out.Analyses[0].Analyzer)
			target := out.Decisions[0].Target()
			if live := minute > 0 && minute <= 3; live && target != 9 {
				t.Errorf("%s, minute %d: %d replicas, although queueing has a vote and knows nothing", engine, minute, target)
			}
			if minute > 3 && target != 2 { // 9 replicas at a KV cache usage of 0.1 are 9 x 0.1/0.7 full ones
				t.Errorf("%s, minute %d: %d replicas, want 2 of saturation alone", engine, minute, target)
			}
			history = memory.History{snap.Variants[0].Key: {Desired: 9, DecidedAt: at.Add(-time.Hour), ProgressAt: at.Add(-time.Hour), ModelPast: memory.ModelPast{Informed: out.Informed}}}
		}
		q, s := queueing.Name, saturation.Name
		if diff := cmp.Diff([]string{q, q, q, q, s, s, s}, deciders); diff != "" {
			t.Errorf("%s: deciders (-want +got):\n%s", engine, diff)
		}
	}
}

// TestNothingIsGivenUpWhileAProfileIsLearned: nine replicas without a stated profile serve what
// three could. Tokens decide until the profile is learned, and then the queueing model. Engines
// that use no profile do not wait.
func TestNothingIsGivenUpWhileAProfileIsLearned(t *testing.T) {
	for _, tc := range []struct {
		engine   settings.Engine
		decoding float64
		waits    bool   // with the reduction
		model    string // its variant has an H100
	}{
		{settings.Hybrid, 5, true, "m"},
		{settings.Queueing, 5, true, "m"},
		{settings.Hybrid, 0, false, "m"},
		{settings.Saturation, 5, false, "m"},
		{settings.Hybrid, 5, true, "Qwen/Qwen3-14B"},
		{settings.Queueing, 5, true, "Qwen/Qwen3-14B"},
	} {
		history, shrunk := memory.History{}, 0
		for minute := 1; minute <= 8 && shrunk == 0; minute++ {
			snap := snapshot(9)
			snap.At = at.Add(time.Duration(minute) * time.Minute)
			snap.Variants[0].Profile = scaling.Profile{}
			snap.Variants[0].Model.ID, snap.Variants[0].Accelerator = tc.model, "H100"
			snap.Load.ArrivalRate = scaling.Measured(10, scaling.Fresh)
			for i := range snap.Replicas {
				if tc.decoding > 0 {
					snap.Replicas[i].Pace = scaling.Pace{Decoding: tc.decoding, ITL: 25, Started: 10.0 / 9, TTFT: 80}
				}
			}
			out := Decide(Input{Snapshot: snap, History: history, Settings: settingsOf(tc.engine, settings.Tokens), Interval: time.Minute})
			if out.Decisions[0].Target() < 9 {
				shrunk = minute
				if by := out.Analyses[0].Analyzer; tc.waits && by != queueing.Name {
					t.Errorf("%s: %s gives up %d of 9 replicas before the profile is learned", tc.engine, by, 9-out.Decisions[0].Target())
				}
			}
			key := snap.Variants[0].Key
			history = memory.History{key: {
				Desired: 9, DecidedAt: at.Add(-time.Hour), ProgressAt: at.Add(-time.Hour), ModelPast: memory.ModelPast{Informed: out.Informed, Traffic: out.Traffic}, Fit: out.Fits[key],
			}}
		}
		if want := tc.waits; shrunk == 0 || want != (shrunk >= memory.SamplesEnough) {
			t.Errorf("%s, %.0f decoding: gives up in minute %d", tc.engine, tc.decoding, shrunk)
		}
	}
}

// TestAComputedProfileGrowsBySteps: a computed profile exists from the first cycle on. It orders at
// most as many replicas as are Ready, although five are needed.
func TestAComputedProfileGrowsBySteps(t *testing.T) {
	snap := snapshot(2)
	v := &snap.Variants[0]
	v.Profile, v.Model.ID, v.Accelerator = scaling.Profile{}, "Qwen/Qwen3-14B", "H100"
	snap.Load.ArrivalRate = scaling.Measured(110, scaling.Fresh)
	out := Decide(Input{Snapshot: snap, Settings: settingsOf(settings.Hybrid, settings.Tokens), Interval: time.Minute})
	if d := out.Decisions[0]; d.Target() != 4 || out.Analyses[0].Analyzer != queueing.Name {
		t.Errorf("%d replicas by %s, want 4 by what is computed: %+v", d.Target(), out.Analyses[0].Analyzer, d.Steps)
	}
}

// TestAFitThatOutlivedARestartDecidesAtTheFirstLook: a new process with the stored fit decides as
// the old one would; without the fit it holds.
func TestAFitThatOutlivedARestartDecidesAtTheFirstLook(t *testing.T) {
	look := func(minute int, past memory.Past) (Outcome, memory.Past) {
		snap := snapshot(9)
		snap.At = at.Add(time.Duration(minute) * time.Minute)
		snap.Variants[0].Profile = scaling.Profile{}
		snap.Load.ArrivalRate = scaling.Measured(10, scaling.Fresh)
		for i := range snap.Replicas {
			snap.Replicas[i].Pace = scaling.Pace{Decoding: 5, ITL: 25, Started: 10.0 / 9, TTFT: 80}
		}
		key := snap.Variants[0].Key
		past.Model, past.Desired, past.DecidedAt = snap.Model, 9, at.Add(-time.Hour)
		out := Decide(Input{Snapshot: snap, History: memory.History{key: past}, Settings: settingsOf(settings.Hybrid, settings.Tokens), Interval: time.Minute})
		past.Informed, past.Traffic, past.Fit = out.Informed, out.Traffic, out.Fits[key]
		return out, past
	}
	var past memory.Past
	for minute := range 10 {
		_, past = look(minute, past)
	}
	goesOn, _ := look(10, past)
	restored, _ := look(10, memory.Past{Fit: past.Fit})
	without, _ := look(10, memory.Past{})
	if by := restored.Analyses[0].Analyzer; by != queueing.Name || restored.Decisions[0].Target() != goesOn.Decisions[0].Target() {
		t.Errorf("with the fit alone %s decides for %d replicas, want %s for %d", by, restored.Decisions[0].Target(), queueing.Name, goesOn.Decisions[0].Target())
	}
	if goesOn.Decisions[0].Target() >= 9 || without.Decisions[0].Target() != 9 {
		t.Errorf("%d replicas in the same process and %d without the fit, want less than the 9 that run and 9", goesOn.Decisions[0].Target(), without.Decisions[0].Target())
	}
}

func TestNothingShrinksWithNoneLive(t *testing.T) {
	for _, engine := range []settings.Engine{settings.Saturation, settings.Queueing, settings.Hybrid} {
		for _, method := range []settings.Method{settings.Spare, settings.Tokens} {
			snap := snapshot(9)
			snap.Load = scaling.Load{}
			for i, r := range snap.Replicas {
				snap.Replicas[i] = scaling.ReplicaSample{Pod: r.Pod, Variant: r.Variant, Ready: true}
			}
			out := Decide(Input{Snapshot: snap, Settings: settingsOf(engine, method), Interval: time.Minute})
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
	later := at.Add(time.Hour)
	h := memory.History{key: {ModelPast: memory.ModelPast{
		Informed: []memory.Informed{{Analyzer: queueing.Name, At: later}}, Backlog: memory.Backlog{Waiting: 7, At: later},
	}}}
	out := Decide(Input{Snapshot: snap, History: h, Settings: settingsOf(settings.Queueing, settings.Spare), Interval: time.Minute})
	if out.Analyses[0].Analyzer != saturation.Name || out.Backlog.Waiting != 0 {
		t.Errorf("%s decides, backlog %+v", out.Analyses[0].Analyzer, out.Backlog)
	}
}

// growing decides at each minute while the arrival rate grows, and keeps the history.
func growing(t *testing.T, engine settings.Engine, change func(*scaling.Snapshot)) (Outcome, memory.History) {
	t.Helper()
	history := memory.History{}
	var out Outcome
	for minute := range 4 {
		snap := snapshot(3)
		snap.At = at.Add(time.Duration(minute) * time.Minute)
		snap.Variants[0].StartUp = 2 * time.Minute
		second := snap.Variants[0]
		second.Key.Name, second.Cost, second.Replicas = "w", 20, scaling.ReplicaCounts{Observed: true}
		snap.Variants = append(snap.Variants, second)
		snap.Load.ArrivalRate = scaling.Measured(8+4*float64(minute), scaling.Fresh)
		for i := range snap.Replicas {
			snap.Replicas[i].Running = scaling.Measured(10, scaling.Fresh)
		}
		if change != nil {
			change(&snap)
		}
		out = Decide(Input{Snapshot: snap, History: history, Settings: settingsOf(engine, settings.Spare), Interval: time.Minute})
		history = memory.History{}
		for _, v := range snap.Variants {
			history[v.Key] = memory.Past{
				Desired: v.Replicas.Current, DecidedAt: at, ProgressAt: at,
				ModelPast: memory.ModelPast{Informed: out.Informed, Backlog: out.Backlog, Traffic: out.Traffic},
			}
		}
	}
	return out, history
}

func TestGrowthThatIsRememberedIsOrderedAhead(t *testing.T) {
	for _, engine := range []settings.Engine{settings.Queueing, settings.Hybrid} {
		out, _ := growing(t, engine, nil)
		a := out.Analyses[0]
		if a.Analyzer != queueing.Name || a.Demand <= 20 || a.Signal != scaling.Grow {
			t.Errorf("%s: %s, %s, a demand of %g while 20 arrive", engine, a.Analyzer, a.Signal, a.Demand)
		}
		if detail := out.Decisions[0].Cause().Detail; !strings.Contains(detail, "are expected in 3m15s (20 arrive") {
			t.Errorf("%s: what is ordered ahead is not explained: %s", engine, detail)
		}
		reversed, _ := growing(t, engine, func(s *scaling.Snapshot) {
			slices.Reverse(s.Variants)
			slices.Reverse(s.Replicas)
		})
		if diff := cmp.Diff(out, reversed, cmpopts.IgnoreFields(Outcome{}, "Votes")); diff != "" {
			t.Errorf("%s: in another order (-want +got):\n%s", engine, diff)
		}
	}
}

// TestTrafficIsOfTheLatestLook: a variant that was added later, or restored after a restart,
// remembers less of the model or nothing.
func TestTrafficIsOfTheLatestLook(t *testing.T) {
	out, history := growing(t, settings.Queueing, nil)
	snap := snapshot(3)
	snap.At = at.Add(4 * time.Minute)
	snap.Load.ArrivalRate = scaling.Reading{}
	again := Decide(Input{Snapshot: snap, History: history, Settings: settingsOf(settings.Queueing, settings.Spare), Interval: time.Minute})
	if diff := cmp.Diff(out.Traffic.Arrivals, again.Traffic.Arrivals); diff != "" {
		t.Errorf("a look without a rate (-want +got):\n%s", diff)
	}
	joined := snap
	joined.Variants = append([]scaling.Variant{}, snap.Variants...)
	joined.Variants = append(joined.Variants, scaling.Variant{Key: scaling.VariantKey{Namespace: "ns", Name: "a"}, Model: snap.Model})
	history[scaling.VariantKey{Namespace: "ns", Name: "a"}] = memory.Past{Desired: 1, DecidedAt: at}
	withNew := Decide(Input{Snapshot: joined, History: history, Settings: settingsOf(settings.Queueing, settings.Spare), Interval: time.Minute})
	if diff := cmp.Diff(again.Traffic, withNew.Traffic); diff != "" {
		t.Errorf("a variant without a memory (-want +got):\n%s", diff)
	}
	early := snap
	early.At = at.Add(-time.Hour)
	if got := Decide(Input{Snapshot: early, History: history, Settings: settingsOf(settings.Queueing, settings.Spare), Interval: time.Minute}).Traffic; len(got.Arrivals) != 0 {
		t.Errorf("of the future: %+v", got)
	}
}

// TestHybridTakesNoVariantForBetterThanItsProfile: saturation calls for growth, and a
// cheaper variant is at zero. Saturation takes its capacity from its profile, and 0 without
// one.
func TestHybridTakesNoVariantForBetterThanItsProfile(t *testing.T) {
	grown := func(change func(*scaling.Variant)) (v, cheap scaling.Replicas) {
		snap := snapshot(3)
		other := snap.Variants[0]
		other.Key.Name, other.Cost, other.Replicas = "cheap", 1, scaling.ReplicaCounts{Observed: true}
		change(&other)
		snap.Variants = append(snap.Variants, other)
		for i := range snap.Replicas {
			snap.Replicas[i].KVCacheUsage, snap.Replicas[i].KVCacheUsageNow = scaling.Measured(0.78, scaling.Fresh), scaling.Measured(0.78, scaling.Fresh)
		}
		for _, d := range Decide(Input{Snapshot: snap, Settings: settingsOf(settings.Hybrid, settings.Spare), Interval: time.Minute}).Decisions {
			if d.Variant.Name == "cheap" {
				cheap = d.Target()
			} else {
				v = d.Target()
			}
		}
		return v, cheap
	}
	for _, tc := range []struct {
		name     string
		change   func(*scaling.Variant)
		v, cheap scaling.Replicas
	}{
		// 3 x 0.78/0.7 = 3.34 replicas are needed.
		{"as fast", func(*scaling.Variant) {}, 3, 1},
		{"no profile", func(v *scaling.Variant) { v.Profile = scaling.Profile{} }, 4, 0},
		{"out of reach of the objectives", func(v *scaling.Variant) { v.Profile.Alpha = 41 }, 4, 0},
		{"with a small batch", func(v *scaling.Variant) { v.Profile.MaxBatchSize = 12 }, 3, 2},
	} {
		if v, cheap := grown(tc.change); v != tc.v || cheap != tc.cheap {
			t.Errorf("%s: %d of v and %d of the cheaper one, want %d and %d", tc.name, v, cheap, tc.v, tc.cheap)
		}
	}
}

// TestHybridCountsAFasterReplicaForMore: two variants have the same KV caches, and one computes
// four times as fast at twice the cost. Growth by the faster one costs least, for the demand of
// saturation too.
func TestHybridCountsAFasterReplicaForMore(t *testing.T) {
	for _, tc := range []struct {
		name   string
		fast   scaling.Replicas // Ready replicas of the fast variant
		method settings.Method
		known  float64 // last known token capacity of a fast replica
	}{
		{"both run", 1, settings.Spare, 0},
		{"the fast one never ran", 0, settings.Spare, 0},
		{"the fast one never ran, by tokens", 0, settings.Tokens, 0},
		{"the fast one ran before, by tokens", 0, settings.Tokens, 32_000},
	} {
		t.Run(tc.name, func(t *testing.T) {
			fresh := func(v float64) scaling.Reading { return scaling.Measured(v, scaling.Fresh) }
			snap := snapshot(3 + tc.fast)
			fast := snap.Variants[0]
			fast.Key.Name, fast.Cost = "w", 20
			fast.Profile.Alpha, fast.Profile.Beta, fast.Profile.Gamma, fast.Profile.Delta = 5.145, 0.1025, 1.3, 0.0025
			fast.Replicas = scaling.ReplicaCounts{Observed: true, Current: tc.fast, Ready: tc.fast}
			snap.Variants[0].Replicas.Current, snap.Variants[0].Replicas.Ready = 3, 3
			snap.Variants = append(snap.Variants, fast)
			for i := range snap.Replicas {
				r := &snap.Replicas[i]
				if i >= 3 {
					r.Variant = fast.Key
				}
				r.KVCacheUsage, r.KVCacheUsageNow, r.QueueLength, r.QueueLengthNow, r.Running = fresh(0.8), fresh(0.8), fresh(200), fresh(200), fresh(64)
			}
			snap.Load.ArrivalRate, snap.Load.ITL = fresh(200), fresh(46.8)
			history := memory.History{fast.Key: {Capacity: memory.TokenCapacity{PerReplica: tc.known, At: at.Add(-time.Hour)}}}
			out := Decide(Input{Snapshot: snap, History: history, Settings: settingsOf(settings.Hybrid, tc.method), Interval: time.Minute})
			// Within the objectives a slow replica serves 8.9 requests/s and a fast one 39.7, so 5
			// fast ones serve arrivals and backlog. Where both run, the overload asks for 9: it is
			// estimated by the mean ITL, at which a fast replica completes 22. Latencies correct no
			// profile while requests wait.
			if slow, n := out.Decisions[0], out.Decisions[1]; slow.Target() != 3 || n.Target() < 5 || n.Target() > 9 {
				t.Errorf("%d slow and %d fast replicas, want 3 and 5 to 9: %s", slow.Target(), n.Target(), n.Cause().Detail)
			}
		})
	}
}

// TestABacklogIsKnownAlthoughOneReplicaIsSilent: the remembered backlog is used for two windows,
// even if the replica stays silent for longer.
func TestABacklogIsKnownAlthoughOneReplicaIsSilent(t *testing.T) {
	history := memory.History{}
	for minute, want := range []float64{30, 30, 20, 20} {
		snap := snapshot(3)
		snap.At = at.Add(time.Duration(minute) * time.Minute)
		for i := range snap.Replicas {
			snap.Replicas[i].QueueLength, snap.Replicas[i].QueueLengthNow = scaling.Measured(10, scaling.Fresh), scaling.Measured(10, scaling.Fresh)
		}
		if minute > 0 {
			snap.Replicas[0] = scaling.ReplicaSample{Pod: "v0", Variant: snap.Variants[0].Key, Ready: true}
		}
		out := Decide(Input{Snapshot: snap, History: history, Settings: settingsOf(settings.Saturation, settings.Spare), Interval: time.Minute})
		if out.Backlog.Waiting != want {
			t.Errorf("minute %d: %g wait, want %g", minute, out.Backlog.Waiting, want)
		}
		history = memory.History{snap.Variants[0].Key: {Desired: 3, DecidedAt: at, ProgressAt: at, ModelPast: memory.ModelPast{Backlog: out.Backlog}}}
	}
}
