package saturation

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/goldentest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/optimizer"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// tokenInputs are the inputs of the published token capacity analyzer.
type tokenInputs struct {
	Config   TokenThresholds
	Replicas []struct {
		Accelerator, Pod, Variant                          string
		AvgInputTokens, AvgOutputTokens, Cost, QueueLength float64
		PrefixCacheHitRate                                 float64 // of prompts
		TokensInUse, TotalKVCapacityTokens                 float64
	}
	SchedulerQueue *struct{ Size, Bytes float64 } // requests that the gateway holds; the bytes of their prompts are not used here
	States         []struct {
		Variant          string
		Current, Pending scaling.Replicas
	}
}

type tokenOutcome struct {
	Decisions                map[string]struct{ Target scaling.Replicas }
	TotalDemand, TotalSupply float64
	Variants                 []struct {
		Variant            string
		PerReplicaCapacity float64
	}
}

// snapshot returns the case as this project would see it, with its mean lengths.
func (in tokenInputs) snapshot() scaling.Snapshot {
	snap := scaling.Snapshot{Model: scaling.ModelKey{Namespace: "ns", ID: "m"}, At: goldenNow, Window: time.Minute}
	for _, s := range in.States {
		v := scaling.Variant{
			Key: variantKey(s.Variant), Model: snap.Model, Bounds: scaling.Unbounded(), GPUsPerReplica: 1,
			Replicas: scaling.ReplicaCounts{Observed: true, Current: s.Current, Ready: s.Current - s.Pending, Pending: s.Pending},
		}
		for _, r := range in.Replicas {
			if r.Variant == s.Variant {
				v.Cost, v.Accelerator = r.Cost, r.Accelerator
			}
		}
		snap.Variants = append(snap.Variants, v)
	}
	fresh := func(v float64) scaling.Reading { return scaling.Measured(v, scaling.Fresh) }
	for _, r := range in.Replicas {
		usage := fresh(r.TokensInUse / max(1, r.TotalKVCapacityTokens))
		snap.Load.InputTokens, snap.Load.OutputTokens = fresh(r.AvgInputTokens), fresh(r.AvgOutputTokens)
		snap.Load.PrefixHits = fresh(r.PrefixCacheHitRate)
		snap.Replicas = append(snap.Replicas, scaling.ReplicaSample{
			Pod: r.Pod, Variant: variantKey(r.Variant), Ready: true, KVCapacity: fresh(r.TotalKVCapacityTokens),
			KVCacheUsage: usage, KVCacheUsageNow: usage, QueueLength: fresh(r.QueueLength), QueueLengthNow: fresh(r.QueueLength),
		})
	}
	if in.SchedulerQueue != nil {
		snap.Load.GatewayQueue = fresh(in.SchedulerQueue.Size)
	}
	return snap
}

// TestGoldenTokens compares with the recorded cases; none deviates. This project does not compute
// required and spare capacity, but they show in the decisions.
func TestGoldenTokens(t *testing.T) {
	for _, c := range goldentest.Read[tokenInputs, tokenOutcome](t, "saturation-v2") {
		t.Run(c.String(), func(t *testing.T) {
			snap := c.Inputs.snapshot()
			view := Tokens(snap, c.Inputs.Config, nil, time.Minute)
			a := view.Analysis
			near(t, "demand", a.Demand*c.Inputs.Config.ScaleUpThreshold, c.Expected.TotalDemand, c.Tolerance)
			near(t, "supply", a.Supply, c.Expected.TotalSupply, c.Tolerance)
			for i, want := range c.Expected.Variants {
				if a.Signal == scaling.Unknown {
					break // without a known KV cache there is no analysis
				}
				equal(t, "variant", a.Variants[i].Variant.Name, want.Variant)
				near(t, "capacity of "+want.Variant, a.Variants[i].PerReplica, want.PerReplicaCapacity, c.Tolerance)
			}
			got := map[string]scaling.Replicas{}
			for _, d := range optimizer.Cover(optimizer.Votes{Snapshot: snap, Analyses: []scaling.Analysis{a}}) {
				got[d.Variant.Name] = d.Target()
			}
			want := map[string]scaling.Replicas{}
			for name, d := range c.Expected.Decisions {
				want[name] = d.Target
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("targets (-want +got):\n%s", diff)
			}
		})
	}
}

