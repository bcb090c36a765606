package clairvoyant

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/serving"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// listed opens the same requests for every model.
func listed(requests ...workload.Request) Arrivals {
	return func(scaling.ModelKey) iter.Seq2[workload.Request, error] {
		return workload.WithoutError(slices.Values(requests))
	}
}

// TestOneRequestAloneCostsItsOwnTime has a closed form: at batch 1 nothing is
// shared.
func TestOneRequestAloneCostsItsOwnTime(t *testing.T) {
	c := config(time.Hour, variant("a", 1, 2))
	got, err := Bound(t.Context(), c, listed(workload.Request{At: time.Minute, InputTokens: 1000, OutputTokens: 101}))
	if err != nil {
		t.Fatal(err)
	}
	// gamma + 1000 delta + 100 (alpha + beta), at 2 per hour.
	want := (12 + 55 + 100*(18+0.35)) / 3.6e6 * 2
	if math.Abs(got.Cost-want) > 1e-4*want || got.Cost > want {
		t.Errorf("a request that is alone costs %v or more, want %v or a little less", got.Cost, want)
	}
}

// TestBoundTakesTheCheapestVariantThatCan has one that is cheap and too slow.
func TestBoundTakesTheCheapestVariantThatCan(t *testing.T) {
	r := listed(workload.Request{At: time.Minute, InputTokens: 1000, OutputTokens: 101})
	cost := func(variants ...sim.Variant) Limit {
		got, err := Bound(t.Context(), config(time.Hour, variants...), r)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	fast, slow, dear := variant("fast", 2, 2), variant("slow", 0.2, 0.1), variant("dear", 2, 5)
	if got, want := cost(fast, slow, dear).Cost, cost(fast).Cost; got != want {
		t.Errorf("the bound is %v, want that of the fast variant, %v", got, want)
	}
	if got := cost(slow); got.Models[0].Attainable != 0 || got.Cost != 0 || got.Reachable(config(time.Hour, slow)) {
		t.Errorf("the slow variant alone: %+v, want nothing attainable", got)
	}
}

// TestWorkDueAfterTheHorizonIsFree: a run counts no cost there.
func TestWorkDueAfterTheHorizonIsFree(t *testing.T) {
	r := workload.Request{At: time.Minute, InputTokens: 1000, OutputTokens: 101} // its tokens are due 7 s later
	for _, tc := range []struct {
		horizon time.Duration
		want    float64 // ms of a replica
	}{
		{time.Minute + 500*time.Millisecond, 0},
		{time.Minute + 2*time.Second, 12 + 55},
		{time.Minute + 8*time.Second, 12 + 55 + 100*(18+0.35)},
	} {
		got, err := Bound(t.Context(), config(tc.horizon, variant("a", 1, 1)), listed(r))
		if err != nil {
			t.Fatal(err)
		}
		if ms := got.Cost * 3.6e6; math.Abs(ms-tc.want) > 1e-4*tc.want {
			t.Errorf("horizon %s: %v ms, want %v", tc.horizon, ms, tc.want)
		}
	}
}

// TestSharesNeverExceedWhatAReplicaWorked is the argument of the bound against
// the machine itself: whatever one replica does, the shares of the requests that
// met their objectives are no more than the time that it was busy. Small caches
// make it preempt.
func TestSharesNeverExceedWhatAReplicaWorked(t *testing.T) {
	tightest, preemptions := 0.0, uint64(0)
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		p := serving.Profile{
			Name: "p", Accelerator: "a", AlphaMS: 1 + 30*rng.Float64(), BetaMS: rng.Float64(), GammaMS: 40 * rng.Float64(), DeltaMS: 0.1 * rng.Float64(),
			MaxBatchSize: 1 + rng.IntN(40), MaxBatchedTokens: 64 << rng.IntN(6), KVCacheTokens: 2048 << rng.IntN(5), BlockSize: 16, MaxModelLen: 4096,
		}
		slo := sim.SLO{TTFT: 200 + 5000*rng.Float64(), ITL: p.AlphaMS * (1.1 + 2*rng.Float64())}
		l := law{profile: p, slo: slo, cache: float64(p.Blocks() * p.BlockSize)}
		busy, met, n := serve(t, rng, p, slo)
		preemptions += n
		var beside crowd
		for _, r := range met {
			beside.add(windowOf(r, slo))
		}
		beside.close()
		for _, m := range mixtures {
			sum := 0.0
			for _, r := range met {
				w, ok := l.least(r, beside.most(windowOf(r, slo)))
				if !ok {
					t.Fatalf("seed %d: %+v met its objectives and cannot", seed, r)
				}
				sum += w.prefill(m) + w.decode(m)
			}
			if sum > busy*(1+slack) {
				t.Errorf("seed %d, shares %+v: %d requests take %.3f ms at least, the replica was busy for %.3f ms", seed, m, len(met), sum, busy)
			}
			tightest = max(tightest, sum/busy)
		}
	}
	t.Logf("the tightest was %.3f of the busy time; %d preemptions", tightest, preemptions)
	if tightest < 0.8 || preemptions < 100 {
		t.Errorf("the tightest was %.3f with %d preemptions, want 0.8 and 100 or more: the test says little", tightest, preemptions)
	}
}

