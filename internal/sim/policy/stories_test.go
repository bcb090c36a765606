package policy

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// wantAt checks the replicas after some steps of a story.
func wantAt(t *testing.T, got []scaling.Replicas, want map[int]scaling.Replicas) {
	t.Helper()
	for step, n := range want {
		if got[step] != n {
			t.Errorf("after step %d: got %d, want %d, in %v", step, got[step], n, got)
		}
	}
}

func TestSLOLawThroughItsHPA(t *testing.T) {
	t.Run("it grows after 30 s", func(t *testing.T) {
		got := story(t, "keda-slo", nil, 4, 4, func(_ int, in *Observation, v *Variant) {
			all(v, 0.5, 0, 1)
			in.Load.TTFTP90 = fresh(1000) // s = 1: 4 + ceil(4*(1/0.55 - 1)) = 8
		})
		wantAt(t, got, map[int]scaling.Replicas{0: 4, 1: 4, 2: 8})
	})
	t.Run("a spike counts for 45 s", func(t *testing.T) {
		got := story(t, "keda-slo", nil, 4, 5, func(step int, in *Observation, v *Variant) {
			all(v, 0.5, 0, 1)
			in.Load.ITLP90 = fresh(0)
			if step == 0 {
				in.Load.ITLP90 = fresh(500) // ten times, cut to 2: means of 2, 1, 0.67, 0
			}
		})
		wantAt(t, got, map[int]scaling.Replicas{1: 4, 2: 5}) // 4 + ceil(4*(0.67/0.55 - 1))
	})
	t.Run("it loses one in 120 s after 180 s", func(t *testing.T) {
		got := story(t, "keda-slo", nil, 8, 30, func(_ int, _ *Observation, v *Variant) { all(v, 0.1, 0, 1) })
		wantAt(t, got, map[int]scaling.Replicas{11: 8, 12: 7, 19: 7, 20: 6})
	})
}

func TestTokenLawWantsTheLargerOfPrefillAndDecode(t *testing.T) {
	decode := story(t, "keda-token", nil, 4, 1, func(_ int, _ *Observation, v *Variant) { all(v, 0.9, 0, 1) })
	wantAt(t, decode, map[int]scaling.Replicas{0: 5}) // 4*0.9/0.8 = 4.5
	// 1000 ms less 200 ms of prefill at 5000 tokens/s: 4000 tokens, of which 60 %.
	prefill := story(t, "keda-token", map[string]string{"share": "0.6"}, 2, 1, func(_ int, in *Observation, v *Variant) {
		all(v, 0.1, 0, 1)
		in.Load.UncachedTokens = fresh(9600)
	})
	wantAt(t, prefill, map[int]scaling.Replicas{0: 4})
}

func TestPickerLawsCountQueueAndRunning(t *testing.T) {
	for _, name := range []string{"keda-epp", "keda-queue-guard"} {
		got := story(t, name, nil, 2, 1, func(_ int, _ *Observation, v *Variant) { all(v, 0.5, 9, 40) })
		wantAt(t, got, map[int]scaling.Replicas{0: 5}) // 80/16
		got = story(t, name, nil, 2, 1, func(_ int, in *Observation, v *Variant) {
			all(v, 0.5, 0, 1)
			in.Load.GatewayQueue = fresh(6)
		})
		wantAt(t, got, map[int]scaling.Replicas{0: 6}) // 6/1
	}
}

func TestHPAQueueOfTypeValueExplodes(t *testing.T) {
	// Ten requests wait, on whatever replicas.
	queue := func(_ int, _ *Observation, v *Variant) {
		all(v, 0.5, 0, 1)
		v.Pods[0].QueueLength = fresh(10)
	}
	wantAt(t, story(t, "hpa-queue", nil, 2, 6, queue), map[int]scaling.Replicas{0: 2, 5: 2}) // 10/5
	value := map[string]string{"type": "Value"}
	wantAt(t, story(t, "hpa-queue", value, 2, 6, queue), map[int]scaling.Replicas{0: 4, 1: 8, 2: 16, 5: 100})
}

func TestKPAAimsAtPartOfItsTarget(t *testing.T) {
	got := story(t, "kpa", nil, 1, 1, func(_ int, _ *Observation, v *Variant) { all(v, 0.5, 26, 30) })
	wantAt(t, got, map[int]scaling.Replicas{0: 4}) // 56 / (0.7*20)
}

