package queueing

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/queueing/profile"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/analyzer"
)

var (
	at        = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	model     = scaling.ModelKey{Namespace: "ns", ID: "m"}
	objective = scaling.Objective{Class: "premium", Priority: 1, TTFT: 1000, ITL: 40}
	// a100 is the published profile of an A100, with a Delta for long prompts.
	a100 = scaling.Profile{Source: "variantProfile", Alpha: 20.58, Beta: 0.41, Gamma: 5.2, Delta: 0.01, MaxBatchSize: 64}
)

func fresh(v float64) scaling.Reading { return scaling.Measured(v, scaling.Fresh) }

func variant(name string, profile scaling.Profile, replicas scaling.Replicas) scaling.Variant {
	return scaling.Variant{
		Key: scaling.VariantKey{Namespace: "ns", Name: name}, Model: model, Profile: profile,
		Replicas: scaling.ReplicaCounts{Observed: true, Current: replicas, Ready: replicas},
	}
}

// snapshot returns a snapshot in which every reading is Fresh.
func snapshot(rate float64, variants ...scaling.Variant) scaling.Snapshot {
	s := scaling.Snapshot{Model: model, At: at, Window: time.Minute, Variants: variants, Load: scaling.Load{
		ArrivalRate: fresh(rate), InputTokens: fresh(256), OutputTokens: fresh(128), GatewayQueue: scaling.Reading{State: scaling.NotApplicable},
	}}
	for _, v := range variants {
		for i := range v.Replicas.Ready {
			s.Replicas = append(s.Replicas, scaling.ReplicaSample{Pod: fmt.Sprint(v.Key.Name, i), Variant: v.Key, Ready: true, QueueLengthNow: fresh(0), QueueLength: fresh(0)})
		}
	}
	return s
}