// whenFull returns a memory of what full replicas held while answers were of one class of length.
func whenFull(length string, seen ...memory.Held) memory.TokenCapacity {
	return memory.TokenCapacity{At: goldenNow, Full: []memory.FullAt{{Length: length, Seen: seen}}}
}

// tokenSnapshot returns a variant whose replicas have a KV cache of 10,000 tokens each, used to
// usage, with queue waiting requests. Prompts have 1000 tokens, answers 200.
func tokenSnapshot(usage, queue float64, replicas scaling.Replicas) scaling.Snapshot {
	fresh := func(v float64) scaling.Reading { return scaling.Measured(v, scaling.Fresh) }
	snap := scaling.Snapshot{Model: scaling.ModelKey{Namespace: "ns", ID: "m"}, At: goldenNow, Window: time.Minute, Variants: []scaling.Variant{
		{
			Key: variantKey("v"), Accelerator: "A100", GPUsPerReplica: 1, Bounds: scaling.Unbounded(),
			Replicas: scaling.ReplicaCounts{Observed: true, Current: replicas, Ready: replicas},
		},
	}}
	snap.Load.InputTokens, snap.Load.OutputTokens = fresh(1000), fresh(200)
	for i := range replicas {
		snap.Replicas = append(snap.Replicas, scaling.ReplicaSample{
			Pod: fmt.Sprint("v", i), Variant: variantKey("v"), Ready: true, KVCapacity: fresh(10_000),
			KVCacheUsage: fresh(usage), KVCacheUsageNow: fresh(usage), QueueLength: fresh(queue), QueueLengthNow: fresh(queue),
		})
	}
	return snap
}

