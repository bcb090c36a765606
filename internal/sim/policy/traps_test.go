package policy

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// story plays a policy on one variant whose replicas follow its decisions at
// once. before each decision, load changes what is observed; it returns the
// replicas after each decision.
func story(t *testing.T, name string, params map[string]string, ready scaling.Replicas, steps int, load func(step int, in *Observation, v *Variant)) []scaling.Replicas {
	t.Helper()
	p, err := ByName(name, params)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]scaling.Replicas, steps)
	for step := range steps {
		v := oneVariant(ready, 0)
		v.Bounds.Min = 0
		in := Observation{SLO: SLO{TTFT: 1000, ITL: 50}}
		in.Load.InputTokens, in.Load.OutputTokens, in.Load.GatewayQueue = fresh(1000), fresh(200), fresh(0)
		load(step, &in, &v)
		in.Variants = []Variant{v}
		ready = p.Decide(begin.Add(time.Duration(step)*p.Interval()), in)[0].Replicas
		out[step] = ready
	}
	return out
}

// all sets the readings of every pod.
func all(v *Variant, kv, queue, run float64) {
	for i := range v.Pods {
		v.Pods[i].KVCacheUsage, v.Pods[i].QueueLength, v.Pods[i].Running = fresh(kv), fresh(queue), fresh(run)
	}
}

// silent takes the readings away.
func silent(v *Variant) {
	for i := range v.Pods {
		v.Pods[i] = Pod{Name: v.Pods[i].Name, Ready: true}
	}
}

func TestRuleOfThisProjectStandsStillBetweenTenAndEleven(t *testing.T) {
	busy := func(_ int, _ *Observation, v *Variant) { all(v, 0.78, 0, 10) }
	got := story(t, "spare-capacity", nil, 9, 40, busy)
	if got[39] != 10 {
		t.Errorf("with the HPA's tolerance: got %v, want it to stay at 10 (the HPA ignores 11, the rule waits for it)", got)
	}
	if free := story(t, "spare-capacity", map[string]string{"tolerance": "0"}, 9, 40, busy); free[39] <= 11 {
		t.Errorf("without tolerance: got %v, want it to grow past 11", free)
	}
}

func TestRuleOfThisProjectTakesOneStepAndWaitsForIt(t *testing.T) {
	p, _ := ByName("spare-capacity", nil)
	for step, c := range []struct{ ready, pending, want scaling.Replicas }{{2, 0, 3}, {2, 1, 3}, {2, 1, 3}, {3, 0, 4}} {
		v := oneVariant(c.ready, c.pending)
		for i := range c.ready {
			v.Pods[i].KVCacheUsage = fresh(1)
		}
		got := p.Decide(at(15*step), Observation{Variants: []Variant{v}})[0]
		if got.Replicas != c.want {
			t.Errorf("step %d: got %+v, want %d", step, got, c.want)
		}
	}
}

func TestRuleOfThisProjectMovesTheRightVariant(t *testing.T) {
	law := &spareLaw{DefaultSpareParams(), peaksOverTime{window: time.Minute}, map[scaling.VariantKey]scaling.Replicas{}}
	cheap, dear := oneVariant(2, 0), oneVariant(2, 0)
	cheap.Key.Name, dear.Key.Name, dear.Cost = "z-cheap", "a-dear", 40
	in := Observation{Variants: []Variant{dear, cheap}}
	for i := range cheap.Pods {
		cheap.Pods[i].KVCacheUsage = fresh(1)
		dear.Pods[i].KVCacheUsage = fresh(1)
	}
	if got := law.Decide(begin, in); got[0].Replicas != 2 || got[1].Replicas != 3 {
		t.Errorf("saturated: got %+v, want the cheap one to grow", got)
	}
	law.decided = map[scaling.VariantKey]scaling.Replicas{}
	all(&cheap, 0.1, 0, 0)
	all(&dear, 0.1, 0, 0)
	if got := law.Decide(at(120), in); got[0].Replicas != 1 || got[1].Replicas != 2 {
		t.Errorf("idle: got %+v, want the dear one to shrink", got)
	}
}

