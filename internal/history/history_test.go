package history

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/saturation"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
)

var start = time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)

const interval = 15 * time.Second

// plant makes cycles of a fleet of so many models, each of one variant, whose loads move all the time and whose
// replicas move now and then.
type plant struct {
	models   int
	random   *rand.Rand
	n        int
	at       time.Time
	replicas []scaling.Replicas
	change   float64 // of a variant, within a cycle
}

func newPlant(models int, seed uint64) *plant {
	p := &plant{models: models, random: rand.New(rand.NewPCG(seed, 2)), at: start, change: 0.005, replicas: make([]scaling.Replicas, models)}
	for i := range p.replicas {
		p.replicas[i] = 2
	}
	return p
}

func modelKey(i int) scaling.ModelKey {
	return scaling.ModelKey{Namespace: fmt.Sprintf("ns-%d", i%10), ID: fmt.Sprintf("meta/llama-%04d", i)}
}

func variantKey(i int) scaling.VariantKey {
	return scaling.VariantKey{Namespace: fmt.Sprintf("ns-%d", i%10), Name: fmt.Sprintf("llama-%04d-h100", i)}
}

// next returns the next cycle, with two samples for each replica where that is asked for.
func (p *plant) next() Cycle {
	p.n++
	p.at = p.at.Add(interval)
	c := Cycle{Cycle: record.Cycle{
		Format: record.Format, Cycle: scaling.CycleID(fmt.Sprintf("plant-%d", p.n)), Interval: interval, Now: p.at,
		Configuration: map[scaling.ModelKey]settings.Model{}, History: memory.History{}, Plan: &scaling.Plan{At: p.at},
	}}
	fresh := func(v float64) scaling.Reading { return scaling.Measured(v, scaling.Fresh) }
	for i := range p.models {
		model, key, was := modelKey(i), variantKey(i), p.replicas[i]
		v := scaling.Variant{
			Key: key, Model: model, Accelerator: "H100", GPUsPerReplica: 1, Cost: 3, Bounds: scaling.Bounds{Min: 1, Max: 20},
			Replicas: scaling.ReplicaCounts{Observed: true, Current: was, Ready: was},
		}
		s := scaling.Snapshot{Model: model, At: p.at, Window: time.Minute, Variants: []scaling.Variant{v}}
		for r := range was {
			s.Replicas = append(s.Replicas, scaling.ReplicaSample{
				Pod: fmt.Sprintf("%s-%d", key.Name, r), Variant: key, Ready: true, At: p.at, KVCacheUsage: fresh(p.random.Float64()), QueueLength: fresh(0),
			})
		}
		s.Load.ArrivalRate, s.Load.TTFT, s.Load.ITL = fresh(10*p.random.Float64()), fresh(100+300*p.random.Float64()), fresh(20+20*p.random.Float64())
		if p.random.Float64() < p.change {
			p.replicas[i] = max(1, was+1-2*scaling.Replicas(p.random.IntN(2)))
		}
		c.Configuration[model] = settings.Model{
			Saturation: saturation.Default(), Tokens: saturation.DefaultTokens(), Objective: scaling.Objective{Class: "premium", TTFT: 500, ITL: 40},
		}
		c.History[key] = memory.Past{Desired: was}
		d := scaling.Decision{Variant: key, Model: model, Current: was}.Then(scaling.StageOptimize, p.replicas[i], scaling.ReasonDemand,
			"the demand of 12.3 requests/s exceeds what 3 replicas serve within TTFT 500 ms")
		c.Plan.Decisions = append(c.Plan.Decisions, d)
		c.Analyses = append(c.Analyses, scaling.Analysis{Model: model, Analyzer: "queueing", Signal: scaling.Steady, Demand: p.random.Float64(), Supply: 1})
		c.Snapshots = append(c.Snapshots, s)
	}
	slices.SortFunc(c.Snapshots, func(a, b scaling.Snapshot) int { return a.Model.Compare(b.Model) })
	slices.SortFunc(c.Analyses, func(a, b scaling.Analysis) int { return a.Model.Compare(b.Model) })
	slices.SortFunc(c.Plan.Decisions, func(a, b scaling.Decision) int { return a.Variant.Compare(b.Variant) })
	return c
}

func all(string) bool { return true }

// seconds are the times of a table since start.
func seconds(times []Time) []float64 {
	out := make([]float64, len(times))
	for i, t := range times {
		out[i] = t.Sub(start).Seconds()
	}
	return out
}

