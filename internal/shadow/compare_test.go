package shadow

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

var (
	start = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	model = scaling.ModelKey{Namespace: "prod", ID: "llama"}
)

// seen returns a variant of 2 accelerators at a cost of 4 an hour, of which a replica carries 10 requests/s.
func seen(name string, ran, decided scaling.Replicas) Seen {
	return Seen{
		Key: scaling.VariantKey{Namespace: "prod", Name: name}, GPUs: 2, Cost: 4, StartUp: 2 * time.Minute, Bounds: scaling.Unbounded(),
		Observed: true, Current: ran, Ready: ran, Decided: true, Target: decided, Carries: 10,
		Why: scaling.Step{Reason: scaling.ReasonDemand, Detail: "because"},
	}
}

// cycle returns one at a minute, at which so many requests/s arrive.
func cycle(minute int, rate float64, variants ...Seen) ModelCycle {
	return ModelCycle{
		At: start.Add(time.Duration(minute) * time.Minute), Interval: time.Minute, Cycle: "c", Advisory: true, Variants: variants,
		Rate: scaling.Measured(rate, scaling.Fresh), Demand: scaling.Measured(rate, scaling.Fresh),
	}
}

func TestACourseIsSummedUpOverTime(t *testing.T) {
	// An hour of 6 replicas where 3 are decided on and 25 requests/s need 3.
	var cycles []ModelCycle
	for i := range 60 {
		cycles = append(cycles, cycle(i, 25, seen("v", 6, 3)))
	}
	m := Compare(model, scaling.Objective{TTFT: 500}, cycles, Options{MissPrice: 0.01})
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-9*max(1, want) {
			t.Errorf("%s: got %g, want %g", what, got, want)
		}
	}
	near("hours", m.Hours, 1)
	near("advisory", m.Advisory, 1)
	near("requests", m.Requests, 90_000)
	near("replica hours that ran", m.Ran.ReplicaHours, 6)
	near("GPU hours that ran", m.Ran.GPUHours, 12)
	near("cost that ran", m.Ran.Cost, 24)
	near("GPU hours decided", m.Decided.GPUHours, 6)
	near("cost decided", m.Decided.Cost, 12)
	near("cost in hindsight", m.Hindsight.Cost, 12)
	near("regret of what ran", m.Ran.Regret.Value, 12)
	near("regret of what was decided", m.Decided.Regret.Value, 0)
	if part, known := m.Decided.Expected.Part(); !known || part != 1 {
		t.Errorf("expected %g, %t, want all requests", part, known)
	}
	want := []Difference{{
		Variant: cycles[0].Variants[0].Key, At: start, Hours: 1, Cycle: "c", Ran: 6, Decided: 3, Cost: -12, GPUs: -6, Reason: scaling.ReasonDemand, Detail: "because",
	}}
	round := cmp.Transformer("", func(v float64) float64 { return math.Round(v*1e6) / 1e6 })
	if diff := cmp.Diff(want, m.Differ, round); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
}

func TestAReplicaServesAfterItsStartUp(t *testing.T) {
	// 2 run for 20 requests/s, then 40 arrive: 4 are decided on, and serve 2 minutes later.
	cycles := []ModelCycle{cycle(0, 20, seen("v", 2, 2)), cycle(1, 20, seen("v", 2, 2))}
	for i := 2; i < 6; i++ {
		cycles = append(cycles, cycle(i, 40, seen("v", 2, 4)))
	}
	m := Compare(model, scaling.Objective{TTFT: 500}, cycles, Options{MissPrice: 0.01})
	var serving []scaling.Replicas
	for _, c := range m.Course {
		serving = append(serving, c.Serving...)
	}
	if diff := cmp.Diff([]scaling.Replicas{2, 2, 2, 2, 4, 4}, serving); diff != "" {
		t.Errorf("serving (-want +got):\n%s", diff)
	}
	// Of 4 x 2,400 requests half are missed with 2 replicas; with 4 decided on, half of the first 4,800.
	if got := m.Ran.Expected.Requests - m.Ran.Expected.Within; math.Abs(got-4800) > 1e-6 {
		t.Errorf("what ran misses %g, want 4800", got)
	}
	if got := m.Decided.Expected.Requests - m.Decided.Expected.Within; math.Abs(got-2400) > 1e-6 {
		t.Errorf("what was decided misses %g, want 2400", got)
	}
}

