package constrain

import (
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// A replica is lost once no node has taken it for lostAfter and in lostCycles cycles, the first
// cycle that saw it included. The scheduler tries again whenever a pod ends, within 10 s; a burst
// of cycles may be shorter than that.
const (
	lostAfter  = time.Minute
	lostCycles = 3
)

// unplaced returns how many replicas of x no node takes or will take. Nodes have promised
// room for the other waiting pods, but not for which ones. The first claims are assumed to
// get it, so that no claim gives back a replica that may be about to start.
func (c *contest) unplaced(x *claim, past memory.Unplaced, now time.Time) scaling.Replicas {
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

// placed returns how many replicas of x hold accelerators, or will. Replicas that no node
// has taken, and replicas without a pod, go first when x shrinks.
func (x *claim) placed() scaling.Replicas {
	if x.variant.Unaccelerated {
		return 0
	}
	return max(0, x.have-x.variant.Replicas.Unschedulable-x.podless)
}

// keepLast keeps some lost replicas waiting instead of giving them back: all of a paused variant or
// of one with an unknown load; else those up to the minimum and to claim.keeps, and the last
// replica of a model or role, which would not be called again.
func (c *contest) keepLast() {
	for _, x := range c.claims {
		least := min(x.want, x.have)
		switch {
		case x.unplaced == 0:
			continue
		case x.decision.Fallback, x.variant.Paused:
		case c.parts[x.decision.Part()] == 0:
			least = min(least, max(1, x.keeps, x.variant.Bounds.Min))
		default:
			least = min(least, max(x.keeps, x.variant.Bounds.Min))
		}
		if more := least - x.got; more > 0 {
			x.got = least
			c.parts[x.decision.Part()] += more
		}
	}
}