func TestKPAToZeroBeginsAnewWithEachRequest(t *testing.T) {
	t.Run("what never had a request is active for a stable window first", func(t *testing.T) {
		got := story(t, "kpa", nil, 1, 60, func(int, *Observation, *Variant) {})
		if zero := slices.Index(got, 0); zero != 45 { // 60 s + 30 s
			t.Errorf("zero after %d s, want 90 s: %v", 2*zero, got)
		}
	})
	t.Run("a request during the grace period ends it", func(t *testing.T) {
		got := story(t, "kpa", nil, 1, 140, func(step int, _ *Observation, v *Variant) {
			if step < 35 || step == 70 {
				all(v, 0, 0, 1)
			}
		})
		// Seen at 140 s, out of the window at 200 s, and 30 s more.
		if zero := slices.Index(got, 0); zero != 115 {
			t.Errorf("zero after %d s, want 230 s: %v", 2*zero, got)
		}
	})
}

func TestAPAFollowsTheAverage(t *testing.T) {
	got := story(t, "aibrix-apa", nil, 4, 20, func(step int, _ *Observation, v *Variant) {
		all(v, 0.7, 0, 1)
		if step >= 10 {
			all(v, 1, 0, 1)
		}
	})
	// The mean over 180 s passes 1.1*0.7 = 0.77 with the 4th sample of 1.0: (7 + 4)/14 = 0.786.
	wantAt(t, got, map[int]scaling.Replicas{0: 4, 10: 4, 12: 4, 13: 5})
}

func TestILPRatesAndSteps(t *testing.T) {
	v := oneVariant(1, 0)
	rate := v.rateAt(Workload{InputTokens: 1024, OutputTokens: 256}) // where 1000 and 200 go
	shape := func(replicas float64) []Shape { return []Shape{{1000, 200, replicas * rate}} }
	t.Run("it doubles at most", func(t *testing.T) {
		got := story(t, "aibrix-ilp", nil, 1, 6, func(_ int, in *Observation, _ *Variant) { in.Load.Shapes = shape(7.5) })
		wantAt(t, got, map[int]scaling.Replicas{0: 2, 1: 4, 2: 8, 3: 8})
	})
	t.Run("it halves at most", func(t *testing.T) {
		got := story(t, "aibrix-ilp", nil, 8, 6, func(_ int, in *Observation, _ *Variant) { in.Load.Shapes = shape(0.5) })
		wantAt(t, got, map[int]scaling.Replicas{0: 4, 1: 2, 2: 1, 3: 1})
	})
	t.Run("a burst is spread over the window", func(t *testing.T) {
		got := story(t, "aibrix-ilp", map[string]string{"cooldown": "0s", "max-down": "100"}, 4, 3, func(step int, in *Observation, _ *Variant) {
			if step == 0 {
				in.Load.Shapes = shape(7.5)
			}
		})
		wantAt(t, got, map[int]scaling.Replicas{0: 8, 1: 1, 2: 1}) // 7.5/24 of a replica
	})
	t.Run("it comes back from zero", func(t *testing.T) {
		got := story(t, "aibrix-ilp", nil, 0, 2, func(_ int, in *Observation, _ *Variant) { in.Load.Shapes = shape(0.5) })
		wantAt(t, got, map[int]scaling.Replicas{0: 1})
	})
}

