package fault

import (
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/dice"
)

// Subject is a variant that a fault may affect.
type Subject struct {
	Variant  scaling.VariantKey
	Replicas scaling.Replicas // at most so many as a start
	StartUp  time.Duration
}

// Draw returns a random fault of one of several variants, in a run of the given length.
func Draw(d dice.Dice, among []Subject, length time.Duration) Fault {
	v := dice.Pick(d, among...)
	f := Fault{Kind: dice.Pick(d, Crash, Silent, Flap, NoNode, NoNode, Deleted, Rollout, Clock, Outage)}
	f.At = dice.Pick(d, 0, d.Span(10*time.Minute, length, 10*time.Minute))
	if d.IntN(2) == 0 {
		f.For = d.Span(5*time.Minute, 12*time.Hour, 5*time.Minute)
	}
	if f.Kind.ofVariant() {
		f.Variant = v.Variant
	}
	f.draw(d, v)
	return f
}

// draw draws the extent of a fault of a kind.
func (f *Fault) draw(d dice.Dice, v Subject) {
	few := scaling.Replicas(1 + d.IntN(int(max(1, min(4, v.Replicas/4)))))
	switch f.Kind {
	case Crash:
		f.Replicas = few
		if d.IntN(2) == 0 {
			f.Ready = d.Span(20*time.Second, 10*time.Minute, 10*time.Second)
			f.Period = 5*time.Minute + v.StartUp + f.Ready
		}
	case Silent:
		f.Replicas = dice.Pick(d, few, few, few, 0)
		if f.Replicas == 0 && f.For == 0 {
			f.For = d.Span(5*time.Minute, 3*time.Hour, 5*time.Minute)
		}
	case Flap:
		f.Replicas = few
		f.Period = d.Span(2*time.Minute, time.Hour, time.Minute)
		f.Ready = time.Duration(d.Between(0.2, 0.9) * float64(f.Period)).Round(10 * time.Second)
	case NoNode:
		f.Replicas = scaling.Replicas(dice.Pick(d, 0, 0, 1, 2))
		if d.IntN(2) == 0 {
			f.Wait = d.Span(2*time.Minute, 20*time.Minute, time.Minute)
		}
	case Deleted:
		f.Replicas = dice.Pick(d, 0, few, v.Replicas)
	case Rollout:
		f.Share = dice.Pick(d, 0.25, 0.5, 0.1)
		f.For = max(f.For, 20*time.Minute)
	case Clock:
		f.Step = time.Duration(dice.Pick(d, 1, -1)) * d.Span(time.Minute, 24*time.Hour, time.Minute)
	case Outage:
		f.For = d.Span(2*time.Minute, time.Hour, time.Minute)
	case Stall: // not drawn
	}
}