func TestEachRowOfAShortHistoryIsACycle(t *testing.T) {
	h, p := New(Options{}), newPlant(3, 1)
	var want []float64
	for range 20 {
		c := p.next()
		h.Add(c)
		s := c.Snapshots[0]
		if s.Model != modelKey(0) {
			t.Fatal("the first model is another one")
		}
		want = append(want, float64(float32(s.Load.ArrivalRate.Value)))
	}
	got, ok := h.Model(modelKey(0), time.Time{}, time.Time{}, 0)
	if !ok || got.Step != 0 || !got.Complete {
		t.Fatalf("found %t, step %g, complete %t; want each cycle", ok, got.Step, got.Complete)
	}
	if diff := cmp.Diff([]float64(got.Load), want); diff != "" {
		t.Errorf("load, -got +want:\n%s", diff)
	}
	if diff := cmp.Diff(seconds(got.T), func() (out []float64) {
		for i := range 20 {
			out = append(out, float64(15*(i+1)))
		}
		return out
	}()); diff != "" {
		t.Errorf("times, -got +want:\n%s", diff)
	}
	part, _ := h.Model(modelKey(0), start.Add(100*time.Second), start.Add(200*time.Second), 0)
	if diff := cmp.Diff(seconds(part.T), []float64{105, 120, 135, 150, 165, 180, 195}); diff != "" {
		t.Errorf("times of a part, -got +want:\n%s", diff)
	}
	if early, _ := h.Model(modelKey(0), start.Add(-time.Hour), time.Time{}, 0); early.Complete {
		t.Error("a history that begins later than is asked for is said to be complete")
	}
	if _, ok := h.Model(scaling.ModelKey{Namespace: "ns-0", ID: "none"}, time.Time{}, time.Time{}, 0); ok {
		t.Error("a model that no cycle had has a history")
	}
}

// TestThinningLosesNoPeak compares a day of one quantity with all of its values.
func TestThinningLosesNoPeak(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		limit, span := least+r.IntN(200), instant(20_000+r.IntN(900_000))
		var s series
		var everything []point
		at := instant(1)
		for range 6000 {
			at += instant(1 + r.IntN(300))
			v := float32(r.IntN(1000))
			if r.IntN(50) == 0 {
				v = float32(math.NaN())
			}
			if r.IntN(3) == 0 && len(everything) > 0 {
				v = everything[len(everything)-1].v // nothing changes
			}
			s.add(at, v, limit, span)
			everything = append(everything, point{at, v})
			if len(s.points) > limit || cap(s.points) > max(limit, 8) {
				t.Fatalf("seed %d: %d points in memory for %d, want at most %d", seed, len(s.points), cap(s.points), limit)
			}
		}
		was := map[point]bool{}
		low, high := float32(math.Inf(1)), float32(math.Inf(-1))
		for _, p := range everything {
			was[p] = true
			if at-p.at < span-1 && !unknown(p.v) {
				low, high = min(low, p.v), max(high, p.v)
			}
		}
		gotLow, gotHigh, before := float32(math.Inf(1)), float32(math.Inf(-1)), instant(0)
		for _, p := range s.points {
			if !unknown(p.v) && !was[p] {
				t.Fatalf("seed %d: %v was never added", seed, p)
			}
			if p.at <= before {
				t.Fatalf("seed %d: %v comes after %d", seed, p, before)
			}
			before = p.at
			if !unknown(p.v) {
				gotLow, gotHigh = min(gotLow, p.v), max(gotHigh, p.v)
			}
		}
		if gotLow > low || gotHigh < high {
			t.Errorf("seed %d: from %g to %g, want from %g to %g", seed, gotLow, gotHigh, low, high)
		}
		if last := everything[len(everything)-1].v; !same(s.points[len(s.points)-1].v, last) {
			t.Errorf("seed %d: the last value is %g, want %g", seed, s.points[len(s.points)-1].v, last)
		}
		if fine := everything[len(everything)-1-limit/8:]; fine[0].at >= s.fine {
			for _, p := range fine {
				if got := s.value(p.at); !same(float32(got), p.v) {
					t.Errorf("seed %d: at %d is %g, want %g", seed, p.at, got, p.v)
				}
			}
		} else {
			t.Errorf("seed %d: the newest %d of %d points are thinned", seed, limit/8, limit)
		}
	}
}

