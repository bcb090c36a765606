package soak

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/fault"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/plant"
)

// Draw returns the random case of a seed. Equal seeds give equal cases.
func Draw(seed uint64) Case {
	d := dice{rand.New(rand.NewPCG(seed, 7))}
	c := Case{
		Engine: pick(d, Engines()...), Tick: pick(d, time.Minute, time.Minute, time.Minute, 30*time.Second),
		ScaleDownStabilization: 2 * time.Minute, MaxScaleDownStep: 1, // as documented
		Patience: pick(d, time.Minute, 10*time.Minute, time.Hour), TTFT: 2000,
	}
	lengths := pick(d, [2]float64{256, 128}, [2]float64{1000, 200}, [2]float64{128, 512})
	c.Input, c.Output = lengths[0], lengths[1]
	size := math.Round(math.Exp(d.between(math.Log(2), math.Log(50)))) // replicas of the first variant
	d.variants(&c, size)
	d.pace(&c)
	d.load(&c, 0.65*size*c.Plant().Best(c.variant(c.Variants[0])))
	for range pick(d, 0, 1, 1, 1, 1, 2, 2, 3) {
		c.Faults = append(c.Faults, d.fault(c))
	}
	return c
}

// dice draws what a case is made of.
type dice struct{ *rand.Rand }

func pick[T any](d dice, all ...T) T { return all[d.IntN(len(all))] }

func (d dice) between(lo, hi float64) float64 { return lo + (hi-lo)*d.Float64() }

// span draws a time between two, each order of magnitude alike.
func (d dice) span(lo, hi, unit time.Duration) time.Duration {
	x := math.Exp(d.between(math.Log(lo.Seconds()), math.Log(hi.Seconds())))
	return max(lo, time.Duration(x*float64(time.Second)).Round(unit))
}

func (d dice) variants(c *Case, size float64) {
	memory := pick(d, 0.8, 1, 1.3, 2)
	for i := range pick(d, 1, 1, 1, 2, 2, 3) {
		v := Variant{
			Name: string(rune('a' + i)), Cost: float64(1 + d.IntN(20)), Speed: pick(d, 1, 1, 1, 0.5, 2, 4), Memory: memory,
			Min: pick(d, 0, 0, 1), StartUp: d.span(30*time.Second, 12*time.Minute, 30*time.Second), Weight: 1,
		}
		if i == 0 || d.IntN(3) == 0 {
			v.Replicas = max(1, int(size))
		}
		if d.IntN(4) == 0 {
			v.Max = max(2, int(size*d.between(0.5, 3)))
		}
		c.Variants = append(c.Variants, v)
	}
	if len(c.Variants) > 1 {
		c.Spread = string(pick(d, plant.Even, plant.Even, plant.Even, plant.Even, plant.RoundRobin, plant.Weighted))
	}
	slowest := slices.MinFunc(c.Variants, func(a, b Variant) int { return int(math.Copysign(1, a.Speed-b.Speed)) })
	p := c.variant(slowest).Spec.Profile
	c.ITL = math.Round(p.Alpha + p.Beta*batch*d.between(0.5, 1.2)) // what the slowest meets with a fairly full batch
}

func (d dice) pace(c *Case) {
	if d.IntN(2) == 0 {
		c.ScaleUpStabilization = pick(d, 0, 0, time.Minute, 3*time.Minute)
		c.ScaleDownStabilization = pick(d, 0, 2*time.Minute, 5*time.Minute, 30*time.Minute)
		c.MaxScaleUpStep, c.MaxScaleDownStep = pick(d, 0, 0, 2, 5), pick(d, 0, 1, 2, 5)
	}
	c.Gateway = d.IntN(3) == 0
	if c.Gateway && d.IntN(3) == 0 {
		c.Retention = pick(d, 10*time.Minute, time.Hour)
	}
	if d.IntN(4) == 0 {
		c.Tolerance = 0.1
	}
}

