package constrain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Capacity lets limited models grow only onto accelerators that there are and
// that their namespace may use.
//
// Replicas are granted one by one: those below a minimum first, then by rank,
// and among equals those ordered earlier, the fullest, the cheapest. A replica
// needs all its accelerators free on one node now: what another gives up in this
// cycle is granted once it is gone, so that no more is promised than there is. A
// namespace may borrow what the owners of the same type leave idle, after all who
// ask for their own.
//
// Where that leaves somebody short who has a right to more, others return theirs:
// those who borrowed it, to its owner; those of a lower rank, to one of a higher;
// anybody above a minimum, to one below its own. Nobody returns more than down to
// the minimum and the last replica of the model, nor while nothing is known of
// its load; and nobody returns any while what others are about to leave suffices.
//
// A replica that no node has taken for a while, and for which there is no room, is
// given back as well: it is wanted as one that is not there yet.
//
// While the stock is not known, nothing that is limited grows.
func Capacity(in Input, plan scaling.Plan) scaling.Plan {
	out := scaling.Plan{At: plan.At, Decisions: slices.Clone(plan.Decisions)}
	if len(in.Limits.Models) == 0 {
		return out
	}
	c := newContest(in, plan)
	if in.Limits.Inventory.Known {
		c.grantUnlimited()
		c.grant(func(x *claim) int { return min(x.want, x.variant.Bounds.Min) }, c.quotas.left)
		c.grant(func(x *claim) int { return x.want }, func(h holder, gpus int) bool { return c.quotas.owned(h, gpus) && c.quotas.left(h, gpus) })
		c.grant(func(x *claim) int { return x.want }, c.quotas.left)
		c.reclaim()
		c.keepLast()
	} else {
		c.hold()
	}
	for _, x := range c.claims {
		out.Decisions[x.index] = c.decide(x)
	}
	return out
}

// claim is what one decision asks of the stock.
type claim struct {
	index    int // in the plan
	decision scaling.Decision
	variant  scaling.Variant
	limited  bool
	rank     int
	load     float64 // utilization
	have     int     // replicas that run or start
	lost     int     // of these, those that no node takes or will
	ordered  int     // replicas that stand, beyond those that it has
	goes     bool    // fewer stand than it has
	want     int
	got      int
	coming   int            // replicas beyond those got for which others make room
	refused  scaling.Reason // why the last replica was refused, "" if none was
	taker    string         // for whom replicas are returned, "" for nobody
}

func (x *claim) holder() holder { return holder{x.variant.Key.Namespace, x.variant.Accelerator} }

func (x *claim) gpus() int { return max(1, x.variant.GPUsPerReplica) }

// contest is all claims with what they compete for.
type contest struct {
	claims []*claim // in the order in which they are served
	stock  *stock
	quotas *quotas
	models map[scaling.ModelKey]int // replicas that each has got
}

func newContest(in Input, plan scaling.Plan) *contest {
	c := &contest{stock: newStock(in.Limits.Inventory), quotas: newQuotas(in.Limits.Quotas), models: map[scaling.ModelKey]int{}}
	for i, d := range plan.Decisions {
		v, ok := in.Variants[d.Variant]
		if !ok {
			continue
		}
		standing, limited := in.Limits.Models[d.Model]
		x := &claim{
			index: i, decision: d, variant: v, limited: limited, rank: standing.Rank, load: standing.Utilization[d.Variant],
			have: d.Current, ordered: max(0, in.History.Standing(v)-d.Current), goes: in.History.Standing(v) < d.Current, want: d.Target(),
		}
		c.claims = append(c.claims, x)
		if in.Now.Sub(in.History[v.Key].ProgressAt) <= surplusFor {
			c.stock.leave(v.Accelerator, x.gpus(), v.Replicas.Surplus)
		}
	}
	slices.SortFunc(c.claims, func(a, b *claim) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(min(1, b.ordered), min(1, a.ordered)), cmp.Compare(b.load, a.load),
			cmp.Compare(a.variant.Cost, b.variant.Cost), a.variant.Key.Compare(b.variant.Key))
	})
	for _, x := range c.claims {
		c.enter(x, in.History[x.variant.Key], in.Now)
	}
	return c
}

// enter books what a claim has, and what the stock does not know of it: pods that
// are yet to come.
func (c *contest) enter(x *claim, past scaling.Past, now time.Time) {
	x.lost = c.lost(x, past.Unplaced, now)
	x.got = min(x.want, x.have-x.lost)
	c.quotas.use(x.holder(), x.have*x.gpus())
	c.models[x.decision.Model] += x.got
	for range x.variant.Replicas.Podless {
		if !c.stock.take(x.variant.Accelerator, x.gpus(), free) && !c.stock.take(x.variant.Accelerator, x.gpus(), soon) {
			break
		}
	}
}

// grantUnlimited takes what nobody can refuse off the stock.
func (c *contest) grantUnlimited() {
	for _, x := range c.claims {
		for ; !x.limited && x.got < x.want; c.add(x) {
			c.stock.take(x.variant.Accelerator, x.gpus(), free)
		}
	}
}