func TestReplicaIsSizedAsTheQueueingModelSaysItIs(t *testing.T) {
	q, err := analyzer.NewQueueAnalyzer(analyzer.Config{
		MaxBatch: 64, MaxQueue: 640, Service: analyzer.FourParameter{Alpha: 20.58, Beta: 0.41, Gamma: 5.2, Delta: 0.01},
		Size: analyzer.RequestSize{InputTokens: 256, OutputTokens: 128},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{{}, Default(), {TTFTPercentile: 0.99, ITLPercentile: 0.9}} {
		want, err := q.Size(analyzer.Targets{TTFT: 1000, TTFTPercentile: o.TTFTPercentile, ITL: 40, ITLPercentile: o.ITLPercentile})
		if err != nil {
			t.Fatal(err)
		}
		a := Analyze(snapshot(5, variant("v", a100, 1)), objective, o, Memory{})
		if got := a.Variants[0].PerReplica; got != want.Rate {
			t.Errorf("%+v: %g requests/s, want %g", o, got, want.Rate)
		}
		if !strings.Contains(a.Variants[0].Source, "limits the rate") {
			t.Errorf("%+v: nothing says what limits the rate: %q", o, a.Variants[0].Source)
		}
	}
}

func TestDemandIsThatOfTheModel(t *testing.T) {
	for _, tc := range []struct {
		name    string
		change  func(*scaling.Snapshot)
		backlog float64 // requests/s on top of the rate; -1 for one replica
	}{
		{"nothing waits", func(*scaling.Snapshot) {}, 0},
		{"a small queue is cleared in a minute", func(s *scaling.Snapshot) { s.Replicas[0].QueueLengthNow = fresh(30) }, 0.5},
		{"at the gateway, too", func(s *scaling.Snapshot) { s.Load.GatewayQueue = fresh(60) }, 1},
		{"by one replica at most", func(s *scaling.Snapshot) { s.Load.GatewayQueue = fresh(1200) }, -1},
		{"the peak where the latest is not known", func(s *scaling.Snapshot) {
			s.Replicas[0].QueueLengthNow, s.Replicas[0].QueueLength = scaling.Reading{}, fresh(60)
		}, 1},
	} {
		s := snapshot(12, variant("v", a100, 2), variant("w", a100, 0))
		tc.change(&s)
		a := Analyze(s, objective, Default(), Memory{})
		want := 12 + tc.backlog
		if tc.backlog < 0 {
			want = 12 + a.Variants[0].PerReplica
		}
		if a.Demand != want {
			t.Errorf("%s: demand %g, want %g", tc.name, a.Demand, want)
		}
		if got := 2 * a.Variants[0].PerReplica; a.Supply != got || a.Anticipated != got {
			t.Errorf("%s: supply %g, anticipated %g, want %g", tc.name, a.Supply, a.Anticipated, got)
		}
	}
}

// silent removes the readings of the last n replicas.
func silent(n int) func(*scaling.Snapshot) {
	return func(s *scaling.Snapshot) {
		for i := len(s.Replicas) - n; i < len(s.Replicas); i++ {
			s.Replicas[i] = scaling.ReplicaSample{Pod: s.Replicas[i].Pod, Variant: s.Replicas[i].Variant, Ready: true}
		}
	}
}

// computing makes each replica compute n requests, of which none ends.
func computing(n float64) func(*scaling.Snapshot) {
	return func(s *scaling.Snapshot) {
		s.Load.InputTokens, s.Load.OutputTokens = scaling.Reading{State: scaling.NotApplicable}, scaling.Reading{State: scaling.NotApplicable}
		for i := range s.Replicas {
			s.Replicas[i].Running = fresh(n)
		}
	}
}

func TestSignals(t *testing.T) {
	slow := scaling.Profile{Source: "variantProfile", Alpha: 50, Gamma: 5, MaxBatchSize: 8} // ITL 50 ms at best
	for _, tc := range []struct {
		name     string
		snapshot scaling.Snapshot
		change   func(*scaling.Snapshot)
		want     scaling.Signal
		reason   scaling.Reason
		says     string
	}{
		{"too much", snapshot(30, variant("v", a100, 1)), nil, scaling.Grow, scaling.ReasonDemand, "30 requests/s are to be served"},
		{"ordered already", snapshot(12, variant("v", a100, 1)), func(s *scaling.Snapshot) { s.Variants[0].Replicas.Current = 2 }, scaling.Steady, scaling.ReasonSteady, ""},
		{"too little", snapshot(3, variant("v", a100, 2)), nil, scaling.Shrink, scaling.ReasonSpareCapacity, ""},
		{"no requests", snapshot(0, variant("v", a100, 2)), func(s *scaling.Snapshot) {
			s.Load.InputTokens, s.Load.OutputTokens = scaling.Reading{}, scaling.Reading{}
		}, scaling.Shrink, scaling.ReasonSpareCapacity, ""},
		{
			"the rate ages", snapshot(3, variant("v", a100, 2)), func(s *scaling.Snapshot) { s.Load.ArrivalRate.State = scaling.Aging }, scaling.Steady,
			scaling.ReasonSteady, "the arrival rate is aging",
		},
		{
			"the rate ages and is too much", snapshot(30, variant("v", a100, 1)), func(s *scaling.Snapshot) { s.Load.ArrivalRate.State = scaling.Aging },
			scaling.Grow, scaling.ReasonDemand, "",
		},
		{
			"a silent replica is full, and the other serves the rest", snapshot(3, variant("v", a100, 2)), silent(1), scaling.Shrink, scaling.ReasonSpareCapacity,
			"v1, without a fresh queue length, count as full",
		},
		{
			"a silent replica is full, and the other cannot serve the rest", snapshot(9, variant("v", a100, 2)), silent(1), scaling.Steady, scaling.ReasonSteady,
			"not reduced: v1, without a fresh queue length, count as full",
		},
		{"no requests, and all are silent", snapshot(0, variant("v", a100, 2)), silent(2), scaling.Steady, scaling.ReasonSteady, "0 requests are being computed"},
		{
			"requests are computed and none arrives", snapshot(0, variant("v", a100, 3)), computing(50), scaling.Steady, scaling.ReasonSteady,
			"150 requests are being computed and none arrives",
		},
		{
			"few requests are computed and none arrives", snapshot(0, variant("v", a100, 3)), computing(12), scaling.Shrink, scaling.ReasonSpareCapacity,
			"36 requests are being computed",
		},
		{"full batches, although little arrives", snapshot(3, variant("v", a100, 2)), func(s *scaling.Snapshot) {
			for i := range s.Replicas {
				s.Replicas[i].Running = fresh(60)
			}
		}, scaling.Steady, scaling.ReasonSteady, "not reduced: 120 requests are being computed"},
		{
			"no rate", snapshot(3, variant("v", a100, 2)), func(s *scaling.Snapshot) { s.Load.ArrivalRate = scaling.Reading{} }, scaling.Unknown,
			scaling.ReasonNoData, "arrival rate is absent",
		},
		{
			"no source", snapshot(3, variant("v", a100, 2)), func(s *scaling.Snapshot) { s.Load.ArrivalRate, s.Fault = scaling.Reading{}, "connection refused" },
			scaling.Unknown, scaling.ReasonNoData, "connection refused",
		},
		{
			"no lengths", snapshot(3, variant("v", a100, 2)), func(s *scaling.Snapshot) { s.Load.OutputTokens.State = scaling.Stale }, scaling.Unknown,
			scaling.ReasonNoData, "output tokens stale",
		},
		{"no profile of some that run", snapshot(30, variant("v", a100, 2), variant("w", scaling.Profile{}, 1)), nil, scaling.Grow, scaling.ReasonDemand, ""},
		{"no profile of any that runs", snapshot(3, variant("v", a100, 0), variant("w", scaling.Profile{}, 1)), nil, scaling.Unknown, scaling.ReasonProfileMissing, "w has none"},
		{"no profile of what does not run", snapshot(30, variant("v", a100, 2), variant("w", scaling.Profile{}, 0)), nil, scaling.Grow, scaling.ReasonDemand, ""},
		{
			"a profile that cannot be read", snapshot(3, variant("v", scaling.Profile{Source: "x", Problem: "alpha is \"a\""}, 2)), nil, scaling.Unknown,
			scaling.ReasonProfileMissing, "alpha is",
		},
		{
			"no variant meets the objectives", snapshot(3, variant("v", slow, 1)), nil, scaling.Grow, scaling.ReasonObjectiveInfeasible,
			"v has ITL of 50 ms at best, 40 ms is wanted",
		},
		{"one variant meets the objectives", snapshot(3, variant("v", slow, 1), variant("w", a100, 0)), nil, scaling.Grow, scaling.ReasonDemand, ""},
	} {
		if tc.change != nil {
			tc.change(&tc.snapshot)
		}
		a := Analyze(tc.snapshot, objective, Default(), Memory{})
		if a.Signal != tc.want || a.Reason != tc.reason || !strings.Contains(a.Detail, tc.says) {
			t.Errorf("%s: got %s, %s, %q, want %s, %s, %q", tc.name, a.Signal, a.Reason, a.Detail, tc.want, tc.reason, tc.says)
		}
	}
	if a := Analyze(snapshot(3, variant("v", a100, 2)), scaling.Objective{}, Default(), Memory{}); a.Signal != scaling.Unknown || a.Reason != scaling.ReasonServiceClassMissing {
		t.Errorf("without an objective: %s, %s", a.Signal, a.Reason)
	}
}

func TestInfeasibleVariantsAreNamedAndCarryNothing(t *testing.T) {
	slow := scaling.Profile{Source: "variantProfile", Alpha: 50, Gamma: 5, MaxBatchSize: 8}
	a := Analyze(snapshot(3, variant("v", slow, 1), variant("w", a100, 0)), objective, Default(), Memory{})
	want := []scaling.Infeasible{{Variant: scaling.VariantKey{Namespace: "ns", Name: "v"}, Target: "ITL", Wanted: 40, Best: 50}}
	if diff := cmp.Diff(want, a.Infeasible); diff != "" {
		t.Errorf("infeasible (-want +got):\n%s", diff)
	}
	if a.Variants[0].PerReplica != 0 || a.Variants[1].PerReplica == 0 {
		t.Errorf("capacities %+v", a.Variants)
	}
}

func TestPrefixHitsNeedNoPrefill(t *testing.T) {
	long := func(hits float64) float64 {
		s := snapshot(1, variant("v", a100, 1))
		s.Load.InputTokens, s.Load.PrefixHits = fresh(4000), fresh(hits)
		return Analyze(s, objective, Default(), Memory{}).Variants[0].PerReplica
	}
	if none, half, all := long(0), long(0.5), long(1); !(none < half && half < all) {
		t.Errorf("%g, %g and %g requests/s without, with half and with all hits: want ever more", none, half, all)
	}
}

func TestContradictionsShowBothNumbers(t *testing.T) {
	for _, tc := range []struct {
		name      string
		ttft, itl float64 // measured, as a multiple of what is predicted
		change    func(*scaling.Snapshot)
		want      []string
		signal    scaling.Signal
	}{
		{"as predicted", 1, 1, nil, nil, scaling.Shrink},
		{"within half", 1.4, 0.51, nil, nil, scaling.Shrink},
		{"slower tokens, to which the profile is corrected", 1, 1.6, nil, []string{"ITL"}, scaling.Shrink},
		{"slower in all, to which the profile is corrected", 2, 1.6, nil, []string{"ITL", "TTFT"}, scaling.Shrink},
		// A slope is at most doubled, which explains an ITL of 1.6 times, not of twice.
		{"slower than a profile is corrected to", 2, 2, nil, []string{"ITL", "TTFT"}, scaling.Steady},
		{"slower, and near the objective", 80, 1, nil, []string{"TTFT"}, scaling.Steady},
		{"faster than promised", 0.4, 0.4, nil, []string{"ITL", "TTFT"}, scaling.Shrink},
		{"a replica is new", 2, 2, func(s *scaling.Snapshot) { s.Variants[0].Replicas.NewestReady = at.Add(-time.Second) }, nil, scaling.Shrink},
		{"requests wait", 2, 2, func(s *scaling.Snapshot) { s.Replicas[0].QueueLengthNow = fresh(9) }, nil, scaling.Shrink},
		{"old measurements", 2, 2, func(s *scaling.Snapshot) { s.Load.ITL.State, s.Load.TTFT.State = scaling.Aging, scaling.Aging }, nil, scaling.Shrink},
	} {
		s := snapshot(4, variant("v", a100, 2))
		predicted := Analyze(s, objective, Default(), Memory{}).Predicted
		if predicted.ITL <= a100.Alpha || predicted.TTFT <= a100.Gamma {
			t.Fatalf("predicted %+v", predicted)
		}
		s.Load.TTFT, s.Load.ITL = fresh(tc.ttft*predicted.TTFT), fresh(tc.itl*predicted.ITL)
		if tc.change != nil {
			tc.change(&s)
		}
		a := Analyze(s, objective, Default(), Memory{Traffic: memory.Traffic{Means: means(s)}})
		var got []string
		for _, c := range a.Contradictions {
			got = append(got, c.Quantity)
			if c.Predicted <= 0 || c.Measured <= 0 {
				t.Errorf("%s: %+v", tc.name, c)
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" || a.Signal != tc.signal {
			t.Errorf("%s: %s, contradictions (-want +got):\n%s", tc.name, a.Signal, diff)
		}
	}
}

// TestWhatIsStatedIsContradictedByWhatWasLearned: a stated profile twice as slow as the learned one
// is reported as a contradiction, and does not decide.
func TestWhatIsStatedIsContradictedByWhatWasLearned(t *testing.T) {
	learned, stated := a100, a100
	learned.Source = profile.Source
	stated.Alpha, stated.Beta = 2*a100.Alpha, 2*a100.Beta
	v := variant("v", learned, 2)
	s := snapshot(4, v)
	alone := Analyze(s, objective, Default(), Memory{})
	s.Variants[0].Stated = stated
	s.Load.TTFT, s.Load.ITL = fresh(alone.Predicted.TTFT), fresh(alone.Predicted.ITL)
	a := Analyze(s, objective, Default(), Memory{})
	if len(a.Contradictions) == 0 || a.Contradictions[0].Quantity != "ITL" || a.Contradictions[0].Predicted < 1.8*a.Contradictions[0].Measured {
		t.Errorf("%+v, want an ITL of about twice what is measured", a.Contradictions)
	}
	if a.Variants[0].PerReplica != alone.Variants[0].PerReplica {
		t.Errorf("a replica serves %g requests/s beside what is stated, %g without", a.Variants[0].PerReplica, alone.Variants[0].PerReplica)
	}
}

// randomSnapshot draws a snapshot, an objective and options; any reading may be missing.
func randomSnapshot(r *rand.Rand) (scaling.Snapshot, scaling.Objective, Options) {
	reading := func(most float64) scaling.Reading {
		return scaling.Measured(most*r.Float64()*float64(r.IntN(3)), scaling.Freshness(max(0, r.IntN(9)-4)))
	}
	var variants []scaling.Variant
	for i := range r.IntN(4) {
		p := scaling.Profile{Source: "x", Alpha: 40 * r.Float64(), Beta: r.Float64(), Gamma: 20 * r.Float64(), Delta: 0.05 * r.Float64(), MaxBatchSize: r.IntN(40)}
		if r.IntN(4) == 0 {
			p.Source = ""
		}
		v := variant(fmt.Sprint("v", i), p, scaling.Replicas(r.IntN(4)))
		v.Replicas.Observed = r.IntN(6) > 0
		variants = append(variants, v)
	}
	s := snapshot(0, variants...)
	s.Load = scaling.Load{ArrivalRate: reading(20), InputTokens: reading(3000), OutputTokens: reading(300), TTFT: reading(2000), ITL: reading(80), GatewayQueue: reading(50), PrefixHits: reading(1)}
	for i := range s.Replicas {
		s.Replicas[i].QueueLengthNow, s.Replicas[i].QueueLength = reading(20), reading(20)
	}
	return s, scaling.Objective{TTFT: 3000 * r.Float64() * float64(r.IntN(2)), ITL: 80 * r.Float64() * float64(r.IntN(2))}, Options{TTFTPercentile: 0.99 * r.Float64(), ITLPercentile: 0.5 * float64(r.IntN(2))}
}

func checkAnalysis(t *testing.T, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 23))
	s, o, options := randomSnapshot(r)
	a := Analyze(s, o, options, Memory{})
	encoded, err := json.Marshal(a) // refuses numbers that are not finite
	if err != nil {
		t.Fatal(err)
	}
	if a.Demand < 0 || a.Supply < 0 || a.Anticipated < a.Supply || a.Reason == "" || a.Detail == "" {
		t.Errorf("seed %d: %+v", seed, a)
	}
	if a.Signal == scaling.Shrink {
		for _, sample := range s.Replicas {
			if q := sample.QueueLengthNow; q.Known() && q.State != scaling.Fresh || s.Load.ArrivalRate.State != scaling.Fresh {
				t.Errorf("seed %d: shrinks on %s", seed, q.State)
			}
		}
	}
	for _, c := range a.Variants {
		if math.IsNaN(c.PerReplica) || c.PerReplica < 0 || c.Source == "" {
			t.Errorf("seed %d: %+v", seed, c)
		}
	}
	r.Shuffle(len(s.Variants), func(i, j int) { s.Variants[i], s.Variants[j] = s.Variants[j], s.Variants[i] })
	r.Shuffle(len(s.Replicas), func(i, j int) { s.Replicas[i], s.Replicas[j] = s.Replicas[j], s.Replicas[i] })
	again, err := json.Marshal(Analyze(s, o, options, Memory{}))
	if err != nil {
		t.Fatal(err)
	}
	if string(encoded) != string(again) {
		t.Errorf("seed %d: shuffled:\n%s\n%s", seed, encoded, again)
	}
}

func TestAnalysesAreFiniteAndIndifferentToOrder(t *testing.T) {
	for seed := range uint64(400) {
		if checkAnalysis(t, seed); t.Failed() {
			return
		}
	}
}

func FuzzAnalyze(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(checkAnalysis)
}

func BenchmarkAnalyze(b *testing.B) {
	s := snapshot(12, variant("v", scaling.Profile{Source: "x", Alpha: 20, Beta: 0.4, Gamma: 5, Delta: 0.01, MaxBatchSize: 256}, 3))
	for b.Loop() {
		Analyze(s, objective, Default(), Memory{})
	}
}

func TestAnAnalysisIsDoubtfulWhereOnlyAReadingKeepsReplicas(t *testing.T) {
	for _, tc := range []struct {
		name     string
		rate     float64
		aging    bool
		doubtful bool
	}{
		{"an aging rate that needs fewer", 1, true, true},
		{"a fresh rate that needs fewer", 1, false, false},
		{"an aging rate that needs more", 1000, true, false},
	} {
		s := snapshot(tc.rate, variant("v", a100, 4))
		if tc.aging {
			s.Load.ArrivalRate.State = scaling.Aging
		}
		if a := Analyze(s, objective, Default(), Memory{}); a.Doubtful != tc.doubtful {
			t.Errorf("%s: got %+v", tc.name, a)
		}
	}
}
