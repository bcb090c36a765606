package constrain

import (
	"cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// reclaim makes claims that have no right to what they hold return it to those
// that do. Those are served once it is free.
func (c *contest) reclaim() {
	credit := map[*claim]int{} // replicas that go anyway
	for _, x := range c.claims {
		credit[x] = max(0, x.have-x.got)
	}
	for _, x := range c.claims {
		for short := x.want - x.got; x.limited && short > 0; short-- {
			if c.leaving(x, credit) {
				continue
			}
			victim := c.victim(x, x.want-short)
			if victim == nil {
				break
			}
			victim.got--
			victim.taker = x.variant.Key.String()
			c.models[victim.decision.Model]--
		}
	}
}

// leaving uses a replica that goes anyway and leaves room for one of x.
func (c *contest) leaving(x *claim, credit map[*claim]int) bool {
	for _, y := range c.claims {
		if credit[y] > 0 && x != y && makesRoom(y, x) {
			credit[y]--
			return true
		}
	}
	return false
}

// makesRoom reports whether a node that is left by a replica of y has room for
// one of x.
func makesRoom(y, x *claim) bool {
	return y.variant.Accelerator == x.variant.Accelerator && y.gpus() >= x.gpus()
}

// victim is the claim that returns a replica so that x may have more than so
// many, nil where nobody has to: the lowest in rank, then the emptiest, the
// dearest, the last by name.
func (c *contest) victim(x *claim, have int) *claim {
	var chosen *claim
	for _, y := range c.claims {
		if x == y || !makesRoom(y, x) || !c.mayLose(y) || !c.mustYield(y, x, have) {
			continue
		}
		if chosen == nil || cmp.Or(cmp.Compare(y.rank, chosen.rank), cmp.Compare(chosen.load, y.load),
			cmp.Compare(y.variant.Cost, chosen.variant.Cost), y.variant.Key.Compare(chosen.variant.Key)) > 0 {
			chosen = y
		}
	}
	return chosen
}

// mayLose reports whether y can return a replica at all.
func (c *contest) mayLose(y *claim) bool {
	return y.limited && !y.decision.Fallback && !y.variant.Paused && y.got <= y.have &&
		y.got > max(0, y.variant.Bounds.Min) && c.models[y.decision.Model] > 1
}

// mustYield reports whether x, with so many replicas, has a better right than y
// to one more.
func (c *contest) mustYield(y, x *claim, have int) bool {
	if x.refused == scaling.ReasonOverQuota && !c.quotas.owned(x.holder(), x.gpus()) {
		return false // more than its own is nobody's right
	}
	switch {
	case have < x.variant.Bounds.Min:
		return true
	case c.returns(y) && !c.quotas.borrows(x.holder()):
		return true
	}
	return x.refused == scaling.ReasonNoStock && y.rank > x.rank
}

// returns reports whether y's namespace still uses more than it owns, once those
// that go are gone.
func (c *contest) returns(y *claim) bool {
	h := y.holder()
	own, limited := c.quotas.own[h]
	if !limited {
		return false
	}
	used := 0
	for _, z := range c.claims {
		if z.holder() == h {
			used += z.got * z.gpus()
		}
	}
	return used > own
}
