package zoo

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/dice"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/fault"
)

// finish draws the rest of the case.
func (f draft) finish(d dice.Dice) Case {
	c := Case{
		Attainment: f.target, ScrapeInterval: dice.Pick(d, 15*time.Second, 15*time.Second, 15*time.Second, 30*time.Second, time.Minute),
		MissedScrapes: dice.Pick(d, 0, 0, 0, 0, 0.02, 0.1), Tolerance: dice.Pick(d, 0, 0, 0, 0.1),
		Drawn: Drawn{
			Traffic: f.traffic.kind, Constant: f.traffic.kind == constant, Replicas: f.size, Requests: int(f.requests()), Window: f.traffic.window,
		},
	}
	c.Workload = f.traffic.parts(f.peak() / f.traffic.peak)
	for i, m := range f.models {
		c.Models = append(c.Models, f.model(d, m, i))
	}
	if d.IntN(7) == 0 {
		c.Nodes = f.nodes(d, c)
	}
	if d.IntN(7) == 0 && !c.Drawn.Constant {
		for range dice.Pick(d, 1, 1, 2) {
			c.Faults = append(c.Faults, f.fault(d, c))
		}
	}
	return c
}

// model draws the settings of a model beside its objectives.
func (f draft) model(d dice.Dice, m served, i int) Model {
	out := Model{
		ID: fmt.Sprintf("m%d", i+1), Share: m.share, TTFT: milliseconds(m.ttft), ITL: milliseconds(m.itl), Percentile: f.percentile,
		Hold: dice.Pick(d, 10*time.Minute, 10*time.Minute, 2*time.Minute, 0), Routing: f.routing(d, m),
	}
	if d.IntN(3) > 0 {
		const times = 30 // the TTFT objective, as in the lab
		mean := max(10*time.Second, times*out.TTFT)
		out.Patience = &Patience{Mean: mean, Deviation: mean, Retry: dice.Pick(d, 0, 0.5), After: 30 * time.Second}
	}
	if d.IntN(4) == 0 {
		out.Prefix = &Prefix{Share: dice.Pick(d, 0.5, 0.8), Part: dice.Pick(d, 0.25, 0.5, 0.75), Warm: 200}
	}
	for j, r := range m.variants {
		out.Variants = append(out.Variants, f.variant(d, m, r, fmt.Sprintf("m%d-%c", i+1, 'a'+j), j == 0))
	}
	if out.Routing == sim.Weighted.String() {
		for j := range out.Variants {
			out.Variants[j].Weight = dice.Digits(d.Between(0.5, 2), 2)
			out.Variants[j].Min = max(1, out.Variants[j].Min) // it gets requests without a replica, too
		}
	}
	return out
}

// routing draws the routing of the gateway: half of the gateways look at KV caches.
func (f draft) routing(d dice.Dice, m served) string {
	all := []sim.Routing{sim.KVAware, sim.KVAware, sim.KVAware, sim.LeastLoaded, sim.LeastLoaded, sim.RoundRobin}
	if len(m.variants) > 1 {
		all = append(all, sim.Weighted)
	}
	return dice.Pick(d, all...).String()
}

// variant draws a variant. The first one can carry the peak.
func (f draft) variant(d dice.Dice, m served, r Replica, name string, first bool) Variant {
	need, spare := f.need(m), dice.Pick(d, 1.5, 2, 3, 4)
	least := scaling.Replicas(dice.Pick(d, 1, 1, 1, 0, 2))
	if !first {
		need *= m.speed / max(m.rate(r.Profile), 0.1*m.speed)
		spare, least = dice.Pick(d, 0.3, 0.6, 1, 2), scaling.Replicas(dice.Pick(d, 0, 0, 1))
	}
	lead := d.Span(20*time.Second, 10*time.Minute, 5*time.Second)
	v := Variant{
		Name: name + "-" + strings.ToLower(r.Profile.Accelerator), Loads: r.Model, Cost: dice.Digits(r.Cost*dice.Pick(d, 1, 1, 1, 0.6), 3), GPUs: r.GPUs,
		Min: least, Max: max(least, scaling.Replicas(math.Ceil(need*spare))+1),
		StartUp: lead, StartUpDeviation: time.Duration(lead.Seconds()*dice.Pick(d, 0.05, 0.15, 0.3)) * time.Second,
		Grace: dice.Pick(d, 30*time.Second, 30*time.Second, 2*time.Minute), Profile: profileOf(r.Profile),
	}
	return v
}

// nodes draws nodes with eight accelerators each, for about what the peak needs of each type.
func (f draft) nodes(d dice.Dice, c Case) []Nodes {
	const size = 8
	need, least := map[string]float64{}, map[string]scaling.Accelerators{}
	var order []string
	for i, m := range c.Models {
		for j, v := range m.Variants {
			a := v.Profile.Accelerator
			if _, ok := need[a]; !ok {
				order = append(order, a)
			}
			least[a] += v.GPUs.Of(max(1, v.Min))
			need[a] += 0
			if j == 0 {
				need[a] += f.need(f.models[i]) * float64(v.GPUs)
			}
		}
	}
	var out []Nodes
	for _, a := range order {
		gpus := max(need[a]*dice.Pick(d, 0.8, 1, 1.3, 1.3, 2), float64(least[a]))
		out = append(out, Nodes{Accelerator: a, Count: int(math.Ceil(gpus / size)), GPUs: size})
	}
	return out
}

// fault draws a fault. It gives an end to an endless fault on all replicas.
func (f draft) fault(d dice.Dice, c Case) Fault {
	var among []fault.Subject
	for i, m := range c.Models {
		for j, v := range m.Variants {
			s := fault.Subject{Variant: scaling.VariantKey{Name: v.Name}, Replicas: v.Min, StartUp: v.StartUp}
			if j == 0 {
				s.Replicas = scaling.Replicas(f.need(f.models[i]))
			}
			among = append(among, s)
		}
	}
	one := fault.Draw(d, among, f.traffic.window)
	one.At = min(one.At, f.traffic.window*3/4)
	if one.For == 0 && one.Replicas == 0 {
		one.For = d.Span(5*time.Minute, time.Hour, 5*time.Minute)
	}
	return faultOf(one)
}

func milliseconds(ms float64) time.Duration {
	return time.Duration(math.Round(ms*1e3)) * time.Microsecond
}
