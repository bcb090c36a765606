package clairvoyant

import (
	"context"
	"errors"
	"iter"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// tiny is a run so short that every schedule of 0 to most replicas, changed
// every tick, can be tried.
func tiny(variants ...sim.Variant) (sim.Config, Options) {
	for i := range variants {
		variants[i].StartUp = sim.StartUp{Mean: 10 * time.Second}
	}
	c := config(80*time.Second, variants...)
	c.Models[0].SLO.Attainment = 0.8
	return c, Options{Runs: 60}
}

// bruteForce returns the least cost of all schedules that reach the attainment.
func bruteForce(t *testing.T, c sim.Config, fresh Arrivals, tick time.Duration, ticks int, most int32) float64 {
	t.Helper()
	best := math.Inf(1)
	script := Script{Tick: tick}
	for _, v := range c.Models[0].Variants {
		script.Lines = append(script.Lines, Line{Variant: v.Spec.Key, Replicas: make([]int32, ticks)})
	}
	var try func(line, at int)
	try = func(line, at int) {
		switch {
		case line == len(script.Lines):
			if r := run(t, withArrivals(c, fresh), script.Policy()); reached(r.Models[0]) {
				best = min(best, costOf(r))
			}
		case at == ticks:
			try(line+1, 0)
		default:
			for n := range most + 1 {
				script.Lines[line].Replicas[at] = n
				try(line, at+1)
			}
		}
	}
	try(0, 0)
	return best
}

// TestFindIsNearTheBestOfAllSchedules compares it with every schedule there is,
// where there are few.
func TestFindIsNearTheBestOfAllSchedules(t *testing.T) {
	for _, tc := range []struct {
		traffic  string
		most     int32
		tick     time.Duration
		variants []sim.Variant
	}{
		{"step(1->12,40s,80s)", 3, 20 * time.Second, []sim.Variant{variant("a", 1, 2)}},
		{"sine(1->9,20s,80s)", 2, 20 * time.Second, []sim.Variant{variant("a", 1, 2)}},
		{"step(1->6,40s,80s)", 2, 30 * time.Second, []sim.Variant{variant("a", 1, 2), variant("b", 3, 4)}},
	} {
		c, o := tiny(tc.variants...)
		o.Tick = tc.tick
		fresh := chat(t, tc.traffic, 1)
		best := bruteForce(t, c, fresh, o.Tick, int((c.Duration-1)/o.Tick), tc.most)
		got, err := Find(t.Context(), c, fresh, o)
		if err != nil {
			t.Fatal(err)
		}
		gap := costOf(got.Report)/best - 1
		t.Logf("%-20s found %.5f in %d runs, the best of all is %.5f (gap %.1f %%)", tc.traffic, costOf(got.Report), got.Runs, best, 100*gap)
		if !got.Reached || gap > 0.05 {
			t.Errorf("%s: reached %v at %.5f, want true and at most 5 %% above %.5f", tc.traffic, got.Reached, costOf(got.Report), best)
		}
	}
}

// TestAScriptRunsAsItWasFound: the schedule, not the search, is the evidence; and
// a search is repeatable.
func TestAScriptRunsAsItWasFound(t *testing.T) {
	c, fresh := instance(t, 3)
	got, err := Find(t.Context(), c, fresh, Options{Tick: 10 * time.Second, Runs: 25})
	if err != nil {
		t.Fatal(err)
	}
	again, err := Find(t.Context(), c, fresh, Options{Tick: 10 * time.Second, Runs: 25})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, again, cmpopts.IgnoreUnexported(sim.VariantReport{})); diff != "" {
		t.Errorf("a search that is repeated differs (-first +second):\n%s", diff)
	}
	if diff := cmp.Diff(got.Report.Models, run(t, withArrivals(c, fresh), got.Script.Policy()).Models, cmpopts.IgnoreUnexported(sim.VariantReport{})); diff != "" {
		t.Errorf("the script does not run as reported (-found +run):\n%s", diff)
	}
	if got.Reached != reached(got.Report.Models[0]) || got.Runs > 25 {
		t.Errorf("reached %v in %d runs with an attainment of %v", got.Reached, got.Runs, got.Report.Models[0].Attainment)
	}
}