// serve runs random requests on one replica, and returns how long it was busy in
// ms and the requests that met their objectives.
func serve(t *testing.T, rng *rand.Rand, p serving.Profile, slo sim.SLO) (busy float64, met []workload.Request, preemptions uint64) {
	t.Helper()
	r, err := serving.New(p, serving.Options{Milestones: true})
	if err != nil {
		t.Fatal(err)
	}
	requests := map[uint64]workload.Request{}
	first := map[uint64]time.Duration{}
	gap := 1000 * rng.Float64() // ms
	at := time.Duration(0)
	var events []serving.Event
	for id := range uint64(40) {
		at += time.Duration(gap * rng.ExpFloat64() * 1e6)
		one := workload.Request{At: at, InputTokens: 1 + rng.IntN(600), OutputTokens: 1 + rng.IntN(150)}
		if r.Submit(at, serving.Request{ID: id, InputTokens: one.InputTokens, OutputTokens: one.OutputTokens}) == serving.Accepted {
			requests[id] = one
		}
	}
	events = r.Advance(at+time.Hour, events)
	for _, e := range events {
		one := requests[e.ID]
		switch e.Kind {
		case serving.FirstToken:
			first[e.ID] = e.At
		case serving.Finished:
			ttft := float64(first[e.ID]-one.At) / 1e6
			itl := float64(e.At-first[e.ID]) / 1e6
			if ttft <= slo.TTFT && itl <= slo.ITL*float64(one.OutputTokens-1) {
				met = append(met, one)
			}
		default:
		}
	}
	slices.SortFunc(met, func(a, b workload.Request) int { return int(a.At - b.At) })
	return r.Stats().Busy.Seconds() * 1000, met, r.Stats().Preemptions
}

// instance draws a small run: its models, variants, objectives and traffic.
func instance(t *testing.T, seed uint64) (sim.Config, Arrivals) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 7))
	minutes := 2 + rng.IntN(2)
	traffic := []string{"constant(%.2f,%dm)", "gamma(%.2f,%dm,cv=3)", "onoff(%.2f,40s,50s,%dm)"}[rng.IntN(3)]
	profile := fmt.Sprintf(traffic, 0.1+6*rng.Float64()*rng.Float64(), minutes)
	variants := []sim.Variant{variant("a", 1, 2)}
	if rng.IntN(2) == 0 {
		faster := 1 + 3*rng.Float64()
		variants = append(variants, variant("b", faster, 2*faster*(0.6+rng.Float64())))
	}
	for i := range variants {
		variants[i].StartUp = sim.StartUp{Mean: time.Duration(rng.IntN(60)) * time.Second, Deviation: time.Duration(rng.IntN(10)) * time.Second}
		variants[i].Profile.KVCacheTokens = 16384 << rng.IntN(3)
		variants[i].Grace = time.Duration(rng.IntN(2)) * 30 * time.Second
	}
	c := config(time.Duration(rng.IntN(2)*minutes)*time.Minute, variants...)
	c.Seed = seed
	c.Models[0].SLO = sim.SLO{TTFT: 300 + 2000*rng.Float64(), ITL: 22 + 40*rng.Float64(), Attainment: []float64{0.5, 0.9, 0.95, 0.99}[rng.IntN(4)]}
	c.Models[0].Hold = time.Duration(rng.IntN(2)) * time.Minute
	return c, chat(t, profile, seed)
}