func TestWhatIsNotKnownCountsForNothing(t *testing.T) {
	unread, undecided, late := cycle(1, 20, seen("v", 2, 2)), cycle(2, 20, seen("v", 2, 2)), cycle(60, 20, seen("v", 2, 2))
	unread.Variants[0].Observed = false
	undecided.Variants[0].Decided = false
	m := Compare(model, scaling.Objective{}, []ModelCycle{cycle(0, 20, seen("v", 2, 1)), unread, undecided, cycle(3, 20, seen("v", 2, 1)), late}, Options{})
	if got, want := m.Hours*60, 1+3+1.0; math.Abs(got-want) > 1e-9 { // the fourth stands for three intervals
		t.Errorf("%g minutes are compared, want %g", got, want)
	}
	if got, want := m.Unknown*60, 1+1+54.0; math.Abs(got-want) > 1e-9 {
		t.Errorf("%g minutes are not known, want %g", got, want)
	}
	if len(m.Differ) != 2 {
		t.Errorf("%d differences, want one before and one after what is not known", len(m.Differ))
	}
}

func TestWithoutSizingToObjectivesNothingIsExpected(t *testing.T) {
	l := cycle(0, 20, seen("v", 5, 1))
	l.Demand = scaling.Reading{}
	m := Compare(model, scaling.Objective{}, []ModelCycle{l}, Options{MissPrice: 1})
	if m.Ran.Regret.Known || m.Decided.Expected != (Share{}) || m.Hindsight != (Side{}) {
		t.Errorf("got %+v, want no expectation and no hindsight", m)
	}
	if m.Ran.Cost == 0 || m.Decided.Cost == 0 {
		t.Error("costs are known all the same")
	}
}

// TestHindsightIsTheCheapestMix compares with all mixes, of random cycles.
func TestHindsightIsTheCheapestMix(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 5))
		l := cycle(0, 60*r.Float64())
		for i := range 1 + r.IntN(3) {
			v := seen(string(rune('a'+i)), 1, 1)
			v.Cost, v.Carries = float64(r.IntN(20)), float64(r.IntN(15))
			v.Bounds = scaling.Bounds{Min: scaling.Replicas(r.IntN(2)), Max: scaling.Replicas(1 + r.IntN(8))}
			l.Variants = append(l.Variants, v)
		}
		price := []float64{0, 0.0001, 0.001, 0.01}[r.IntN(4)]
		total := func(n []scaling.Replicas) float64 {
			part, _ := l.carried(n)
			return costOf(l, n) + price*l.Rate.Value*3600*(1-part)
		}
		least := math.Inf(1)
		var all func(n []scaling.Replicas)
		all = func(n []scaling.Replicas) {
			if len(n) == len(l.Variants) {
				least = min(least, total(n))
				return
			}
			b := l.Variants[len(n)].Bounds
			for k := b.Clamp(0); k <= b.Max; k++ {
				all(append(slices.Clip(n), k))
			}
		}
		all(nil)
		got := l.cheapest(price)
		for i, n := range got {
			if b := l.Variants[i].Bounds; b.Clamp(n) != n {
				t.Fatalf("seed %d: %d replicas are outside %+v", seed, n, b)
			}
		}
		if cost := total(got); cost > least+1e-9 {
			t.Fatalf("seed %d: %v cost %g, the cheapest mix %g; %+v", seed, got, cost, least, l)
		}
	}
}

// TestNoCourseIsCheaperThanHindsight holds for random courses: regret is never negative.
func TestNoCourseIsCheaperThanHindsight(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 6))
		var cycles []ModelCycle
		at := 0
		for range 40 {
			a, b := seen("a", scaling.Replicas(r.IntN(6)), scaling.Replicas(r.IntN(6))), seen("b", scaling.Replicas(r.IntN(4)), scaling.Replicas(r.IntN(4)))
			b.Cost, b.Carries = 9, 25
			cycles = append(cycles, cycle(at, 80*r.Float64(), a, b))
			at += 1 + r.IntN(6)
		}
		m := Compare(model, scaling.Objective{TTFT: 1}, cycles, Options{MissPrice: 0.002 * r.Float64()})
		if m.Ran.Regret.Value < -1e-9 || m.Decided.Regret.Value < -1e-9 {
			t.Fatalf("seed %d: regret %g of what ran, %g of what was decided", seed, m.Ran.Regret.Value, m.Decided.Regret.Value)
		}
		if len(m.Differ) > Most {
			t.Fatalf("seed %d: %d differences", seed, len(m.Differ))
		}
	}
}