// TestFindScalesEveryModelOnItsOwnTraffic has two models on one stock.
func TestFindScalesEveryModelOnItsOwnTraffic(t *testing.T) {
	c := config(4*time.Minute, variant("a", 1, 2))
	other := config(0, variant("b", 2, 3)).Models[0]
	other.Key.ID = "other"
	c.Models = append([]sim.Model{other}, c.Models...)
	c.Nodes = []sim.Nodes{{Accelerator: "L40S", Count: 8, GPUs: 1}}
	early, late := chat(t, "step(8->0.5,2m,4m)", 1), chat(t, "step(0.5->12,2m,4m)", 2)
	fresh := func(key scaling.ModelKey) iter.Seq2[workload.Request, error] {
		if key.ID == "other" {
			return early(key)
		}
		return late(key)
	}
	got, err := Find(t.Context(), c, fresh, Options{Tick: 10 * time.Second, Runs: 30})
	if err != nil {
		t.Fatal(err)
	}
	if !got.Reached {
		t.Errorf("reached %v at %v, want true", got.Reached, costOf(got.Report))
	}
	first, last := got.Script.Lines[0].Replicas, got.Script.Lines[1].Replicas
	if first[0] < first[20] || last[0] > last[20] {
		t.Errorf("replicas %v and %v, want the one to shrink and the other to grow", first, last)
	}
}

func TestFindSaysWhenItFindsNothing(t *testing.T) {
	c := config(2*time.Minute, variant("a", 1, 2))
	c.Models[0].Variants[0].Replicas = 0
	c.Models[0].Variants[0].StartUp.Mean = 90 * time.Second // most of the run
	got, err := Find(t.Context(), c, chat(t, "constant(3,2m)", 1), Options{Runs: 30})
	if err != nil || got.Reached || got.Report.Models[0].Counts.Met == 0 {
		t.Errorf("reached %v with %+v (%v), want false, and the schedule that misses least", got.Reached, got.Report.Models[0].Counts, err)
	}
}

func TestFindKeepsWhatItHasWhenItIsInterrupted(t *testing.T) {
	c := config(2*time.Minute, variant("a", 1, 2))
	ctx, cancel := context.WithCancel(t.Context())
	fresh, opened := chat(t, "constant(3,2m)", 1), 0
	counting := func(key scaling.ModelKey) iter.Seq2[workload.Request, error] {
		if opened++; opened == 12 {
			cancel()
		}
		return fresh(key)
	}
	got, err := Find(ctx, c, counting, Options{})
	if !errors.Is(err, context.Canceled) || got.Runs == 0 || len(got.Script.Lines) != 1 {
		t.Errorf("got %d runs, %d lines, %v, want the best up to the interruption and its error", got.Runs, len(got.Script.Lines), err)
	}
}

func TestFindRefusesOptionsThatAreOutOfRange(t *testing.T) {
	for _, o := range []Options{{Tick: time.Millisecond}, {Runs: -1}, {Workers: -1}} {
		if _, err := Find(t.Context(), config(time.Minute, variant("a", 1, 2)), chat(t, "constant(3,1m)", 1), o); err == nil {
			t.Errorf("%+v: want an error", o)
		}
	}
}

// TestCoverIsTheCheapest compares it with every pair.
func TestCoverIsTheCheapest(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		n := 1 + rng.IntN(2)
		var need, prices []float64
		for range n {
			need, prices = append(need, 12*rng.Float64()), append(prices, 1+3*rng.Float64())
		}
		got := cover(need, prices)
		covered, cost := 0.0, 0.0
		for v, k := range got {
			covered += float64(k) / need[v]
			cost += float64(k) * prices[v]
		}
		if covered < 1-1e-6 {
			t.Fatalf("%v of %v covers %v of the work", got, need, covered)
		}
		for a := range 30 {
			for b := range 30 {
				share, price := float64(a)/need[0], float64(a)*prices[0]
				if n == 2 {
					share, price = share+float64(b)/need[1], price+float64(b)*prices[1]
				}
				if share >= 1 && price < cost-1e-9 {
					t.Fatalf("%v costs %v, and %d and %d cost %v", got, cost, a, b, price)
				}
			}
		}
	}
}