// load draws a load around a rate.
func (d dice) load(c *Case, rate float64) {
	level := func() float64 { return round2(rate * math.Exp(d.between(math.Log(0.15), math.Log(2.5)))) }
	c.Length = time.Duration(12+d.IntN(13)) * time.Hour
	rate = round2(rate)
	flat := func(r float64, span time.Duration) { c.Load = append(c.Load, Segment{For: span, From: r, To: r}) }
	switch d.IntN(8) {
	case 0, 1, 2: // constant for long
		c.Length = 30 * time.Hour
		flat(rate, c.Length)
	case 3: // steps
		for range 2 + d.IntN(3) {
			flat(level(), d.span(time.Hour, 12*time.Hour, 10*time.Minute))
		}
	case 4: // ramps
		from := rate
		for range 2 + d.IntN(3) {
			to := level()
			c.Load = append(c.Load, Segment{For: d.span(20*time.Minute, 6*time.Hour, 10*time.Minute), From: from, To: to})
			flat(to, d.span(time.Hour, 6*time.Hour, 10*time.Minute))
			from = to
		}
	case 5: // diurnal
		c.Load = []Segment{{For: c.Length, From: round2(rate / 5), To: rate, Period: pick(d, 6*time.Hour, 24*time.Hour)}}
	case 6: // bursts
		for range 6 {
			flat(rate, d.span(30*time.Minute, 4*time.Hour, 10*time.Minute))
			flat(round2(rate*d.between(1.5, 3)), d.span(2*time.Minute, time.Hour, time.Minute))
		}
	default: // lulls
		for range 4 {
			flat(rate, d.span(30*time.Minute, 4*time.Hour, 10*time.Minute))
			flat(pick(d, 0, 0, round2(rate/20)), d.span(5*time.Minute, 3*time.Hour, 5*time.Minute))
		}
		flat(rate, time.Hour)
	}
}

// fault draws what goes wrong.
func (d dice) fault(c Case) Fault {
	v := pick(d, c.Variants...)
	f := Fault{Kind: pick(d, fault.Crash, fault.Silent, fault.Flap, fault.NoNode, fault.NoNode, fault.Deleted, fault.Rollout, fault.Clock, fault.Outage)}
	f.At = pick(d, 0, d.span(10*time.Minute, c.Length, 10*time.Minute))
	if d.IntN(2) == 0 {
		f.For = d.span(5*time.Minute, 12*time.Hour, 5*time.Minute)
	}
	few := 1 + d.IntN(max(1, min(4, v.Replicas/4)))
	switch f.Kind {
	case fault.Crash:
		f.Variant, f.Replicas = v.Name, few
		if d.IntN(2) == 0 {
			f.Ready = d.span(20*time.Second, 10*time.Minute, 10*time.Second)
			f.Period = 5*time.Minute + v.StartUp + f.Ready
		}
	case fault.Silent:
		f.Variant, f.Replicas = v.Name, pick(d, few, few, few, 0)
		if f.Replicas == 0 && f.For == 0 {
			f.For = d.span(5*time.Minute, 3*time.Hour, 5*time.Minute)
		}
	case fault.Flap:
		f.Variant, f.Replicas = v.Name, few
		f.Period = d.span(2*time.Minute, time.Hour, time.Minute)
		f.Ready = time.Duration(d.between(0.2, 0.9) * float64(f.Period)).Round(10 * time.Second)
	case fault.NoNode:
		f.Variant, f.Replicas = v.Name, pick(d, 0, 0, 1, 2)
		if d.IntN(2) == 0 {
			f.Wait = d.span(2*time.Minute, 20*time.Minute, time.Minute)
		}
	case fault.Deleted:
		f.Variant, f.Replicas = v.Name, pick(d, 0, few, v.Replicas)
	case fault.Rollout:
		f.Variant, f.Share = v.Name, pick(d, 0.25, 0.5, 0.1)
		f.For = max(f.For, 20*time.Minute)
	case fault.Clock:
		f.Step = time.Duration(pick(d, 1, -1)) * d.span(time.Minute, 24*time.Hour, time.Minute)
	case fault.Outage:
		f.For = d.span(2*time.Minute, time.Hour, time.Minute)
	case fault.Stall: // not drawn
	}
	return f
}

// round2 rounds to two significant digits.
func round2(x float64) float64 {
	if x == 0 {
		return 0
	}
	scale := math.Pow(10, math.Floor(math.Log10(math.Abs(x)))-1)
	return math.Round(x/scale) * scale
}
