package soak

import (
	"math"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/dice"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/fault"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/plant"
)

// Draw returns the random case of a seed. Equal seeds give equal cases.
func Draw(seed uint64) Case {
	d := dice.New(seed, 7)
	c := Case{
		Engine: dice.Pick(d, Engines()...), Tick: dice.Pick(d, time.Minute, time.Minute, time.Minute, 30*time.Second),
		ScaleDownStabilization: 2 * time.Minute, ScaleDownStartUps: 1, MaxScaleDownStep: 1, // as documented
		Patience: dice.Pick(d, time.Minute, 10*time.Minute, time.Hour), TTFT: 2000,
	}
	lengths := dice.Pick(d, [2]float64{256, 128}, [2]float64{1000, 200}, [2]float64{128, 512})
	c.Input, c.Output = lengths[0], lengths[1]
	size := math.Round(d.Around(2, 50)) // replicas of the first variant
	variants(d, &c, size)
	pace(d, &c)
	load(d, &c, 0.65*size*c.Plant().Best(c.variant(c.Variants[0])))
	for range dice.Pick(d, 0, 1, 1, 1, 1, 2, 2, 3) {
		c.Faults = append(c.Faults, draw(d, c))
	}
	return c
}

func variants(d dice.Dice, c *Case, size float64) {
	memory := dice.Pick(d, 0.8, 1, 1.3, 2)
	for i := range dice.Pick(d, 1, 1, 1, 2, 2, 3) {
		v := Variant{
			Name: string(rune('a' + i)), Cost: float64(1 + d.IntN(20)), Speed: dice.Pick(d, 1, 1, 1, 0.5, 2, 4), Memory: memory,
			Min: scaling.Replicas(dice.Pick(d, 0, 0, 1)), StartUp: d.Span(30*time.Second, 12*time.Minute, 30*time.Second), Weight: 1,
		}
		if i == 0 || d.IntN(3) == 0 {
			v.Replicas = max(1, scaling.Replicas(size))
		}
		if d.IntN(4) == 0 {
			v.Max = max(2, scaling.Replicas(size*d.Between(0.5, 3)))
		}
		c.Variants = append(c.Variants, v)
	}
	if len(c.Variants) > 1 {
		c.Spread = string(dice.Pick(d, plant.Even, plant.Even, plant.Even, plant.Even, plant.RoundRobin, plant.Weighted))
	}
	slowest := slices.MinFunc(c.Variants, func(a, b Variant) int { return int(math.Copysign(1, a.Speed-b.Speed)) })
	p := c.variant(slowest).Spec.Profile
	c.ITL = math.Round(p.Alpha + p.Beta*batch*d.Between(0.5, 1.2)) // the slowest meets it with a fairly full batch
}

func pace(d dice.Dice, c *Case) {
	if d.IntN(2) == 0 {
		c.ScaleUpStabilization = dice.Pick(d, 0, 0, time.Minute, 3*time.Minute)
		c.ScaleDownStabilization = dice.Pick(d, 0, 2*time.Minute, 5*time.Minute, 30*time.Minute)
		c.MaxScaleUpStep, c.MaxScaleDownStep = scaling.Replicas(dice.Pick(d, 0, 0, 2, 5)), scaling.Replicas(dice.Pick(d, 0, 1, 2, 5))
	}
	c.Gateway = d.IntN(3) == 0
	if c.Gateway && d.IntN(3) == 0 {
		c.Retention = dice.Pick(d, 10*time.Minute, time.Hour)
	}
	if d.IntN(4) == 0 {
		c.Tolerance = 0.1
	}
}

// load draws a load around a rate.
func load(d dice.Dice, c *Case, rate float64) {
	level := func() float64 { return two(rate * d.Around(0.15, 2.5)) }
	c.Length = time.Duration(12+d.IntN(13)) * time.Hour
	rate = two(rate)
	flat := func(r float64, span time.Duration) { c.Load = append(c.Load, Segment{For: span, From: r, To: r}) }
	switch d.IntN(8) {
	case 0, 1, 2: // constant for long
		c.Length = 30 * time.Hour
		flat(rate, c.Length)
	case 3: // steps
		for range 2 + d.IntN(3) {
			flat(level(), d.Span(time.Hour, 12*time.Hour, 10*time.Minute))
		}
	case 4: // ramps
		from := rate
		for range 2 + d.IntN(3) {
			to := level()
			c.Load = append(c.Load, Segment{For: d.Span(20*time.Minute, 6*time.Hour, 10*time.Minute), From: from, To: to})
			flat(to, d.Span(time.Hour, 6*time.Hour, 10*time.Minute))
			from = to
		}
	case 5: // diurnal
		c.Load = []Segment{{For: c.Length, From: two(rate / 5), To: rate, Period: dice.Pick(d, 6*time.Hour, 24*time.Hour)}}
	case 6: // bursts
		for range 6 {
			flat(rate, d.Span(30*time.Minute, 4*time.Hour, 10*time.Minute))
			flat(two(rate*d.Between(1.5, 3)), d.Span(2*time.Minute, time.Hour, time.Minute))
		}
	default: // lulls
		for range 4 {
			flat(rate, d.Span(30*time.Minute, 4*time.Hour, 10*time.Minute))
			flat(dice.Pick(d, 0, 0, two(rate/20)), d.Span(5*time.Minute, 3*time.Hour, 5*time.Minute))
		}
		flat(rate, time.Hour)
	}
}

// draw draws a fault.
func draw(d dice.Dice, c Case) Fault {
	var among []fault.Subject
	for _, v := range c.Variants {
		among = append(among, fault.Subject{Variant: key(v.Name), Replicas: v.Replicas, StartUp: v.StartUp})
	}
	f := fault.Draw(d, among, c.Length)
	return Fault{
		Kind: f.Kind, Variant: f.Variant.Name, At: f.At, For: f.For, Replicas: f.Replicas, Share: f.Share, Wait: f.Wait,
		Period: f.Period, Ready: f.Ready, Step: f.Step,
	}
}

// two rounds x to two significant digits.
func two(x float64) float64 { return dice.Digits(x, 2) }