// TestNoPolicyUndercutsTheSchedule: what is found with the schedules of some policies to
// begin with is no dearer than any of them that reaches the attainment.
func TestNoPolicyUndercutsTheSchedule(t *testing.T) {
	compared := 0
	for seed := range uint64(6) {
		c, fresh := instance(t, seed)
		var starts []Script
		least := math.Inf(1)
		for n := range int32(4) {
			for v := range c.Models[0].Variants {
				script := Script{Tick: 5 * time.Second}
				for i, one := range c.Models[0].Variants {
					line := Line{Variant: one.Spec.Key, Replicas: []int32{0}}
					if i == v {
						line.Replicas[0] = n
					}
					script.Lines = append(script.Lines, line)
				}
				starts = append(starts, script)
				if r := run(t, withArrivals(c, fresh), script.Policy()); reached(r.Models[0]) {
					least = min(least, costOf(r))
				}
			}
		}
		got, err := Find(t.Context(), c, fresh, Options{Tick: 5 * time.Second, Runs: len(starts) + 40, Start: starts})
		if err != nil {
			t.Fatal(err)
		}
		if math.IsInf(least, 1) {
			continue
		}
		compared++
		if !got.Reached || costOf(got.Report) > least {
			t.Errorf("seed %d: reached %v at %.5f, a fixed number of replicas at %.5f", seed, got.Reached, costOf(got.Report), least)
		}
	}
	if compared < 3 {
		t.Errorf("%d compared, want 3 or more", compared)
	}
}

// TestSearchingSideBySideFindsTheSame: the answer does not depend on the workers.
func TestSearchingSideBySideFindsTheSame(t *testing.T) {
	c, fresh := instance(t, 2)
	var found [2]Found
	for i, workers := range []int{1, 3} {
		var err error
		if found[i], err = Find(t.Context(), c, fresh, Options{Tick: 10 * time.Second, Runs: 30, Workers: workers}); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(found[0], found[1], cmpopts.IgnoreUnexported(sim.VariantReport{})); diff != "" {
		t.Errorf("1 and 3 workers:\n%s", diff)
	}
}

// TestChoosingSpendsTheMissesWhereTheySaveMost compares with every choice there is.
func TestChoosingSpendsTheMissesWhereTheySaveMost(t *testing.T) {
	moves := []move{
		{from: 0, to: 1, by: -1, cost: -4, misses: 2},
		{from: 0, to: 1, by: 1, cost: 4, misses: -1},
		{from: 1, to: 2, by: -1, cost: -4, misses: 9},
		{from: 1, to: 2, by: 1, cost: 4, misses: -8},
		{from: 2, to: 3, by: -1, cost: -4, misses: 0},
		{from: 2, to: 3, by: 1, cost: 4, misses: 0},
		{from: 3, to: 4, by: -1, cost: -4, misses: 3},
		{from: 3, to: 4, by: 1, cost: 4, misses: -1},
	}
	for _, tt := range []struct{ misses, cost float64 }{{0, -4}, {2, -8}, {5, -12}, {14, -16}, {-3, -8}} {
		cost, misses := 0.0, 0.0
		for _, m := range choose(moves, tt.misses) {
			cost, misses = cost+m.cost, misses+m.misses
		}
		if misses > tt.misses || cost > tt.cost {
			t.Errorf("with %g misses to spare: a cost of %g for %g, want %g or less", tt.misses, cost, misses, tt.cost)
		}
	}
}

// TestSpreadLosesNothing: what is spread over ticks adds up to what there was.
func TestSpreadLosesNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	var ticks []float64
	want := 0.0
	for range 100 {
		amount := rng.Float64()
		want += amount
		spread(&ticks, time.Second, time.Duration(rng.IntN(60_000))*time.Millisecond, time.Duration(rng.IntN(5_000))*time.Millisecond, amount)
	}
	got := 0.0
	for _, a := range ticks {
		got += a
	}
	if math.Abs(got-want) > 1e-9 {
		t.Errorf("spread %v of %v", got, want)
	}
}

func TestChangesCountsOrders(t *testing.T) {
	if got := (Line{Replicas: []int32{1, 1, 2, 2, 0}}).Changes(); got != 2 {
		t.Errorf("%d changes, want 2", got)
	}
}
