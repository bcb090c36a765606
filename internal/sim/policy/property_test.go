package policy

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// world is a model with two variants whose load wanders and whose replicas start
// late: enough of a plant to drive every policy through its states.
type world struct {
	rng      *rand.Rand
	variants []Variant
	load     float64 // requests in flight
}

func newWorld(seed uint64) *world {
	a, b := oneVariant(2, 0), oneVariant(1, 0)
	a.Key.Name, b.Key.Name, b.Cost = "a", "b", 25
	a.Bounds, b.Bounds = scaling.Bounds{Min: 0, Max: 12}, scaling.Bounds{Min: 1, Max: 7}
	return &world{rng: rand.New(rand.NewPCG(seed, 7)), variants: []Variant{a, b}, load: 10}
}

// observe moves the load and shows it, here and there with readings missing.
func (w *world) observe() Observation {
	switch w.rng.IntN(40) {
	case 0:
		w.load = 0
	case 1:
		w.load = 1000 * w.rng.Float64()
	default:
		w.load *= 0.9 + 0.2*w.rng.Float64()
		w.load += w.rng.Float64()
	}
	maybe := func(v float64) scaling.Reading {
		if w.rng.IntN(15) == 0 {
			return scaling.Reading{}
		}
		return fresh(v)
	}
	in := Observation{SLO: SLO{TTFT: 1000, ITL: 50}}
	ready := scaling.Replicas(0)
	for i := range w.variants {
		v := &w.variants[i]
		if v.Replicas.Pending > 0 && w.rng.IntN(10) == 0 {
			v.Replicas.Pending--
			v.Replicas.Ready++
		}
		ready += v.Replicas.Ready
	}
	in.Load.GatewayQueue = maybe(0)
	if ready == 0 {
		in.Load.GatewayQueue = maybe(w.load)
	}
	each := w.load / float64(max(1, ready))
	in.Load.ArrivalRate, in.Load.InputTokens, in.Load.OutputTokens = maybe(w.load/5), maybe(1000), maybe(200)
	in.Load.TTFT, in.Load.TTFTP90 = maybe(20*each), maybe(40*each)
	in.Load.ITL, in.Load.ITLP90 = maybe(10+each/2), maybe(12+each/2)
	in.Load.UncachedTokens = maybe(300 * w.load)
	in.Load.Shapes = []Shape{{1000, 200, w.load / 10}, {300, 30, w.load / 10}}
	for _, v := range w.variants {
		v.ArrivalRate = maybe(each * float64(v.Replicas.Ready) / 5)
		v.Pods = nil
		for i := range v.Replicas.Ready {
			v.Pods = append(v.Pods, Pod{
				Name: fmt.Sprintf("%s-%02d", v.Key.Name, i), Ready: true,
				KVCacheUsage: maybe(min(1, each/60)), Running: maybe(min(each, 64)),
				QueueLength: maybe(max(0, each-64)), QueuedTokens: maybe(1000 * max(0, each-64)),
			})
		}
		for i := range v.Replicas.Pending {
			v.Pods = append(v.Pods, Pod{Name: fmt.Sprintf("%s-p%02d", v.Key.Name, i), Unstarted: w.rng.IntN(2) == 0})
		}
		in.Variants = append(in.Variants, v)
	}
	return in
}

// obey sets the replicas.
func (w *world) obey(targets []Target) {
	for i, t := range targets {
		r := &w.variants[i].Replicas
		if t.Replicas < r.Ready {
			r.Ready, r.Pending = t.Replicas, 0
		} else {
			r.Pending = t.Replicas - r.Ready
		}
		r.Current = t.Replicas
	}
}

// play runs a policy in a world and returns all that it decided.
func play(t *testing.T, name string, point map[string]string, seed uint64, steps int, see func(Observation, []Target)) []Target {
	t.Helper()
	p, err := ByName(name, point)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(seed)
	var out []Target
	for step := range steps {
		in := w.observe()
		targets := p.Decide(begin.Add(time.Duration(step)*p.Interval()), in)
		see(in, targets)
		w.obey(targets)
		out = append(out, targets...)
	}
	return out
}

func TestEveryPolicyKeepsItsBoundsAndItsInput(t *testing.T) {
	for _, d := range Catalogue() {
		t.Run(d.Name, func(t *testing.T) {
			reached := map[scaling.Replicas]bool{}
			grid := d.Grid
			if d.Name == "static" { // which has none
				grid = []map[string]string{{"replicas": "1"}, {"replicas": "2"}, {"replicas": "3"}, {"replicas": "12"}}
			}
			for i, point := range grid {
				play(t, d.Name, point, uint64(i), 250, func(in Observation, targets []Target) {
					if len(targets) != len(in.Variants) {
						t.Fatalf("got %d targets for %d variants", len(targets), len(in.Variants))
					}
					for j, v := range in.Variants {
						target := targets[j]
						if target.Variant != v.Key || target.Reason == "" {
							t.Fatalf("got %+v for %s", target, v.Key)
						}
						if target.Replicas < v.Bounds.Min || target.Replicas > v.Bounds.Max {
							t.Fatalf("%v: got %+v outside of %+v at %+v", point, target, v.Bounds, v.Replicas)
						}
						reached[target.Replicas] = true
					}
				})
			}
			if len(reached) < 4 {
				t.Errorf("it has only ever wanted %v replicas", reached)
			}
		})
	}
}