// TestNoPolicyUndercutsTheBound runs every static number of replicas, the
// autoscaler and the schedules that a search finds: none that reaches the
// attainment costs less than the bound.
func TestNoPolicyUndercutsTheBound(t *testing.T) {
	compared, nearest := 0, math.Inf(1)
	for seed := range uint64(8) {
		c, fresh := instance(t, seed)
		limit, err := Bound(t.Context(), c, fresh)
		if err != nil {
			t.Fatal(err)
		}
		judge := func(r sim.Report, what string) {
			if !reached(r.Models[0]) {
				return
			}
			compared++
			if !limit.Reachable(c) {
				t.Errorf("seed %d: %s reaches the attainment, which cannot be reached", seed, what)
			}
			nearest = min(nearest, costOf(r)/limit.Cost)
			if costOf(r) < limit.Cost {
				t.Errorf("seed %d: %s costs %.5f, less than the bound %.5f", seed, what, costOf(r), limit.Cost)
			}
		}
		for v := range c.Models[0].Variants {
			for k := range 4 {
				one := withArrivals(c, fresh)
				for i := range one.Models[0].Variants {
					one.Models[0].Variants[i].Replicas = 0
				}
				one.Models[0].Variants[v].Replicas = k
				judge(run(t, one, still{}), fmt.Sprintf("%d of variant %d", k, v))
			}
		}
		engine := sim.NewEngine(sim.EngineOptions{Name: "engine"})
		judge(run(t, withArrivals(c, fresh), engine), "the autoscaler")
		found, err := Find(t.Context(), c, fresh, Options{Tick: 5 * time.Second, Runs: 12})
		if err != nil {
			t.Fatal(err)
		}
		judge(found.Report, "the schedule")
	}
	t.Logf("%d runs reached their attainment; the nearest cost %.3f of the bound", compared, nearest)
	if compared < 25 {
		t.Errorf("%d runs reached their attainment, want 25 or more", compared)
	}
}

// still changes nothing.
type still struct{}

func (still) Name() string                          { return "still" }
func (still) Interval() time.Duration               { return time.Minute }
func (still) Decide(sim.View) ([]sim.Target, error) { return nil, nil }