func TestDynamoCorrectsTheProfile(t *testing.T) {
	run := func(change func(in *Observation, v *Variant)) scaling.Replicas {
		got := story(t, "dynamo-sla", map[string]string{"predictor": "constant"}, 2, 13, func(_ int, in *Observation, v *Variant) {
			v.ArrivalRate = fresh(30)
			change(in, v)
		})
		return got[12]
	}
	// As expected: 3.6 replicas for prefill and 3.94 for decode.
	for name, c := range map[string]struct {
		change func(in *Observation, v *Variant)
		want   scaling.Replicas
	}{
		"half the TTFT halves the prefill":     {func(in *Observation, _ *Variant) { in.Load.TTFT = fresh(60) }, 6},   // 1.8 + 3.94
		"a TTFT with waiting changes nothing":  {func(in *Observation, _ *Variant) { in.Load.TTFT = fresh(9000) }, 8}, // 3.6 + 3.94
		"a small KV cache limits the decode":   {func(_ *Observation, v *Variant) { v.KVTokens = 11_000 }, 13},        // 3.6 + 6000/(10/15ms)
		"twice the ITL halves the objective":   {func(in *Observation, _ *Variant) { in.Load.ITL = fresh(20) }, 9},    // 25 ms at n = 30: 3.6 + 5 = 8.6
		"without a profile it holds":           {func(_ *Observation, v *Variant) { v.Profile = scaling.Profile{} }, 2},
		"without an ITL objective it holds":    {func(in *Observation, _ *Variant) { in.SLO.ITL = 0 }, 2},
		"nothing arriving leaves one endpoint": {func(_ *Observation, v *Variant) { v.ArrivalRate = scaling.Reading{} }, 1},
	} {
		if got := run(c.change); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}

func TestRayServeSeesOnlyWhatIsPushed(t *testing.T) {
	got := story(t, "ray-serve", nil, 2, 120, func(step int, _ *Observation, v *Variant) {
		v.Pods[0].Running = fresh(20)
		if step%10 == 0 { // the instants of the pushes
			v.Pods[0].Running = fresh(3)
		}
	})
	wantAt(t, got, map[int]scaling.Replicas{119: 2})
}

func TestSpareCapacityRemembersPeaksOfLivePods(t *testing.T) {
	law := &spareLaw{DefaultSpareParams(), peaksOverTime{window: time.Minute}, map[scaling.VariantKey]scaling.Replicas{}}
	v := oneVariant(2, 0)
	see := func(seconds int, first float64) []Peak {
		v.Pods[0].KVCacheUsage = fresh(first)
		return law.observe(at(seconds), Observation{Variants: []Variant{v}})
	}
	see(0, 0.9)
	if got := see(45, 0.1); got[0].KV != 0.9 {
		t.Errorf("after 45 s: got %+v, want the peak of 0.9", got)
	}
	if got := see(60, 0.1); got[0].KV != 0.1 {
		t.Errorf("after a minute: got %+v, want 0.1", got)
	}
	see(75, 0.9)
	pods := v.Pods
	v.Pods = v.Pods[1:]
	if got := law.observe(at(76), Observation{Variants: []Variant{v}}); len(got) != 1 || got[0].KV != 0 {
		t.Errorf("without the busy pod: got %+v, want the other one", got)
	}
	v.Pods = pods
	if got := see(77, 0.1); got[0].KV != 0.1 {
		t.Errorf("a new pod of that name: got %+v, want no memory of the old one", got)
	}
}

func TestSpareCapacityShrinksThroughItsHPA(t *testing.T) {
	got := story(t, "spare-capacity", nil, 4, 20, func(_ int, _ *Observation, v *Variant) { all(v, 0.05, 0, 1) })
	wantAt(t, got, map[int]scaling.Replicas{15: 4, 16: 3}) // 240 s
}

func TestTokenRuleCountsTheGatewayQueue(t *testing.T) {
	got := story(t, "spare-tokens", nil, 2, 1, func(_ int, in *Observation, v *Variant) {
		all(v, 0.1, 0, 1)
		in.Load.GatewayQueue, in.Load.PrefixHits = fresh(200), fresh(0.5)
	})
	// The batch of 64 holds 64*1100 = 70400 tokens. Demand 2*10000 + 200*(500 + 200)
	// = 160000, over 0.85 less 2*70400: 47435, one replica.
	wantAt(t, got, map[int]scaling.Replicas{0: 3})
}

func TestTokenRuleLearnsFromAFullReplica(t *testing.T) {
	law := &tokenSpare{p: DefaultTokenSpareParams(), learned: map[learnedKey][]float64{}}
	v := oneVariant(1, 0)
	for _, c := range []struct{ inUse, queue, output, want float64 }{
		{10_000, 0, 200, 70_400},   // 64 requests of 1000 + 200/2 tokens
		{30_000, 5, 200, 30_000},   // full: what it holds
		{10_000, 0, 200, 30_000},   // remembered
		{50_000, 9, 200, 50_000},   // full again
		{10_000, 0, 200, 40_000},   // the mean
		{10_000, 0, 50, 64 * 1025}, // other lengths, not learned
		{99_000, 9, 200, 80_000},   // the usable part limits
	} {
		if got := law.capacity(v, c.inUse, c.queue, 1000, c.output); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%+v: got %v", c, got)
		}
	}
}

