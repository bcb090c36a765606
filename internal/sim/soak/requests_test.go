package soak

import (
	"iter"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/executor"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/race"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/serving"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/plant"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// TestSoakOfRequests judges a few cases, made small, in the simulator that serves
// request by request: by the rules that chance leaves alone. A replica there completes
// less than a plant's at its best, so what is overload here is overload there.
func TestSoakOfRequests(t *testing.T) {
	first, n := uint64(1), race.Cases(fixedRequests)
	if *duration > 0 {
		first, n = max(*seed, 1), 4*fixedRequests
	}
	for i := range uint64(n) {
		c := fewer(Draw(first + i))
		for _, v := range judgeRequests(t, c, first+i) {
			t.Errorf("seed %d, made small: %s\n%s", first+i, v, c)
		}
	}
}

// fewer returns c with a fleet of about four for three hours.
func fewer(c Case) Case {
	const size, length = 4, 3 * time.Hour
	c = clone(c)
	part := 1.0
	if n := c.Variants[0].Replicas; n > size {
		part = size / float64(n)
	}
	less := func(n scaling.Replicas) scaling.Replicas { return scaling.Replicas(math.Ceil(float64(n) * part)) }
	for i := range c.Variants {
		v := &c.Variants[i]
		v.Replicas, v.Max = less(v.Replicas), less(v.Max)
	}
	for i := range c.Load {
		s := &c.Load[i]
		s.From, s.To, s.For, s.Period = s.From*part, s.To*part, max(time.Minute, s.For/8), s.Period/8
	}
	for i := range c.Faults {
		c.Faults[i].At %= length
	}
	c.Length = length
	return c
}

// judgeRequests runs c in the simulator.
func judgeRequests(t *testing.T, c Case, seed uint64) []Violation {
	t.Helper()
	p := c.Plant()
	m := sim.Model{
		Key: p.Model, Requests: requests(c, seed), SLO: sim.SLO{TTFT: c.TTFT, ITL: c.ITL},
		Routing: map[plant.Spread]sim.Routing{plant.Even: sim.LeastLoaded, plant.RoundRobin: sim.RoundRobin, plant.Weighted: sim.Weighted}[p.Spread],
	}
	if c.Gateway {
		m.Hold = c.Patience
	}
	for _, v := range p.Variants {
		f := v.Spec.Profile
		m.Variants = append(m.Variants, sim.Variant{
			Spec: v.Spec, StartUp: sim.StartUp{Mean: v.StartUp}, Replicas: v.Replicas, Weight: v.Weight, Grace: 30 * time.Second,
			Profile: serving.Profile{
				Name: v.Spec.Key.Name, Accelerator: v.Spec.Accelerator, AlphaMS: f.Alpha, BetaMS: f.Beta, GammaMS: f.Gamma, DeltaMS: f.Delta,
				MaxBatchSize: batch, MaxBatchedTokens: 2048, KVCacheTokens: int(v.KVTokens), BlockSize: 16, MaxModelLen: int(v.KVTokens),
			},
		})
	}
	var needs Needs
	w := &watched{judging: newJudging(c, &needs), Engine: sim.NewEngine(sim.EngineOptions{
		Name: c.Engine, Interval: c.Tick, Executor: executor.Polling, Policy: func(scaling.ModelKey) settings.Model { return p.Settings },
	})}
	_, err := sim.Run(t.Context(), sim.Config{
		Seed: seed, Models: []sim.Model{m}, Tolerance: c.Tolerance, Faults: p.Faults, Duration: c.Length, Tail: time.Second, Interval: time.Hour,
	}, w)
	if err != nil {
		t.Fatalf("seed %d: %v\n%s", seed, err, c)
	}
	return w.violations
}

// requests draws arrivals at the rates of c, by thinning, all alike.
func requests(c Case, seed uint64) iter.Seq2[workload.Request, error] {
	most := 0.0
	for _, s := range c.Load {
		most = max(most, s.From, s.To)
	}
	return func(yield func(workload.Request, error) bool) {
		r := rand.New(rand.NewPCG(seed, 11))
		for at := time.Duration(0); at < c.Length; {
			at += time.Duration(r.ExpFloat64() / most * float64(time.Second))
			if r.Float64()*most < c.Rate(at) && !yield(workload.Request{At: at, InputTokens: int(c.Input), OutputTokens: int(c.Output)}, nil) {
				return
			}
		}
	}
}

// watched is the engine with a judge of what it decides.
type watched struct {
	*judging
	*sim.Engine
	now    time.Duration
	stands map[scaling.VariantKey]scaling.Replicas
}

// Decide implements sim.Policy.
func (w *watched) Decide(v sim.View) ([]sim.Target, error) {
	targets, err := w.Engine.Decide(v)
	t := w.tick(v, targets)
	w.ticks = append(w.ticks, thin(t))
	w.hungry(t)
	w.rash(t)
	w.stands = map[scaling.VariantKey]scaling.Replicas{}
	for _, one := range targets {
		w.stands[one.Variant] = one.Replicas
	}
	w.now += w.Tick
	return targets, err
}

// tick is what a plant would say of the view.
func (w *watched) tick(v sim.View, targets []sim.Target) plant.Tick {
	s := v.Snapshots[0]
	t := plant.Tick{At: w.now, Offered: w.Rate(w.now), Waiting: float64(v.Models[0].Held)}
	fresh, mute := 0, 0
	for _, r := range s.Replicas {
		t.Waiting += r.Waiting().Or(0)
		switch {
		case r.Ready && r.KVCacheUsage.State == scaling.Fresh:
			fresh++
		case r.Ready:
			mute++
		}
	}
	t.Known, t.Blind = fresh > 0 || w.Gateway, mute > fresh
	for i, spec := range s.Variants {
		r := spec.Replicas
		one := plant.VariantTick{Current: r.Current, Ready: r.Ready, Placed: r.Current - r.Unschedulable, Deleted: spec.Gone, Stands: r.Current, Wanted: r.Current}
		if n, ok := w.stands[spec.Key]; ok {
			one.Stands = n
		}
		for _, target := range targets {
			if target.Variant == spec.Key {
				one.Wanted = target.Replicas
			}
		}
		one.Lead, one.Grows = w.plant.Lead(w.plant.Variants[i], r.Current, w.now)
		one.Lead += 15 * time.Second // of the first scrape
		t.Capacity += w.best[i] * float64(r.Ready)
		t.Variants = append(t.Variants, one)
	}
	return t
}

// TestStarvingIsSeenRequestByRequest has a scaler that carries nothing out short of twice
// as many.
func TestStarvingIsSeenRequestByRequest(t *testing.T) {
	c := fewer(read(t, "testdata/one-of-fifty-silent.txt"))
	c.Engine = Spare // which asks for a little more at a time
	c.Faults, c.Length, c.Load = nil, time.Hour, []Segment{{For: time.Hour, From: 50, To: 50}}
	for tolerance, want := range map[float64]bool{0: false, 0.99: true} {
		c.Tolerance = tolerance
		if got := judgeRequests(t, c, 1); (len(got) > 0) != want {
			t.Errorf("tolerance %g: %v", tolerance, got)
		}
	}
}