func run(t *testing.T, c sim.Config, p sim.Policy) sim.Report {
	t.Helper()
	r, err := sim.Run(t.Context(), c, p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestBoundGrowsWithTheAttainment(t *testing.T) {
	last := 0.0
	for _, attainment := range []float64{0, 0.5, 0.9, 0.99, 1} {
		c := config(0, variant("a", 1, 2))
		c.Models[0].SLO.Attainment = attainment
		got, err := Bound(t.Context(), c, chat(t, "constant(5,2m)", 1))
		if err != nil {
			t.Fatal(err)
		}
		if got.Cost < last || attainment == 0 && got.Cost != 0 || attainment == 1 && got.Cost != got.Models[0].Full {
			t.Errorf("attainment %v: %v (full %v) after %v", attainment, got.Cost, got.Models[0].Full, last)
		}
		last = got.Cost
	}
}

func TestBoundSaysWhatIsWrong(t *testing.T) {
	fresh := chat(t, "constant(5,2m)", 1)
	own := variant("a", 1, 2)
	own.Replica = func() (sim.Replica, error) { return nil, errors.New("unused") }
	if _, err := Bound(t.Context(), config(0, own), fresh); err == nil || err.Error() != "clairvoyant: variant ns/a of model ns/m makes its replicas itself: want one that has a profile only" {
		t.Errorf("a replica of its own: %v", err)
	}
	if _, err := Bound(t.Context(), sim.Config{}, fresh); err == nil {
		t.Error("no model: want an error")
	}
	broken := errors.New("line 7: broken")
	failing := func(scaling.ModelKey) iter.Seq2[workload.Request, error] {
		return func(yield func(workload.Request, error) bool) { yield(workload.Request{}, broken) }
	}
	if _, err := Bound(t.Context(), config(0, variant("a", 1, 2)), failing); !errors.Is(err, broken) {
		t.Errorf("a workload that fails: %v, want it named", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Bound(ctx, config(0, variant("a", 1, 2)), fresh); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

func TestLadderAddsUpTheCheapest(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var l ladder
		var prices []float64
		for range 1 + rng.IntN(300) {
			price := math.Exp(4 * rng.NormFloat64())
			if rng.IntN(10) == 0 {
				price = 0
			}
			prices = append(prices, price)
			l.add(price)
		}
		slices.Sort(prices)
		sum := 0.0
		for n, price := range prices {
			got := l.cheapest(uint64(n))
			if got > sum*(1+1e-9) || n > 0 && got < sum/1.011-1e-12 {
				t.Fatalf("the %d cheapest of %d come to %v, want at most %v and not 1.1 %% less", n, len(prices), got, sum)
			}
			sum += price
		}
	}
}

func TestCrowdCountsWindowsThatOverlap(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var windows []window
	var c crowd
	for range 200 {
		w := window{from: time.Duration(rng.IntN(100_000)) * time.Millisecond}
		w.last = w.from + time.Duration(rng.IntN(20_000))*time.Millisecond
		if rng.IntN(50) == 0 {
			w.last = never
		}
		windows = append(windows, w)
		c.add(w)
	}
	c.close()
	for _, w := range windows {
		most := 0
		for at := w.from; at <= min(w.last, 130*time.Second); at += 10 * time.Millisecond {
			n := 0
			for _, o := range windows {
				if o.from <= at && at <= o.last {
					n++
				}
			}
			most = max(most, n)
		}
		if got := c.most(w); got < most || got > most+12 {
			t.Errorf("%d windows overlap in %v, want at least %d and few more", got, w, most)
		}
	}
}

// TestBoundIsNearWhereAReplicaIsFull: where hardly anybody may be missed and
// requests may wait, one replica under as much load as it can bear costs little
// more than the bound; and under more, the bound says that one is not enough.
func TestBoundIsNearWhereAReplicaIsFull(t *testing.T) {
	for _, tc := range []struct {
		traffic string
		reached bool
		low     float64 // cost of one replica over the bound
		high    float64
	}{
		{"constant(5,5m)", true, 1, 1.25},
		{"constant(6.5,5m)", false, 0.9, 1},
	} {
		c := config(5*time.Minute, variant("a", 1, 2))
		c.Models[0].SLO = sim.SLO{TTFT: 20_000, ITL: 60, Attainment: 0.99}
		fresh := chat(t, tc.traffic, 1)
		limit, err := Bound(t.Context(), c, fresh)
		if err != nil {
			t.Fatal(err)
		}
		one := run(t, withArrivals(c, fresh), still{})
		if ratio := costOf(one) / limit.Cost; ratio < tc.low || ratio > tc.high || reached(one.Models[0]) != tc.reached {
			t.Errorf("%s: one replica costs %.3f of the bound with an attainment of %.3f, want [%v, %v] and reached %v",
				tc.traffic, ratio, one.Models[0].Attainment, tc.low, tc.high, tc.reached)
		}
	}
}