// TestTokenRuleReadsPeaks: it asks for max_over_time of a minute, so that a
// scrape without load gives nothing back until the one with load is that old.
func TestTokenRuleReadsPeaks(t *testing.T) {
	p := DefaultTokenSpareParams()
	law := &tokenSpare{p, peaksOverTime{window: p.Window}, map[learnedKey][]float64{}}
	wants := func(seconds int, usage float64) scaling.Replicas {
		v := oneVariant(4, 0)
		all(&v, usage, 0, 1)
		in := Observation{Variants: []Variant{v}}
		in.Load.InputTokens, in.Load.OutputTokens = fresh(1000), fresh(200)
		return law.Decide(at(seconds), in)[0].Replicas
	}
	for _, c := range []struct {
		seconds int
		usage   float64
		want    scaling.Replicas
	}{
		// A replica takes 64*1100 = 70400 tokens, all have 281600.
		{0, 0.55, 4},  // 220000: over 0.85 less, over 0.70 more than that
		{45, 0.05, 4}, // the peak stands
		{60, 0.05, 1}, // 20000 over 0.70: 3.6 replicas are spare
	} {
		if got := wants(c.seconds, c.usage); got != c.want {
			t.Errorf("after %d s with a usage of %v: it wants %d, want %d", c.seconds, c.usage, got, c.want)
		}
	}
}

// TestILPPlansForRequestsThatMissTheirObjectivesAlone: one answer of four tokens
// to a long prompt takes longer than any ITL allows for it. It counts as what it
// takes and the others are served.
func TestILPPlansForRequestsThatMissTheirObjectivesAlone(t *testing.T) {
	got := story(t, "aibrix-ilp", nil, 1, 6, func(_ int, in *Observation, _ *Variant) {
		in.SLO = SLO{TTFT: 1, ITL: 1}
		in.Load.Shapes = []Shape{{1000, 200, 10}, {60_000, 4, 0.01}}
	})
	if got[5] < 3 {
		t.Errorf("got %v, want 3 or more for twice the rate of one replica", got)
	}
}

// TestKPAAndRayServeCountRequestsThemselves: what the pods reported last is of no
// interest to a peer whose proxies count.
func TestKPAAndRayServeCountRequestsThemselves(t *testing.T) {
	for _, name := range []string{"kpa", "ray-serve"} {
		got := story(t, name, nil, 1, 60, func(_ int, in *Observation, v *Variant) {
			v.InFlight = fresh(100)
			in.Load.GatewayQueue = fresh(0)
		})
		if got[59] < 8 { // 100/(20*0.7), and 100/2
			t.Errorf("%s: got %v with 100 requests in flight and idle pages, want 8 or more", name, got)
		}
	}
}

// TestILPMeasuresRequestsAtTheirLength: with an answer of 256 tokens, a prompt of
// 16384 takes 1638 + 255 ms of a replica and one of 2048 takes 205 + 255 ms.
func TestILPMeasuresRequestsAtTheirLength(t *testing.T) {
	plan := func(input float64) scaling.Replicas {
		got := story(t, "aibrix-ilp", map[string]string{"max-up": "100"}, 1, 1, func(_ int, in *Observation, v *Variant) {
			v.KVTokens = 1e6
			in.Load.Shapes = []Shape{{input, 200, 20}}
		})
		return got[0]
	}
	if short, long := plan(2048), plan(16384); short != 7 || long != 26 { // 20 requests/s over 5*299/460 and over 5*299/1893
		t.Errorf("%d replicas for prompts of 2048 tokens and %d for 16384, want 7 and 26", short, long)
	}
}

func TestTokenRuleKeepsTheCheapestAtOne(t *testing.T) {
	cheap, dear := oneVariant(3, 0), oneVariant(2, 0)
	cheap.Key.Name, dear.Key.Name, dear.Cost = "cheap", "dear", 40
	cheap.Bounds.Min, dear.Bounds.Min = 0, 0
	sizes := map[scaling.VariantKey]float64{cheap.Key: 100, dear.Key: 100}
	got := shrink([]Variant{cheap, dear}, sizes, 1e6)
	if got[cheap.Key] != 1 || got[dear.Key] != 0 {
		t.Errorf("got %v, want one cheap replica", got)
	}
	dear.Bounds.Min = 1
	if got := shrink([]Variant{cheap, dear}, sizes, 1e6); got[cheap.Key] != 0 || got[dear.Key] != 1 {
		t.Errorf("got %v, want the dear one alone", got)
	}
	if got := shrink([]Variant{cheap, dear}, sizes, 199); got[cheap.Key] != 3 || got[dear.Key] != 1 {
		t.Errorf("got %v, want one dear replica less", got)
	}
	cheap.Bounds.Max = 4
	if got := grow([]Variant{cheap, dear}, sizes, 250); got[cheap.Key] != 4 || got[dear.Key] != 4 {
		t.Errorf("got %v, want the cheap one at its maximum and two more dear ones", got)
	}
}
