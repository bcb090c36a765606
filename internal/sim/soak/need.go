package soak

import (
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/plant"
)

// Needs measures and caches the rate per replica that engines keep. The zero value is ready;
// several goroutines may use it.
type Needs struct {
	mu    sync.Mutex
	known map[string]float64
}

// leastPart is the part of a replica's best rate that any engine has to use: an engine that keeps
// more replicas is wasteful.
const leastPart = 0.35

// PerReplica returns the rate in requests/s that the engine of c gives to a replica of v after
// shrinking a fleet of 40 without faults, bounds or limits of pace under a constant load of 12
// replicas at their best; at least leastPart of its best.
func (n *Needs) PerReplica(c Case, v Variant) float64 {
	const from, loaded = 40, 12
	alone := Case{
		Engine: c.Engine, Length: 6 * time.Hour, Tick: time.Minute, Input: c.Input, Output: c.Output, TTFT: c.TTFT, ITL: c.ITL,
		Patience: time.Hour, Variants: []Variant{{Name: "v", Cost: 1, Speed: v.Speed, Memory: v.Memory, Replicas: from, StartUp: time.Minute}},
	}
	what := fmt.Sprint(alone)
	n.mu.Lock()
	defer n.mu.Unlock()
	if rate, ok := n.known[what]; ok {
		return rate
	}
	p := alone.Plant()
	best := p.Best(p.Variants[0])
	alone.Load = []Segment{{For: alone.Length, From: loaded * best, To: loaded * best}}
	left := scaling.Replicas(0)
	plant.Run(alone.Plant(), alone.Length, func(t plant.Tick) bool {
		left = t.Variants[0].Wanted
		return true
	})
	rate := max(leastPart*best, loaded*best/float64(max(1, left)))
	if n.known == nil {
		n.known = map[string]float64{}
	}
	n.known[what] = rate
	return rate
}

// offer is what a variant can add to a mix.
type offer struct {
	rate, cost  float64 // of a replica
	least, most scaling.Replicas
}

// cheapest returns the least cost of replicas that carry a rate, by trying all mixes, and false if
// none carries it.
func cheapest(offers []offer, rate float64) (float64, bool) {
	if len(offers) == 0 {
		return 0, rate <= 1e-9
	}
	o, best, found := offers[0], math.Inf(1), false
	if len(offers) == 1 {
		n := o.least
		if o.rate > 0 && rate > 0 {
			n = max(n, scaling.Replicas(math.Ceil(rate/o.rate-1e-9)))
		}
		return float64(n) * o.cost, n <= o.most && (rate <= 1e-9 || float64(n)*o.rate >= rate-1e-6)
	}
	for n := o.least; n <= o.most; n++ {
		left := rate - float64(n)*o.rate
		if cost, ok := cheapest(offers[1:], left); ok {
			best, found = min(best, cost+float64(n)*o.cost), true
		}
		if left <= 0 {
			break
		}
	}
	return best, found
}