func TestCapacityOfAReplicaIsTheLeastOfItsLimits(t *testing.T) {
	for _, tc := range []struct {
		name   string
		snap   scaling.Snapshot
		change func(*scaling.Snapshot)
		past   memory.TokenCapacity
		want   float64
	}{
		{"memory", tokenSnapshot(0.1, 0, 1), nil, memory.TokenCapacity{}, 8000},
		{"what a full replica holds", tokenSnapshot(0.75, 5, 1), nil, memory.TokenCapacity{}, 7500},
		{"not while the replica is new", tokenSnapshot(0.75, 5, 1), func(s *scaling.Snapshot) { s.Variants[0].Replicas.NewestReady = goldenNow }, memory.TokenCapacity{}, 8000},
		{"not where neither cache nor batch explain the queue", tokenSnapshot(0.3, 5, 1), nil, memory.TokenCapacity{}, 8000},
		{"what a full batch holds", tokenSnapshot(0.3, 5, 1), func(s *scaling.Snapshot) {
			s.Variants[0].Limits.MaxBatch, s.Replicas[0].Running = 20, scaling.Measured(18, scaling.Fresh)
		}, memory.TokenCapacity{}, 3000},
		{"not where the batch has room", tokenSnapshot(0.3, 5, 1), func(s *scaling.Snapshot) {
			s.Variants[0].Limits.MaxBatch, s.Replicas[0].Running = 20, scaling.Measured(17, scaling.Fresh)
		}, memory.TokenCapacity{}, 8000},
		{
			"the mean of what full replicas held", tokenSnapshot(0.1, 0, 1), nil,
			whenFull("medium", memory.Held{At: goldenNow, Tokens: 4000}, memory.Held{At: goldenNow, Tokens: 5000}), 4500,
		},
		{
			"with answers of another length", tokenSnapshot(0.1, 0, 1), nil,
			whenFull("long", memory.Held{At: goldenNow, Tokens: 4000}),
			8000,
		},
		{
			"some too long ago", tokenSnapshot(0.1, 0, 1), nil,
			whenFull("medium", memory.Held{At: goldenNow.Add(-5 * time.Hour), Tokens: 2000}, memory.Held{At: goldenNow, Tokens: 4000}), 4000,
		},
		{"all too long ago", tokenSnapshot(0.1, 0, 1), nil, whenFull("medium", memory.Held{At: goldenNow.Add(-5 * time.Hour), Tokens: 4000}), 8000},
		// n = min(600*200/1200, 64) = 64, and 64 (1000 + 100) is above the memory.
		{
			"many requests of a batch", tokenSnapshot(0.1, 0, 1),
			func(s *scaling.Snapshot) { s.Variants[0].Limits = scaling.EngineLimits{BatchTokens: 600, MaxBatch: 64} },
			memory.TokenCapacity{},
			8000,
		},
		// n = min(30*200/1200, 64) = 5.
		{
			"few tokens of a step", tokenSnapshot(0.1, 0, 1),
			func(s *scaling.Snapshot) { s.Variants[0].Limits = scaling.EngineLimits{BatchTokens: 30, MaxBatch: 64} },
			memory.TokenCapacity{},
			5500,
		},
		{
			"few requests of a batch", tokenSnapshot(0.1, 0, 1),
			func(s *scaling.Snapshot) { s.Variants[0].Limits = scaling.EngineLimits{BatchTokens: 8192, MaxBatch: 4} },
			memory.TokenCapacity{},
			4400,
		},
		// One request of 1000 + 100 tokens, in several steps.
		{
			"a prompt longer than a step", tokenSnapshot(0.1, 0, 1),
			func(s *scaling.Snapshot) { s.Variants[0].Limits = scaling.EngineLimits{BatchTokens: 5, MaxBatch: 64} },
			memory.TokenCapacity{},
			1100,
		},
		{"prefill of unknown speed", tokenSnapshot(0.1, 0, 1), prefill(scaling.Profile{}), memory.TokenCapacity{}, 5500},
		{
			"prefill with a profile", tokenSnapshot(0.1, 0, 1),
			prefill(scaling.Profile{Source: "test", Alpha: 20, Beta: 0.4, Gamma: 6, Delta: 0.01, MaxBatchSize: 64}),
			memory.TokenCapacity{},
			8000,
		},
	} {
		if tc.change != nil {
			tc.change(&tc.snap)
		}
		view := Tokens(tc.snap, DefaultTokens(), memory.History{variantKey("v"): {Capacity: tc.past}}, time.Minute)
		if got := view.Analysis.Variants[0]; got.PerReplica != tc.want || got.Source == "" {
			t.Errorf("%s: got %+v, want %g", tc.name, got, tc.want)
		}
		if got := view.Capacity[variantKey("v")]; got.PerReplica != tc.want || !got.At.Equal(goldenNow) {
			t.Errorf("%s: remembers %+v", tc.name, got)
		}
	}
}

// prefill makes the variant one of prefill replicas with few tokens a step.
func prefill(p scaling.Profile) func(*scaling.Snapshot) {
	return func(s *scaling.Snapshot) {
		v := &s.Variants[0]
		v.Role, v.Profile, v.Limits = scaling.RolePrefill, p, scaling.EngineLimits{BatchTokens: 30, MaxBatch: 64}
	}
}