// TestOnlyPoliciesThatBenchGoByTheBenchmark plays each twice in one world, the
// second time with replicas of which three times as much was measured.
func TestOnlyPoliciesThatBenchGoByTheBenchmark(t *testing.T) {
	for _, d := range Catalogue() {
		decided := func(times float64) []Target {
			p, err := ByName(d.Name, nil)
			if err != nil {
				t.Fatal(err)
			}
			w := newWorld(4)
			var out []Target
			for step := range 100 {
				in := w.observe()
				for i := range in.Variants {
					b := &in.Variants[i].Benchmark
					b.Rate, b.Concurrency, b.PrefillSpeed = b.Rate*times, b.Concurrency*times, b.PrefillSpeed*times
				}
				for _, target := range p.Decide(begin.Add(time.Duration(step)*p.Interval()), in) {
					out = append(out, Target{Variant: target.Variant, Replicas: target.Replicas})
				}
			}
			return out
		}
		if differs := !slices.Equal(decided(1), decided(3)); differs != d.Benches() {
			t.Errorf("%s: other benchmarks give other decisions: %t; it says that it reads %s", d.Name, differs, d.Reads)
		}
	}
}

func TestEveryPolicyIsDeterministicAndLeavesItsInputAlone(t *testing.T) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			inputs := func() []string {
				var texts []string
				first := play(t, name, nil, 3, 200, func(in Observation, _ []Target) {
					text, err := json.Marshal(in)
					if err != nil {
						t.Fatal(err)
					}
					texts = append(texts, string(text))
				})
				for _, d := range first {
					texts = append(texts, fmt.Sprint(d))
				}
				return texts
			}
			if diff := cmp.Diff(inputs(), inputs()); diff != "" {
				t.Errorf("two runs differ:\n%s", diff)
			}
			p, err := ByName(name, nil)
			if err != nil {
				t.Fatal(err)
			}
			w := newWorld(5)
			for step := range 50 {
				in := w.observe()
				before, _ := json.Marshal(in)
				targets := p.Decide(begin.Add(time.Duration(step)*p.Interval()), in)
				if after, _ := json.Marshal(in); string(after) != string(before) {
					t.Fatalf("step %d: the observation was changed", step)
				}
				w.obey(targets)
			}
		})
	}
}

func TestNoVariantNoTarget(t *testing.T) {
	for _, name := range Names() {
		p, err := ByName(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Decide(begin, Observation{}); len(got) != 0 {
			t.Errorf("%s: got %v, want nothing", name, got)
		}
	}
}

func TestRulesAreMonotoneInLoad(t *testing.T) {
	rules := map[string]func(load float64, n scaling.Replicas) scaling.Replicas{
		"AverageValue": func(load float64, n scaling.Replicas) scaling.Replicas {
			return AverageValue(load, 3, n, DefaultTolerance())
		},
		"Value": func(load float64, n scaling.Replicas) scaling.Replicas {
			return Value(load, 3, n, n, DefaultTolerance())
		},
		"PodsAverage": func(load float64, n scaling.Replicas) scaling.Replicas {
			got, err := PodsAverage([]float64{load / 100, load / 50}, 1, 1, n, 0.5, DefaultTolerance())
			if err != nil {
				t.Fatal(err)
			}
			return got
		},
		"APA":       func(load float64, n scaling.Replicas) scaling.Replicas { return APA(n, load/100, DefaultAPAParams()) },
		"Ray Serve": func(load float64, n scaling.Replicas) scaling.Replicas { return RayServe(load, n, DefaultRayParams()) },
		"KPA": func(load float64, n scaling.Replicas) scaling.Replicas {
			k := NewKPADecider(DefaultKPAParams(), begin, 1)
			got, _ := k.Desired(at(2), n, load/10, load/5)
			return got
		},
		"Guard": func(load float64, n scaling.Replicas) scaling.Replicas { return ceil(Guard(load/10, n, n/2)) },
		"SLO law": func(load float64, n scaling.Replicas) scaling.Replicas {
			return scaling.Replicas(DefaultSLOParams().demand(min(2, load/50), n, n))
		},
		"Dynamo": func(load float64, _ scaling.Replicas) scaling.Replicas {
			prefill, decode := engines(dynamoDemand{rate: load, input: 1000, output: 100, correction: 0.9, prefill: 8000, decode: 1500})
			return ceil(prefill + decode)
		},
		"ILP": func(load float64, _ scaling.Replicas) scaling.Replicas {
			v := oneVariant(1, 0)
			plan, _ := planILP([]Variant{v}, []slice{{bucket{128, 4}, load}}, func(Variant, bucket) float64 { return 7 })
			return plan[v.Key]
		},
	}
	for name, rule := range rules {
		for n := scaling.Replicas(1); n <= 12; n++ {
			last, highest := scaling.Replicas(math.MinInt), scaling.Replicas(0)
			for load := 0.0; load <= 200; load += 0.5 {
				got := rule(load, n)
				if got < last {
					t.Fatalf("%s with %d replicas: a load of %v wants %d, less than %d before", name, n, load, got, last)
				}
				last, highest = got, max(highest, got)
			}
			if highest < 2 {
				t.Errorf("%s with %d replicas: never more than %d", name, n, highest)
			}
		}
	}
}

func TestILPAgreesWithBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for run := range 200 {
		variants := make([]Variant, 1+rng.IntN(3))
		for j := range variants {
			variants[j].Key.Name, variants[j].Cost = string(rune('a'+j)), float64(1+rng.IntN(20))
		}
		demand := make([]slice, 1+rng.IntN(6))
		capacity := map[string]float64{}
		for i := range demand {
			demand[i] = slice{bucket{float64(i), 1}, 0.2 + 4*rng.Float64()}
			for _, v := range variants {
				capacity[fmt.Sprint(v.Key, demand[i].bucket)] = float64(rng.IntN(4))
			}
		}
		of := func(v Variant, b bucket) float64 { return capacity[fmt.Sprint(v.Key, b)] }
		best := math.Inf(1)
		load := make([]float64, len(variants))
		var try func(i int)
		try = func(i int) {
			if i == len(demand) {
				cost := 0.0
				for j, l := range load {
					cost += variants[j].Cost * whole(l)
				}
				best = min(best, cost)
				return
			}
			for j, v := range variants {
				if c := of(v, demand[i].bucket); c > 0 {
					load[j] += demand[i].rate / c
					try(i + 1)
					load[j] -= demand[i].rate / c
				}
			}
		}
		try(0)
		plan, why := planILP(variants, demand, of)
		if (plan == nil) != math.IsInf(best, 1) {
			t.Fatalf("run %d: got %v (%s), brute force %v", run, plan, why, best)
		}
		cost := 0.0
		for _, v := range variants {
			cost += v.Cost * float64(plan[v.Key])
		}
		if plan != nil && !near(cost, best) {
			t.Errorf("run %d: got %v for %v, brute force %v", run, plan, cost, best)
		}
	}
}

