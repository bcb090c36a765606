package constrain

import (
	"cmp"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// surplusFor is how long surplus pods count as about to end, after the target came closer to its
// decision: their controller takes seconds to remove them. Pods that stay longer are the surge of a
// rollout.
const surplusFor = time.Minute

// leavesFor is how long a target may make no progress towards a decision for fewer
// replicas. After that its replicas are no longer expected to leave. An HPA waits five
// minutes by default before it removes any; the other five minutes allow for other delays.
const leavesFor = 10 * time.Minute

// reclaim makes claims return replicas to claims with a better right, first to those below their
// minimum. The receivers are served once the accelerators are free.
func (c *contest) reclaim() {
	credit := map[*claim]scaling.Replicas{} // replicas that leave anyway
	for _, x := range c.claims {
		if !x.noProgress {
			credit[x] = max(0, x.placed()-x.got)
		}
	}
	c.reclaimUpTo(credit, leastOf)
	c.reclaimUpTo(credit, wantOf)
}

func (c *contest) reclaimUpTo(credit map[*claim]scaling.Replicas, upTo func(*claim) scaling.Replicas) {
	for _, x := range c.claims {
		for x.limited && x.got+x.coming < upTo(x) && c.entitled(x) {
			if !c.leaving(x, credit) && !c.unstarted(x) {
				victim := c.victim(x, x.got+x.coming)
				if victim == nil {
					break
				}
				left := min(victim.got, victim.placed()) - 1
				c.parts[victim.decision.Part()] -= victim.got - left
				victim.spare = c.spares(victim, x, x.got+x.coming)
				victim.got, victim.returnedTo = left, x.variant.Key.String()
			}
			x.coming++
			c.coming[x.holder()] += x.gpus()
		}
	}
}

// entitled reports whether x may have more at all: it may not where its pods are refused, nor
// beyond its own quota where the quotas are used up.
func (c *contest) entitled(x *claim) bool {
	return !x.stopped && (x.refused != scaling.ReasonOverQuota || c.owns(x))
}

// owns reports whether one more replica of x is within what its namespace owns, including
// coming replicas, or no quota limits it.
func (c *contest) owns(x *claim) bool {
	return c.quotas.owned(x.holder(), c.coming[x.holder()]+x.gpus())
}

// leaving gives one replica of x the room of pods that are ending, or of a replica that leaves
// anyway, and reports whether there was any. A pod that is ending uses no quota.
func (c *contest) leaving(x *claim, credit map[*claim]scaling.Replicas) bool {
	if x.refused == scaling.ReasonNoStock && c.stock.place(x.variant, soon) {
		return true
	}
	for _, y := range c.claims {
		if credit[y] > 0 && x != y && makesRoom(y, x) {
			credit[y]--
			return true
		}
	}
	return false
}

// unstarted makes a claim return an order that no node has taken, so that the quotas allow one
// replica of x for which a node has room. It reports whether there was such an order. Running
// replicas are not given up for it.
func (c *contest) unstarted(x *claim) bool {
	if x.refused != scaling.ReasonOverQuota {
		return false
	}
	i := slices.IndexFunc(c.claims, func(y *claim) bool {
		return x != y && makesRoom(y, x) && y.got > y.placed() && c.mayCancel(y) && c.mustYield(y, x, x.got+x.coming)
	})
	if i < 0 || !c.stock.place(x.variant, free) {
		return false
	}
	y := c.claims[i]
	y.got--
	y.returnedTo = x.variant.Key.String()
	c.parts[y.decision.Part()]--
	return true
}

// mayCancel reports whether y can return a replica that no node has taken.
func (c *contest) mayCancel(y *claim) bool {
	return y.limited && !y.noProgress && !y.decision.Fallback && !y.variant.Paused && y.got <= y.have &&
		y.got > max(y.keeps, y.variant.Bounds.Min) && c.parts[y.decision.Part()] > 1
}

// makesRoom reports whether one replica of y, when it ends, leaves room on its nodes for one of x.
func makesRoom(y, x *claim) bool {
	return y.variant.Accelerator == x.variant.Accelerator && y.frees() >= x.gpus() && y.variant.Houses(x.variant)
}

// victim returns the claim that returns a replica so that x may have more than have; nil where none
// must. It takes the least important rank; then a claim that was chosen before and has not yet
// returned its replica; then the lowest utilization, the highest cost, and the last name.
func (c *contest) victim(x *claim, have scaling.Replicas) *claim {
	var chosen *claim
	for _, y := range c.claims {
		if x == y || !makesRoom(y, x) || !c.mayLose(y) || !c.mustYield(y, x, have) {
			continue
		}
		if chosen == nil || cmp.Or(cmp.Compare(y.rank, chosen.rank), compareBool(y.shrinking, chosen.shrinking), cmp.Compare(chosen.load, y.load),
			cmp.Compare(y.variant.Cost, chosen.variant.Cost), y.variant.Key.Compare(chosen.variant.Key)) > 0 {
			chosen = y
		}
	}
	return chosen
}

// mayLose reports whether y can return a replica at all. A claim whose target does not
// follow reductions cannot.
func (c *contest) mayLose(y *claim) bool {
	held := min(y.got, y.placed()) // to make room it also returns replicas that no node has taken
	return y.limited && !y.noProgress && !y.decision.Fallback && !y.variant.Paused && y.got <= y.have &&
		held > max(y.keeps, y.variant.Bounds.Min) && c.parts[y.decision.Part()]-(y.got-held) > 1
}

// mustYield reports whether x, with have replicas, has a better right than y to one more.
func (c *contest) mustYield(y, x *claim, have scaling.Replicas) bool {
	switch {
	case have < x.variant.Bounds.Min && y.rank >= x.rank:
		return true
	case c.returns(y) && c.owns(x):
		return true
	}
	return x.refused == scaling.ReasonNoStock && (y.rank > x.rank || c.spares(y, x, have))
}

const (
	// shortageRatio is the ratio of a model's demand to its supply from which models of the same
	// rank give up replicas that they do not need.
	shortageRatio = 1.1
	// utilizationAfterReturn is the largest utilization of the replicas that these models keep. Its
	// distance to shortageRatio keeps a replica from moving back and forth.
	utilizationAfterReturn = 0.9
)

// spares reports whether y, another model of the rank of x, can carry its demand with one replica
// fewer, while the demand of x exceeds have replicas by shortageRatio. y would give that replica up
// later anyway.
func (c *contest) spares(y, x *claim, have scaling.Replicas) bool {
	if y.rank != x.rank || y.decision.Model == x.decision.Model || !(y.load > 0) || !c.owns(x) {
		return false
	}
	left := min(y.got, y.placed()) - 1
	return x.asked() > shortageRatio*float64(have) && y.asked() <= utilizationAfterReturn*float64(left)
}

// asked returns the demand of a claim in full replicas.
func (x *claim) asked() float64 { return x.load * float64(x.variant.Replicas.Ready) }

// returns reports whether y's namespace still uses more than it owns after all decided reductions.
func (c *contest) returns(y *claim) bool {
	h := y.holder()
	own, limited := c.quotas.own[h]
	if !limited {
		return false
	}
	used := scaling.Accelerators(0)
	for _, z := range c.claims {
		if z.holder() == h {
			used += z.variant.GPUs(z.got)
		}
	}
	return used > own
}

// compareBool orders false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