// TestAFasterReplicaCarriesMoreOfTheTokens: w computes a request in half the time. With caches as
// large and as full it carries twice as much.
func TestAFasterReplicaCarriesMoreOfTheTokens(t *testing.T) {
	per := func(change func(*scaling.Snapshot)) []float64 {
		s, fast := tokenSnapshot(0.4, 0, 3), tokenSnapshot(0.4, 0, 1)
		s.Variants[0].Profile = scaling.Profile{Source: "test", Alpha: 20, Beta: 0.4, Gamma: 6, Delta: 0.01, MaxBatchSize: 64}
		fast.Variants[0].Key, fast.Replicas[0].Variant, fast.Replicas[0].Pod = variantKey("w"), variantKey("w"), "w0"
		fast.Variants[0].Profile = scaling.Profile{Source: "test", Alpha: 10, Beta: 0.2, Gamma: 3, Delta: 0.005, MaxBatchSize: 64}
		s.Variants, s.Replicas = append(s.Variants, fast.Variants...), append(s.Replicas, fast.Replicas...)
		change(&s)
		view := Tokens(s, DefaultTokens(), nil, time.Minute)
		var out []float64
		for _, c := range view.Analysis.Variants {
			out = append(out, math.Round(c.PerReplica))
			if kept := view.Capacity[c.Variant].PerReplica; kept != 8000 {
				t.Errorf("%s: remembers %g, want what a replica holds, 8000", c.Variant.Name, kept)
			}
		}
		return out
	}
	for _, tc := range []struct {
		name   string
		change func(*scaling.Snapshot)
		want   []float64
	}{
		{"twice as fast", func(*scaling.Snapshot) {}, []float64{6400, 12_800}}, // 3 x 6400 + 12,800 = 4 x 8000
		{"of one the speed is not known", func(s *scaling.Snapshot) { s.Variants[1].Profile = scaling.Profile{} }, []float64{8000, 8000}},
		{"nor the length of answers", func(s *scaling.Snapshot) { s.Load.OutputTokens = scaling.Reading{} }, []float64{8000, 8000}},
	} {
		if diff := cmp.Diff(tc.want, per(tc.change)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

func TestVariantAtZeroIsKnownFromItsPastOrItsLike(t *testing.T) {
	snap := tokenSnapshot(0.9, 0, 1)
	like := scaling.Variant{Key: variantKey("w"), Accelerator: "A100", GPUsPerReplica: 1, Replicas: scaling.ReplicaCounts{Observed: true}}
	other := like
	other.Key, other.Accelerator = variantKey("x"), "H100"
	snap.Variants = append(snap.Variants, like, other)
	per := func(h memory.History) []float64 {
		var out []float64
		for _, c := range Tokens(snap, DefaultTokens(), h, time.Minute).Analysis.Variants {
			out = append(out, c.PerReplica)
		}
		return out
	}
	if diff := cmp.Diff([]float64{8000, 8000, 0}, per(nil)); diff != "" {
		t.Errorf("never seen (-want +got):\n%s", diff)
	}
	seen := memory.History{
		variantKey("w"): {Capacity: memory.TokenCapacity{PerReplica: 5000, At: goldenNow.Add(-6 * 24 * time.Hour)}},
		variantKey("x"): {Capacity: memory.TokenCapacity{PerReplica: 9000, At: goldenNow.Add(-8 * 24 * time.Hour)}},
	}
	if diff := cmp.Diff([]float64{8000, 5000, 0}, per(seen)); diff != "" {
		t.Errorf("seen within a week, and before (-want +got):\n%s", diff)
	}
}

func TestQueueCountsAsFarAsArrivalsBearItOut(t *testing.T) {
	fresh := func(v float64) scaling.Reading { return scaling.Measured(v, scaling.Fresh) }
	need := func(queue, rate float64) float64 {
		snap := tokenSnapshot(0.5, queue, 1)
		if rate > 0 {
			snap.Load.ArrivalRate, snap.Load.ITL = fresh(rate), fresh(50)
		}
		return Tokens(snap, DefaultTokens(), nil, time.Minute).Analysis.Demand * 0.85
	}
	for _, tc := range []struct {
		queue, rate, want float64
	}{
		{0, 0, 5000},
		{3, 0, 8000},          // 3 prompts of 1000
		{4000, 0, 11800},      // as much as the one Ready replica holds, 0.85 x 8000
		{3, 1, 8000},          // one replica on top of what arrives would be more
		{4000, 1, 17800},      // resident: 1 x 200 x 0.05 x 1100 = 11,000
		{4_000_000, 1, 17800}, // however long the backlog grew: what replicas complete is unknown
	} {
		if got := need(tc.queue, tc.rate); math.Abs(got-tc.want) > 1e-6 {
			t.Errorf("queue %g, rate %g: %g tokens, want %g", tc.queue, tc.rate, got, tc.want)
		}
	}
}

// TestAVariantThatDrownsGrowsByItself: half of the requests go to four slow replicas, which have a
// queue, while eight fast ones have none.
func TestAVariantThatDrownsGrowsByItself(t *testing.T) {
	fresh := func(v float64) scaling.Reading { return scaling.Measured(v, scaling.Fresh) }
	silence := func(replicas []scaling.ReplicaSample) {
		for i, r := range replicas {
			replicas[i] = scaling.ReplicaSample{Pod: r.Pod, Variant: r.Variant, Ready: true}
		}
	}
	for _, tt := range []struct {
		name   string
		queue  float64 // of each slow replica
		rate   float64 // requests/s; 40 are completed, by 40 x 5 running ones of 5 s each
		change func(*scaling.Snapshot)
		want   float64 // requests/s that the slow ones, of which each completes 5, have to carry, 0 for no such demand
	}{
		{"one more, where arrivals are unknown", 20, 0, nil, 25},
		{"what arrives and is not completed", 20, 50, nil, 30},
		{"twice as many at most", 20, 90, nil, 40},
		{"a queue that is not too long", 4, 50, nil, 0},
		{"a queue that is new", 20, 50, func(s *scaling.Snapshot) {
			for i := range s.Replicas {
				s.Replicas[i].QueueLength = fresh(0)
			}
		}, 0},
		{"one has no queue", 20, 50, func(s *scaling.Snapshot) { s.Replicas[8].QueueLengthNow = fresh(0) }, 0},
		{"two of four are silent", 20, 0, func(s *scaling.Snapshot) { silence(s.Replicas[8:10]) }, 25},
		{"two of four are silent, and twice as many arrive", 20, 60, func(s *scaling.Snapshot) { silence(s.Replicas[8:10]) }, 40},
		{"all are silent", 20, 50, func(s *scaling.Snapshot) { silence(s.Replicas[8:]) }, 0},
		{"the bound is reached", 20, 50, func(s *scaling.Snapshot) { s.Variants[1].Bounds.Max = 4 }, 0},
	} {
		snap := scaling.Snapshot{Window: time.Minute, At: goldenNow, Load: scaling.Load{OutputTokens: fresh(100), ITL: fresh(50), InputTokens: fresh(100)}}
		if tt.rate > 0 {
			snap.Load.ArrivalRate = fresh(tt.rate)
		}
		for _, v := range []struct {
			name         string
			n            scaling.Replicas
			runs, queues float64
		}{{"fast", 8, 12.5, 0}, {"slow", 4, 25, tt.queue}} {
			snap.Variants = append(snap.Variants, scaling.Variant{
				Key: variantKey(v.name), Bounds: scaling.Unbounded(), Replicas: scaling.ReplicaCounts{Observed: true, Current: v.n, Ready: v.n},
			})
			for i := range v.n {
				snap.Replicas = append(snap.Replicas, scaling.ReplicaSample{
					Pod: fmt.Sprint(v.name, i), Variant: variantKey(v.name), Ready: true, KVCapacity: fresh(1e5), KVCacheUsage: fresh(0.1), KVCacheUsageNow: fresh(0.1),
					Running: fresh(v.runs), QueueLength: fresh(v.queues), QueueLengthNow: fresh(v.queues),
				})
			}
		}
		if tt.change != nil {
			tt.change(&snap)
		}
		a, got := Relieved(Tokens(snap, DefaultTokens(), nil, time.Minute).Analysis, snap, DefaultTokens(), time.Minute), 0.0
		for _, c := range a.Ceilings {
			if c.Name == "queue of slow" {
				got = c.Demand
			}
		}
		if math.Abs(got-tt.want) > 1e-9 || (a.Signal == scaling.Grow) != (tt.want > 0) {
			t.Errorf("%s: %s, the slow ones have to carry %g requests/s, want %g", tt.name, a.Signal, got, tt.want)
		}
	}
}

func TestReplicaIsFullWhenItsComputeIs(t *testing.T) {
	snap := tokenSnapshot(0.05, 0, 1)
	snap.Load.ArrivalRate, snap.Load.ITL = scaling.Measured(9, scaling.Fresh), scaling.Measured(30, scaling.Fresh)
	snap.Variants[0].Profile = scaling.Profile{Source: "x", Alpha: 10, Beta: 0.1, Gamma: 5, Delta: 0.01, MaxBatchSize: 32}
	a := Tokens(snap, DefaultTokens(), nil, time.Minute).Analysis
	// prefill and decode: 5 + 0.01 x 1000 x 32 + 199 x 13.2 = 2951.8 ms for 32 requests.
	want := []scaling.Ceiling{
		{Name: "batch", Unit: scaling.UnitRequests, Demand: 9 * 200 * 0.030 / 0.85, Variants: []scaling.Limit{{Variant: variantKey("v"), PerReplica: 32}}},
		{Name: "prefill and decode", Unit: scaling.UnitRequestRate, Demand: 9 / 0.85, Variants: []scaling.Limit{{Variant: variantKey("v"), PerReplica: 32 / 2.9518}}},
	}
	if diff := cmp.Diff(want, a.Ceilings, cmpopts.EquateApprox(1e-9, 0)); diff != "" {
		t.Errorf("ceilings (-want +got):\n%s", diff)
	}
	if a.Signal == scaling.Grow {
		t.Fatal("the memory alone calls for growth: the case shows nothing")
	}
	if d := optimizer.Cover(optimizer.Votes{Snapshot: snap, Analyses: []scaling.Analysis{a}})[0]; d.Target() != 2 {
		t.Errorf("%d replicas (%+v), want 2: 54/0.85 requests of 32 each", d.Target(), d.Steps)
	}
}

func TestMemoryOfFullReplicasIsBounded(t *testing.T) {
	h := memory.History{}
	for i := range 40 {
		snap := tokenSnapshot(0.75+0.01*float64(i%20), 9, 2)
		snap.At = goldenNow.Add(time.Duration(i) * time.Minute)
		before := cmp.Diff(nil, h)
		view := Tokens(snap, DefaultTokens(), h, time.Minute)
		if cmp.Diff(nil, h) != before {
			t.Fatal("the history was changed")
		}
		h = memory.History{variantKey("v"): {Capacity: view.Capacity[variantKey("v")]}}
	}
	if got := h[variantKey("v")].Capacity.Full; len(got) != 1 || len(got[0].Seen) != 10 {
		t.Errorf("remembers %+v", got)
	}
}

func checkTokens(t *testing.T, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 29))
	reading := func(most float64) scaling.Reading {
		return scaling.Measured(most*r.Float64()*float64(r.IntN(3)), scaling.Freshness(max(0, r.IntN(9)-4)))
	}
	snap := tokenSnapshot(0.5, 1, scaling.Replicas(r.IntN(4)))
	snap.Load = scaling.Load{ArrivalRate: reading(20), InputTokens: reading(3000), OutputTokens: reading(900), ITL: reading(80), GatewayQueue: reading(50), PrefixHits: reading(1)}
	for i := range snap.Replicas {
		s := &snap.Replicas[i]
		s.KVCacheUsage, s.KVCacheUsageNow, s.QueueLength, s.QueueLengthNow, s.KVCapacity = reading(1), reading(1), reading(20), reading(20), reading(1e5)
	}
	known := memory.TokenCapacity{PerReplica: 1e4 * r.Float64(), At: goldenNow.Add(-time.Duration(r.IntN(300)) * time.Hour)}
	view := Tokens(snap, DefaultTokens(), memory.History{variantKey("v"): {Capacity: known}}, time.Minute)
	want, err := json.Marshal(view.Analysis) // refuses numbers that are not finite
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	if a := view.Analysis; a.Demand < 0 || a.Supply < 0 || a.Anticipated < a.Supply || a.Detail == "" || a.Reason == "" {
		t.Errorf("seed %d: %s", seed, want)
	}
	full := 0.0
	for _, s := range snap.Replicas {
		if view.Analysis.Signal == scaling.Shrink && (s.KVCacheUsage.State != scaling.Fresh || s.QueueLength.State != scaling.Fresh) {
			full += view.Analysis.Variants[0].PerReplica
		}
	}
	if a := view.Analysis; a.Demand < full*(1-1e-9) {
		t.Errorf("seed %d: shrinks to a demand of %g, replicas without fresh readings hold %g", seed, a.Demand, full)
	}
}

func TestTokenAnalysesAreFinite(t *testing.T) {
	for seed := range uint64(1500) {
		if checkTokens(t, seed); t.Failed() {
			return
		}
	}
}

func FuzzTokens(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(checkTokens)
}