func TestILPAlwaysAnswers(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	variants := []Variant{oneVariant(1, 0), oneVariant(1, 0), oneVariant(1, 0)}
	for j := range variants {
		variants[j].Key.Name, variants[j].Cost = string(rune('a'+j)), 5+rng.Float64()
	}
	var demand []slice
	for i := range 40 {
		demand = append(demand, slice{bucket{float64(i), 1}, rng.Float64()})
	}
	plan, why := planILP(variants, demand, func(v Variant, _ bucket) float64 { return v.Cost + rng.Float64()/10 })
	if plan == nil {
		t.Errorf("got no plan: %s", why)
	}
}

func TestRateAtScalesTheBenchmark(t *testing.T) {
	v := oneVariant(1, 0) // alpha 10, beta 0.5, delta 0.1; 5 requests/s of 1000 and 200 tokens, 20 in flight
	// 100 + 199*(0.5 + 10/20) = 299 ms of a replica.
	for _, c := range []struct {
		name string
		w    Workload
		kv   float64
		want float64
	}{
		{"as measured", Workload{1000, 200}, 0, 5},
		{"a longer prompt", Workload{4000, 200}, 0, 5 * 299.0 / (400 + 199)},
		{"a longer answer", Workload{1000, 400}, 0, 5 * 299.0 / (100 + 399)},
		{"an answer of one token", Workload{1000, 1}, 0, 5 * 299.0 / 100},
		// 10000 tokens of 100000 are a tenth of a step, not a twentieth.
		{"more than its share of the KV cache", Workload{9900, 200}, 100_000, 5 * 299.0 / (990 + 199*(0.5+1))},
	} {
		v.KVTokens = c.kv
		if got := v.rateAt(c.w); !near(got, c.want) {
			t.Errorf("%s: got %v requests/s, want %v", c.name, got, c.want)
		}
	}
	v.Profile = scaling.Profile{}
	if got := v.rateAt(Workload{4000, 200}); got != 5 {
		t.Errorf("without a profile: got %v, want the 5 that were measured", got)
	}
	v.Benchmark = Benchmark{}
	if got := v.rateAt(Workload{1000, 200}); got != 0 {
		t.Errorf("without a benchmark: got %v, want 0", got)
	}
}

func TestSpareIgnoresTheOrderOfReplicas(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for range 200 {
		peaks := make([]Peak, 1+rng.IntN(8))
		for i := range peaks {
			peaks[i] = Peak{KV: rng.Float64(), Queue: float64(rng.IntN(8))}
		}
		before := MeasureSpare(peaks, DefaultSpareParams())
		slices.Reverse(peaks)
		after := MeasureSpare(peaks, DefaultSpareParams())
		if before.Grow && before.Shrink || !near(before.KV, after.KV) || before.Grow != after.Grow || before.Shrink != after.Shrink {
			t.Fatalf("%v: got %+v and, reversed, %+v", peaks, after, before)
		}
	}
}