// TestAnAnswerLosesNoPeak compares answers of several widths with all that was added.
func TestAnAnswerLosesNoPeak(t *testing.T) {
	h, p := New(Options{}), newPlant(40, 3)
	p.change = 0.05
	type row struct{ load, desired float64 }
	var added []row
	for range 2000 {
		c := p.next()
		h.Add(c)
		d := decisionOf(c.Plan, variantKey(0))
		added = append(added, row{float64(float32(c.Snapshots[0].Load.ArrivalRate.Value)), float64(d.Target())})
	}
	for _, points := range []int{10, 11, 100, 600, 4000} {
		from := start.Add(time.Hour)
		got, _ := h.Model(modelKey(0), from, time.Time{}, points)
		if len(got.T) > points || len(got.T) != len(got.Load) || len(got.T) != len(got.Variants[0].Desired) {
			t.Fatalf("%d times, %d loads for %d points", len(got.T), len(got.Load), points)
		}
		if !slices.IsSortedFunc(got.T, func(a, b Time) int { return a.Compare(b.Time) }) {
			t.Errorf("%d points: the times are not in order", points)
		}
		first := int(time.Hour/interval) - 1
		low, high := math.Inf(1), math.Inf(-1)
		seen, desires := map[float64]bool{}, map[float64]bool{}
		for i, r := range added {
			seen[r.load], desires[r.desired] = true, true
			if i >= first {
				low, high = min(low, r.load), max(high, r.load)
			}
		}
		gotLow, gotHigh := math.Inf(1), math.Inf(-1)
		for i, v := range got.Load {
			if !seen[v] || !desires[got.Variants[0].Desired[i]] {
				t.Fatalf("%d points: row %d is %g and %g, which were never added", points, i, v, got.Variants[0].Desired[i])
			}
			gotLow, gotHigh = min(gotLow, v), max(gotHigh, v)
		}
		if gotLow > low || gotHigh < high {
			t.Errorf("%d points: loads from %g to %g, want from %g to %g", points, gotLow, gotHigh, low, high)
		}
		if last, want := got.Load[len(got.Load)-1], added[len(added)-1].load; last != want {
			t.Errorf("%d points: the last load is %g, want %g", points, last, want)
		}
	}
}

// TestALongSpanCostsNoDetail is of a record that is read with a span of years.
func TestALongSpanCostsNoDetail(t *testing.T) {
	h, p := New(Options{Span: 10 * 365 * 24 * time.Hour}), newPlant(100, 6)
	c := p.next()
	for range 5000 {
		p.turn(&c, interval)
		h.Add(c)
	}
	if got, _ := h.Model(modelKey(0), time.Time{}, time.Time{}, MostPoints); got.Step > 300 || len(got.T) < 300 {
		t.Errorf("%d rows, pairs of which stand for %g s; want 300 s at most", len(got.T), got.Step)
	}
}

func TestTheOrderOfVariantsMakesNoDifference(t *testing.T) {
	one, other, a, b := New(Options{}), New(Options{}), newPlant(20, 5), newPlant(20, 5)
	shuffle := rand.New(rand.NewPCG(9, 9))
	for range 200 {
		one.Add(a.next())
		c := b.next()
		shuffle.Shuffle(len(c.Snapshots), func(i, j int) { c.Snapshots[i], c.Snapshots[j] = c.Snapshots[j], c.Snapshots[i] })
		other.Add(c)
	}
	if diff := cmp.Diff(encoded(t, one.Fleet(all)), encoded(t, other.Fleet(all))); diff != "" {
		t.Errorf("fleets, -one +other:\n%s", diff)
	}
	for i := range 20 {
		x, _ := one.Model(modelKey(i), time.Time{}, time.Time{}, 0)
		y, _ := other.Model(modelKey(i), time.Time{}, time.Time{}, 0)
		if diff := cmp.Diff(encoded(t, x), encoded(t, y)); diff != "" {
			t.Errorf("model %d, -one +other:\n%s", i, diff)
		}
	}
}

// encoded returns v as JSON, in which what is not known is equal to itself.
func encoded(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestATimeWithoutCyclesIsNotKnown(t *testing.T) {
	h, p := New(Options{}), newPlant(1, 7)
	for range 4 {
		h.Add(p.next())
	}
	p.at = p.at.Add(10 * time.Minute)
	for range 4 {
		h.Add(p.next())
	}
	at := h.instant(start.Add(5 * time.Minute))
	if got := h.table.models[modelKey(0)].columns[load].value(at); !math.IsNaN(got) {
		t.Errorf("the load of a time without cycles is %g, want unknown", got)
	}
	if got := h.table.models[modelKey(0)].columns[load].value(h.now); math.IsNaN(got) {
		t.Error("the load is not known after cycles run again")
	}
}

func TestAnOlderCycleLeavesNoTrace(t *testing.T) {
	h, p := New(Options{}), newPlant(1, 8)
	first, second := p.next(), p.next()
	h.Add(second)
	h.Add(first)
	if got, _ := h.Model(modelKey(0), time.Time{}, time.Time{}, 0); len(got.T) != 1 {
		t.Errorf("%d rows, want 1", len(got.T))
	}
	if got := h.Fleet(all); got.Revision != 2 || got.Cycle != first.Cycle.Cycle {
		t.Errorf("shown is cycle %s as revision %d, want the one that was added last", got.Cycle, got.Revision)
	}
}

func TestAFleetIsThatOfTheNamespacesThatMayBeRead(t *testing.T) {
	h, p := New(Options{}), newPlant(20, 4)
	h.Add(p.next())
	got := h.Fleet(func(n string) bool { return n == "ns-3" })
	if len(got.Models) != 2 {
		t.Fatalf("%d models, want 2", len(got.Models))
	}
	for _, m := range got.Models {
		if m.Namespace != "ns-3" || m.Variants[0].Namespace != "ns-3" {
			t.Errorf("model %s/%s is shown", m.Namespace, m.Model)
		}
	}
}