func TestTokenRuleGrowsInOneStepAndCountsWhatIsPending(t *testing.T) {
	p, _ := ByName("spare-tokens", nil)
	in := Observation{}
	in.Load.InputTokens, in.Load.OutputTokens = fresh(1000), fresh(200)
	v := oneVariant(2, 0)
	all(&v, 0.6, 50, 64)
	in.Variants = []Variant{v}
	first := p.Decide(begin, in)[0].Replicas
	if first < 5 {
		t.Errorf("got %d, want several replicas at once", first)
	}
	w := oneVariant(2, first-2)
	for i := range 2 {
		w.Pods[i] = v.Pods[i]
	}
	in.Variants = []Variant{w}
	if second := p.Decide(at(15), in)[0].Replicas; second != first {
		t.Errorf("with the ordered ones pending: got %d, want %d still", second, first)
	}
}

func TestMissingMetricsHoldAnHPAAndEmptyAScaledObject(t *testing.T) {
	mute := func(_ int, _ *Observation, v *Variant) { silent(v) }
	for _, name := range []string{"hpa-queue", "hpa-kv", "hpa-inflight"} {
		if got := story(t, name, nil, 6, 60, mute); got[59] != 6 {
			t.Errorf("%s: got %v, want it to hold 6", name, got)
		}
	}
	for _, name := range []string{"keda", "keda-epp", "keda-queue-guard"} {
		if got := story(t, name, nil, 6, 60, mute); got[59] != 0 {
			t.Errorf("%s: got %v, want 0: a query without a result is 0", name, got)
		}
	}
}

func TestScaledObjectAndZero(t *testing.T) {
	t.Run("what was never active goes to zero at the first poll", func(t *testing.T) {
		got := story(t, "keda", nil, 3, 1, func(int, *Observation, *Variant) {})
		if got[0] != 0 {
			t.Errorf("got %v, want 0", got)
		}
	})
	t.Run("it waits for the cooldown and wakes at the next poll", func(t *testing.T) {
		// A look every 15 s, a poll every 30 s: a request at 0 s, the next at 375 s.
		got := story(t, "keda", nil, 1, 28, func(step int, in *Observation, _ *Variant) {
			if step == 0 || step >= 25 {
				in.Load.GatewayQueue = fresh(1)
			}
		})
		zero := slices.Index(got, 0)
		if zero != 22 { // the first poll later than 300 s: 330 s
			t.Errorf("got %v: zero at %d s, want 330 s", got, 15*zero)
		}
		if wake := zero + slices.Index(got[zero:], 1); wake != 26 { // 390 s
			t.Errorf("got %v: awake at %d s, want 390 s", got, 15*wake)
		}
	})
	t.Run("the HPA alone never leaves zero", func(t *testing.T) {
		got := story(t, "hpa-queue", nil, 0, 5, func(_ int, in *Observation, _ *Variant) { in.Load.GatewayQueue = fresh(50) })
		if got[4] != 0 {
			t.Errorf("got %v, want 0", got)
		}
	})
	t.Run("with a minimum it stays there", func(t *testing.T) {
		got := story(t, "keda", nil, 2, 60, func(_ int, _ *Observation, v *Variant) { v.Bounds.Min = 2 })
		if got[59] != 2 {
			t.Errorf("got %v, want 2", got)
		}
	})
}

func TestGuardDiscountsWhatIsPending(t *testing.T) {
	for _, c := range []struct {
		demand           float64
		current, pending scaling.Replicas
		want             float64
	}{
		{3, 4, 2, 3},   // less than there is: as it is
		{10, 4, 0, 10}, // nothing on order
		{10, 8, 4, 8},  // 6 would be below the present
		{20, 8, 4, 16}, // the rest is ordered
	} {
		if got := Guard(c.demand, c.current, c.pending); got != c.want {
			t.Errorf("Guard(%v, %d, %d): got %v, want %v", c.demand, c.current, c.pending, got, c.want)
		}
	}
}