// grant gives each claim replicas up to the number that upTo says, while allowed
// says that the quotas have them and a node does.
func (c *contest) grant(upTo func(*claim) int, allowed func(holder, int) bool) {
	for _, x := range c.claims {
		for x.limited && x.got < upTo(x) {
			if x.got >= x.have && !allowed(x.holder(), x.gpus()) {
				x.refused = scaling.ReasonOverQuota
				break
			}
			if !c.stock.take(x.variant.Accelerator, x.gpus(), free) {
				x.refused = scaling.ReasonNoStock
				break
			}
			c.add(x)
		}
	}
}

// add gives a claim one replica more. One that it has and that was lost is in the
// quotas already.
func (c *contest) add(x *claim) {
	if x.got >= x.have {
		c.quotas.use(x.holder(), x.gpus())
	}
	x.got++
	c.models[x.decision.Model]++
}

// hold lets nothing that is limited grow beyond what stands.
func (c *contest) hold() {
	for _, x := range c.claims {
		x.got = x.want
		if most := x.have + x.ordered; x.limited && x.want > most {
			x.got, x.refused = most, scaling.ReasonInventoryUnknown
		}
	}
}

// decide adds the step of a claim to its decision.
func (c *contest) decide(x *claim) scaling.Decision {
	switch {
	case x.got == x.want || !x.limited:
		return x.decision
	case x.taker != "":
		return x.decision.Then(scaling.StageCapacity, x.got, scaling.ReasonReturned, fmt.Sprintf("%s with %s go back to %s", scaling.Replicas(max(0, min(x.want, x.have-x.lost)-x.got)), c.accelerators(x), x.taker)+c.below(x))
	case x.lost > 0 && x.got < x.have:
		return x.decision.Then(scaling.StageCapacity, x.got, scaling.ReasonNoStock, fmt.Sprintf("%d of %d replicas: no node has taken %d of those that there are for %s or longer; each needs %s on one node, and %s of %d; held by %s",
			x.got, x.want, x.lost, lostAfter, c.accelerators(x), c.stock.describe(x.variant.Accelerator), c.stock.total(x.variant.Accelerator), c.held(x.variant.Accelerator))+c.below(x))
	case x.refused == scaling.ReasonInventoryUnknown:
		return x.decision.Then(scaling.StageCapacity, x.got, x.refused, "the stock of accelerators is not known, nothing grows until it is"+c.below(x))
	case x.refused == scaling.ReasonOverQuota:
		h := x.holder()
		return x.decision.Then(scaling.StageCapacity, x.got, x.refused, fmt.Sprintf("%d of %d replicas: the quota of namespace %s is %d %s, %d are in use, and of the %d in all quotas %d are; held by %s",
			x.got, x.want, h.namespace, c.quotas.own[h], h.accelerator, c.quotas.used[h], c.quotas.pool[h.accelerator], c.quotas.out[h.accelerator], c.held(h.accelerator))+c.below(x))
	}
	return x.decision.Then(scaling.StageCapacity, x.got, scaling.ReasonNoStock, fmt.Sprintf("%d of %d replicas: each needs %s on one node, and %s of %d; held by %s",
		x.got, x.want, c.accelerators(x), c.stock.describe(x.variant.Accelerator), c.stock.total(x.variant.Accelerator), c.held(x.variant.Accelerator))+c.below(x))
}

// below says that a decision is cut below its minimum.
func (c *contest) below(x *claim) string {
	if x.got < x.variant.Bounds.Min {
		return fmt.Sprintf("; that is below minReplicas, %d", x.variant.Bounds.Min)
	}
	return ""
}

func (c *contest) accelerators(x *claim) string {
	name := x.variant.Accelerator
	if name == "" {
		name = "accelerators of an unknown type"
	}
	return fmt.Sprintf("%d %s", x.gpus(), name)
}

// holdersAtMost is how many holders a sentence names.
const holdersAtMost = 3

// held says who holds the accelerators of a type, the largest first.
func (c *contest) held(accelerator string) string {
	holders := slices.DeleteFunc(slices.Clone(c.claims), func(x *claim) bool { return x.variant.Accelerator != accelerator || x.have == 0 })
	slices.SortFunc(holders, func(a, b *claim) int {
		return cmp.Or(cmp.Compare(b.have*b.gpus(), a.have*a.gpus()), a.variant.Key.Compare(b.variant.Key))
	})
	var out []string
	for _, x := range holders[:min(len(holders), holdersAtMost)] {
		out = append(out, fmt.Sprintf("%s (%d)", x.variant.Key, x.have*x.gpus()))
	}
	switch more := len(holders) - holdersAtMost; {
	case len(out) == 0:
		return "none of the variants"
	case more > 0:
		return fmt.Sprintf("%s and %d more", strings.Join(out, ", "), more)
	}
	return strings.Join(out, ", ")
}
