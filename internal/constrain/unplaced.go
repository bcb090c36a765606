package constrain

import (
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// A replica is lost once no node has taken it for lostAfter, and in lostCycles
// cycles, that of the first sight included: the scheduler tries again whenever a
// pod ends, at most 10 s later, and a burst of cycles is no time.
const (
	lostAfter  = time.Minute
	lostCycles = 3
)

// lost returns how many replicas of x no node takes, nor will: for the others room
// is promised. To whom it is promised is not known; those who come first are taken
// to be it, so that nobody gives back what may be about to start.
func (c *contest) unplaced(x *claim, past scaling.Unplaced, now time.Time) int {
	r := x.variant.Replicas
	if !x.limited || !r.Observed || past.Cycles < lostCycles || now.Sub(past.Since) < lostAfter {
		return 0
	}
	lost := min(past.Replicas, r.Unschedulable, x.have)
	for lost > 0 && c.stock.keep(x.variant.Accelerator, x.gpus()) {
		lost--
	}
	return lost
}

// placed is how many replicas of x hold accelerators, or will: those that no node
// has taken, and those without a pod, go first when it shrinks.
func (x *claim) placed() int {
	if x.variant.Unaccelerated {
		return 0
	}
	return max(0, x.have-x.variant.Replicas.Unschedulable-x.podless)
}

// keepLast lets those replicas wait that are lost and not given back: those of a
// variant that is paused, or of whose load nothing is known, those up to a minimum,
// and the last of a model, which would not be called again.
func (c *contest) keepLast() {
	for _, x := range c.claims {
		least := min(x.want, x.have)
		switch {
		case x.unplaced == 0:
			continue
		case x.decision.Fallback, x.variant.Paused:
		case c.models[x.decision.Model] == 0:
			least = min(least, max(1, x.variant.Bounds.Min))
		default:
			least = min(least, x.variant.Bounds.Min)
		}
		if more := least - x.got; more > 0 {
			x.got = least
			c.models[x.decision.Model] += more
		}
	}
}