func TestSLOLawCreditsPendingOnlyOnTheWayUp(t *testing.T) {
	p := DefaultSLOParams()
	for name, c := range map[string]struct {
		s              float64
		current, ready scaling.Replicas
		want           float64
	}{
		"all ready, twice the threshold":          {1.1, 4, 4, 8},
		"half ready, twice the threshold":         {1.1, 4, 2, 4},
		"a quarter ready never means fewer":       {1.1, 4, 1, 4},
		"at the most, none on order":              {2, 4, 4, 15}, // 4 + ceil(4*(2/0.55 - 1)) = 4 + 11
		"within the dead band":                    {0.5, 4, 4, 4},
		"half of the lower threshold":             {0.2, 4, 4, 2},
		"half of it, uncredited with pending too": {0.2, 4, 1, 2},
		"no latency at all":                       {0, 4, 4, 0},
		"zero replicas":                           {2, 0, 0, 0},
	} {
		if got := p.demand(c.s, c.current, c.ready); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

func TestTokenLawNeedsAnObjectiveThatALonePromptMeets(t *testing.T) {
	v := oneVariant(1, 0) // 1000 tokens at 5000 tokens/s: 200 ms
	p := DefaultTokenParams()
	for _, c := range []struct{ objective, want float64 }{
		{1000, 4000}, // 800 ms at 5000 tokens/s
		{200, 0},
		{100, 0},
		{0, 0},
	} {
		if got := p.tokens(Observation{SLO: SLO{TTFT: c.objective}}, v); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("objective of %v ms: got %v tokens, want %v", c.objective, got, c.want)
		}
	}
	got := story(t, "keda-token", nil, 4, 60, func(_ int, in *Observation, v *Variant) {
		in.SLO.TTFT = 100
		all(v, 0.1, 0, 1)
	})
	if got[59] != 4 {
		t.Errorf("got %v: an invalid trigger stops every reduction, want 4", got)
	}
}

func TestKPABeginsInPanicWhenItFindsReplicas(t *testing.T) {
	got := story(t, "kpa", nil, 5, 60, func(_ int, _ *Observation, v *Variant) { all(v, 0, 0, 1) })
	left := slices.IndexFunc(got, func(n scaling.Replicas) bool { return n < 5 })
	if left != 31 { // a tick every 2 s: the first later than 60 s
		t.Errorf("got %v: below 5 after %d s, want 62 s", got, 2*left)
	}
}

func TestKPATakesStableWindowAndGracePeriodToZero(t *testing.T) {
	got := story(t, "kpa", nil, 1, 120, func(step int, _ *Observation, v *Variant) {
		if step < 35 {
			all(v, 0, 0, 1)
		}
	})
	// The last request is seen at 68 s, leaves the window after 128 s; 30 s later: zero.
	if zero := slices.Index(got, 0); zero != 79 {
		t.Errorf("zero after %d s, want 158 s: %v", 2*zero, got)
	}
}

func TestKPAHoldsWithoutTargetAndBenchmark(t *testing.T) {
	got := story(t, "kpa", nil, 3, 60, func(_ int, _ *Observation, v *Variant) { v.Benchmark = Benchmark{} })
	if got[59] != 3 {
		t.Errorf("got %v, want 3", got)
	}
}

func TestCooldownDownTakesTheLeastOfItsWindow(t *testing.T) {
	var c cooldown
	for i, want := range []scaling.Replicas{8, 2, 6} {
		got := c.apply(at(10*i), 8, want, 0, 300*time.Second)
		if least := []scaling.Replicas{8, 2, 2}[i]; got != least {
			t.Errorf("recommendation %d: got %d, want %d", want, got, least)
		}
	}
	if got := c.apply(at(400), 8, 6, 0, 300*time.Second); got != 6 {
		t.Errorf("after the window: got %d, want 6", got)
	}
	if got := c.apply(at(410), 2, 5, 30*time.Second, 300*time.Second); got != 6 {
		t.Errorf("up within the window: got %d, want the greatest, 6", got)
	}
}

func TestILPFollowsNoise(t *testing.T) {
	plan := func(rate float64) scaling.Replicas {
		n, _ := planILP([]Variant{oneVariant(1, 0)}, []slice{{bucket{1024, 256}, rate}}, func(Variant, bucket) float64 { return 1 })
		return n[oneVariant(1, 0).Key]
	}
	if a, b := plan(4), plan(4.1); a != 4 || b != 5 {
		t.Errorf("got %d and %d replicas for 4 and 4.1 requests/s, want 4 and 5: there is no hysteresis", a, b)
	}
}

func TestILPHoldsWithoutABenchmark(t *testing.T) {
	got := story(t, "aibrix-ilp", nil, 3, 5, func(_ int, in *Observation, v *Variant) {
		v.Benchmark = Benchmark{}
		in.Load.Shapes = []Shape{{1000, 200, 5}}
	})
	if got[4] != 3 {
		t.Errorf("got %v, want 3", got)
	}
}

func TestDynamoLoadAddsOneAndWaits(t *testing.T) {
	p, _ := ByName("dynamo-load", nil)
	for name, c := range map[string]struct {
		kv, queued     []float64
		ready, pending scaling.Replicas
		want           scaling.Replicas
	}{
		"one hot replica is enough":                {[]float64{0.9, 0.1}, []float64{20_000, 0}, 2, 0, 3},
		"a burst of ten times adds one":            {[]float64{1, 1}, []float64{1e6, 1e6}, 2, 0, 3},
		"nothing while one starts":                 {[]float64{1, 1}, []float64{1e6, 1e6}, 2, 1, 3},
		"one busy replica stops the reduction":     {[]float64{0.7, 0.1}, []float64{0, 0}, 2, 0, 2},
		"all below removes one":                    {[]float64{0.5, 0.1}, []float64{0, 0}, 2, 0, 1},
		"the last one stays":                       {[]float64{0}, []float64{0}, 1, 0, 1},
		"exactly the threshold is not above it":    {[]float64{1}, []float64{0}, 1, 0, 1},
		"a replica that is silent stops all of it": {[]float64{1}, []float64{1e6}, 2, 0, 2},
	} {
		t.Run(name, func(t *testing.T) {
			v := oneVariant(c.ready, c.pending)
			for i := range c.ready {
				v.Pods[i].KVCacheUsage = scaling.Reading{}
			}
			for i := range c.kv {
				v.Pods[i].KVCacheUsage, v.Pods[i].QueuedTokens = fresh(c.kv[i]), fresh(c.queued[i])
			}
			got := p.Decide(begin, Observation{Variants: []Variant{v}})[0]
			if got.Replicas != c.want {
				t.Errorf("got %+v, want %d", got, c.want)
			}
		})
	}
}

func TestDynamoSLADecidesAtTheEndOfAnInterval(t *testing.T) {
	got := story(t, "dynamo-sla", map[string]string{"predictor": "constant"}, 2, 26, func(_ int, _ *Observation, v *Variant) {
		v.ArrivalRate = fresh(30)
	})
	changed := slices.IndexFunc(got, func(n scaling.Replicas) bool { return n != 2 })
	if changed != 12 {
		t.Errorf("got %v: changed after %d s, want 180 s", got, 15*changed)
	}
	// alpha + beta*n <= 50 at n = 80, the batch allows 64: 64/42 ms = 1524 tokens/s;
	// KV: 100000/1100 = 90. Prefill: 1000 tokens in 120 ms = 8333 tokens/s.
	// 30*1000/8333 + 30*200/1524 = 3.6 + 3.94.
	if got[25] != 8 {
		t.Errorf("got %d replicas, want 8", got[25])
	}
	if one := story(t, "dynamo-sla", map[string]string{"predictor": "constant", "max-gpus": "4"}, 2, 26, func(_ int, _ *Observation, v *Variant) {
		v.ArrivalRate = fresh(30)
	}); one[25] != 4 {
		t.Errorf("got %d replicas within 4 accelerators, want 4", one[25])
	}
}

func TestPredictors(t *testing.T) {
	var constant, kalman predictor
	for i := range 60 {
		v := float64(0)
		if i > 1 {
			v = 100 + 10*float64(i)
		}
		constant.observe(v, "constant")
		kalman.observe(v, "kalman")
		if i < 6 && kalman.next != v {
			t.Errorf("step %d: got %v from few points, want the last, %v", i, kalman.next, v)
		}
	}
	if constant.next != 690 {
		t.Errorf("constant: got %v, want the last, 690", constant.next)
	}
	if math.Abs(kalman.next-700) > 1 {
		t.Errorf("kalman on a ramp: got %v, want about 700", kalman.next)
	}
	for range 3 {
		kalman.observe(0, "kalman")
	}
	if kalman.next < 0 {
		t.Errorf("got a rate of %v", kalman.next)
	}
}

func TestRayServeWaitsForItsDelays(t *testing.T) {
	up := story(t, "ray-serve", nil, 2, 60, func(_ int, _ *Observation, v *Variant) { v.Pods[0].Running = fresh(20) })
	if i := slices.Index(up, 10); i != 30 {
		t.Errorf("got %v: 10 replicas after %d s, want 30 s", up, i)
	}
	down := story(t, "ray-serve", nil, 8, 700, func(_ int, _ *Observation, v *Variant) { v.Pods[0].Running = fresh(4) })
	if i := slices.Index(down, 2); i != 600 {
		t.Errorf("2 replicas after %d s, want 600 s", i)
	}
	wake := story(t, "ray-serve", nil, 0, 2, func(step int, in *Observation, _ *Variant) { in.Load.GatewayQueue = fresh(float64(step)) })
	if !slices.Equal(wake, []scaling.Replicas{0, 1}) {
		t.Errorf("from zero: got %v, want 0 and 1 at once", wake)
	}
	interrupted := story(t, "ray-serve", map[string]string{"look-back": "1s", "push": "1s"}, 2, 60, func(step int, _ *Observation, v *Variant) {
		if step%20 != 19 {
			v.Pods[0].Running = fresh(20)
		}
	})
	if slices.Max(interrupted) != 2 {
		t.Errorf("got %v: a lull every 20 s begins the delay anew, want 2", interrupted)
	}
}

func TestRayServeFactorDoesNotGetStuck(t *testing.T) {
	p := DefaultRayParams()
	p.DownFactor = 0.1
	if got := RayServe(2, 4, p); got != 3 { // wants 1: 4 - 0.3 rounds up to 4
		t.Errorf("got %d, want 3", got)
	}
	p.UpFactor = 0.5
	if got := RayServe(20, 4, p); got != 7 {
		t.Errorf("half of the way from 4 to 10: got %d, want 7", got)
	}
}

func TestHPAOnBenchmarkHoldsWithoutOne(t *testing.T) {
	for _, name := range []string{"hpa-rate", "hpa-inflight"} {
		p, _ := ByName(name, map[string]string{"share": "0.85"})
		v := oneVariant(2, 0)
		all(&v, 0.5, 0, 40)
		v.ArrivalRate = fresh(20) // 20 / (0.85*5) = 4.7; 80 / (0.85*20) = 4.7
		if got := p.Decide(begin, Observation{Variants: []Variant{v}})[0]; got.Replicas != 5 {
			t.Errorf("%s: got %+v, want 5", name, got)
		}
		v.Benchmark = Benchmark{}
		if got := p.Decide(at(15), Observation{Variants: []Variant{v}})[0]; got.Replicas != 2 || !strings.Contains(got.Reason, "benchmark") {
			t.Errorf("%s without a benchmark: got %+v, want to hold 2 and say why", name, got)
		}
	}
}

func TestStaticUsesTheCheapestVariant(t *testing.T) {
	p, _ := ByName("static", map[string]string{"replicas": strconv.Itoa(7)})
	a, b := oneVariant(1, 0), oneVariant(1, 0)
	a.Key.Name, a.Cost, b.Key.Name = "a", 20, "b"
	b.Bounds.Max = 5
	got := p.Decide(begin, Observation{Variants: []Variant{a, b}})
	if got[0].Replicas != 1 || got[1].Replicas != 5 {
		t.Errorf("got %+v, want 1 and, of 7, the 5 that are allowed", got)
	}
}
