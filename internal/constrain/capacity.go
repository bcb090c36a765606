package constrain

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Capacity lets limited models grow only onto accelerators that there are and
// that their namespace may use.
//
// Replicas are granted one by one, by rank, and within a rank those below a minimum
// first: a minimum is worth its rank. Among equals those ordered earlier come first,
// then the fullest, the cheapest. A replica
// needs all its accelerators free on one node now: what another gives up in this
// cycle is granted once it is gone, so that no more is promised than there is. A
// namespace may borrow what the owners of the same type leave idle, after all who
// ask for their own.
//
// Where that leaves somebody short who has a right to more, others return theirs:
// those who borrowed it, to its owner, first what has not started; those of a lower rank, to one of a higher;
// those above a minimum, to one of their rank or a higher below its own; and what is not needed, to
// one of the same rank that is asked for more than it serves. No variant returns more than down to
// the minimum and the last replica of the model, nor while nothing is known of
// its load; and none returns any while what others are about to leave suffices.
//
// A replica that no node has taken for a while, and for which there is no room, is
// given back as well: it is wanted as one that is not there yet. A replica that has
// had no pod for as long reserves nothing, and its variant grows no further: something
// refuses its pods, such as a ResourceQuota.
//
// A replica whose pod template requests no device is granted as one of 1, so that
// it does not grow without bound, and holds none: it counts against the quota of its own
// namespace alone, and its return helps no other.
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
		for equals := range c.ranks() {
			c.grant(equals, leastOf, c.quotas.left)
			c.grant(equals, wantOf, func(h holder, gpus int) bool { return c.quotas.owned(h, gpus) && c.quotas.left(h, gpus) })
		}
		c.grant(c.claims, wantOf, c.quotas.left)
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
	unplaced int     // of these, those that no node takes or will
	podless  int     // of these, those that have no pod and no room for one
	stopped  bool    // something refuses its pods
	ordered  int     // replicas that stand, beyond those that it has
	goes     bool    // fewer stand than it has
	stuck    bool    // of these none has gone for leavesFor
	want     int
	got      int
	coming   int            // replicas beyond those got for which others make room
	refused  scaling.Reason // why the last replica was refused, "" if none was
	taker    string         // for whom replicas are returned, "" for nobody
	spare    bool           // what was returned last is not needed here, and lacks there
}

func (x *claim) holder() holder { return holder{x.variant.Key.Namespace, x.variant.Accelerator} }

func (x *claim) gpus() int { return x.variant.GPUs(1) }

// frees is how many accelerators one replica leaves that has a pod.
func (x *claim) frees() int {
	if pods := x.have - x.podless; pods > 0 && x.variant.GPUsShort > 0 {
		return x.variant.Held(pods) / pods
	}
	return x.gpus()
}

// leastOf and wantOf are up to how many replicas a claim is served.
func leastOf(x *claim) int { return min(x.want, x.variant.Bounds.Min) }
func wantOf(x *claim) int  { return x.want }

// contest is all claims with what they compete for.
type contest struct {
	claims []*claim // in the order in which they are served
	stock  *stock
	quotas *quotas
	models map[scaling.ModelKey]int // replicas that each has got
	coming map[holder]int           // accelerators of replicas for which others make room
}

func newContest(in Input, plan scaling.Plan) *contest {
	c := &contest{stock: newStock(in.Limits.Inventory), quotas: newQuotas(in.Limits.Quotas), models: map[scaling.ModelKey]int{}, coming: map[holder]int{}}
	for i, d := range plan.Decisions {
		v, ok := in.Variants[d.Variant]
		if !ok {
			continue
		}
		model, limited := in.Limits.Models[d.Model]
		x := &claim{
			index: i, decision: d, variant: v, limited: limited, rank: model.Rank, load: model.Utilization[d.Variant],
			have: d.Current, ordered: max(0, in.History.LastDesired(v)-d.Current), goes: in.History.LastDesired(v) < d.Current, want: d.Target(),
		}
		since := in.History[v.Key].ProgressAt
		x.stuck = x.goes && !since.IsZero() && in.Now.Sub(since) > leavesFor
		c.claims = append(c.claims, x)
		if !v.Unaccelerated && in.Now.Sub(since) <= surplusFor {
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

// ranks returns the claims of each rank, in their order.
func (c *contest) ranks() iter.Seq[[]*claim] {
	return func(yield func([]*claim) bool) {
		for from := 0; from < len(c.claims); {
			to := from
			for to < len(c.claims) && c.claims[to].rank == c.claims[from].rank {
				to++
			}
			if !yield(c.claims[from:to]) {
				return
			}
			from = to
		}
	}
}

// enter books what a claim has, and what the stock does not know of it: pods that
// are yet to come.
func (c *contest) enter(x *claim, past scaling.Past, now time.Time) {
	x.unplaced = c.unplaced(x, past.Unplaced, now)
	x.got = min(x.want, x.have-x.unplaced)
	x.podless = min(x.variant.Replicas.Podless, x.have)
	x.stopped = x.podless > 0 && past.Podless.Cycles >= lostCycles && now.Sub(past.Podless.Since) >= lostAfter
	for !x.stopped && !x.variant.Unaccelerated && x.podless > 0 && (c.stock.take(x.variant.Accelerator, x.gpus(), free) || c.stock.take(x.variant.Accelerator, x.gpus(), soon)) {
		x.podless--
	}
	c.quotas.use(x.holder(), x.variant.GPUs(x.have), x.variant.Held(x.have-x.podless))
	c.models[x.decision.Model] += x.got
}

// grantUnlimited takes what nobody can refuse off the stock.
func (c *contest) grantUnlimited() {
	for _, x := range c.claims {
		if x.limited || x.got >= x.want {
			continue
		}
		for n := x.want - x.got; n > 0 && c.stock.take(x.variant.Accelerator, x.gpus(), free); n-- {
		}
		c.add(x, x.want-x.got)
	}
}

// grant gives each of the claims replicas up to the number that upTo says, while
// allowed says that the quotas have them and a node does. A claim whose pods are
// refused gets none.
func (c *contest) grant(claims []*claim, upTo func(*claim) int, allowed func(holder, int) bool) {
	for _, x := range claims {
		for x.limited && x.got < upTo(x) {
			if x.got >= x.have && x.stopped {
				x.refused = scaling.ReasonTargetNotMoving
				break
			}
			if x.got >= x.have && !allowed(x.holder(), x.gpus()) {
				x.refused = scaling.ReasonOverQuota
				break
			}
			if !c.stock.take(x.variant.Accelerator, x.gpus(), free) {
				x.refused = scaling.ReasonNoStock
				break
			}
			c.add(x, 1)
		}
	}
}

// add gives a claim so many replicas more. Those that it has and that were lost are
// in the quotas already.
func (c *contest) add(x *claim, replicas int) {
	if more := x.got + replicas - max(x.got, x.have); more > 0 {
		c.quotas.use(x.holder(), x.variant.GPUs(more), x.variant.Holds(more))
	}
	x.got += replicas
	c.models[x.decision.Model] += replicas
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
	case x.spare:
		return x.decision.Then(scaling.StageCapacity, x.got, scaling.ReasonReturned, fmt.Sprintf("%s with %s given up for %s, which is asked for more than it serves; the others are filled to %.0f %% then",
			scaling.Replicas(max(0, min(x.want, x.have-x.unplaced)-x.got)), c.accelerators(x), x.taker, 100*x.asked()/float64(max(1, x.got)))+c.below(x))
	case x.taker != "":
		return x.decision.Then(scaling.StageCapacity, x.got, scaling.ReasonReturned, fmt.Sprintf("%s with %s go back to %s", scaling.Replicas(max(0, min(x.want, x.have-x.unplaced)-x.got)), c.accelerators(x), x.taker)+c.below(x))
	case x.unplaced > 0 && x.got < x.have:
		return x.decision.Then(scaling.StageCapacity, x.got, scaling.ReasonNoStock, fmt.Sprintf("%d of %d replicas: no node has taken %d of those that there are for %s or longer; each needs %s on one node, and %s of %d; held by %s",
			x.got, x.want, x.unplaced, lostAfter, c.accelerators(x), c.stock.describe(x.variant.Accelerator), c.stock.total(x.variant.Accelerator), c.held(x.variant.Accelerator))+c.below(x))
	case x.refused == scaling.ReasonInventoryUnknown:
		return x.decision.Then(scaling.StageCapacity, x.got, x.refused, "the stock of accelerators is not known, nothing grows until it is"+c.below(x))
	case x.refused == scaling.ReasonTargetNotMoving:
		return x.decision.Then(scaling.StageCapacity, x.got, x.refused, fmt.Sprintf("%d of %d replicas: %d of %d that the target is asked for have had no pod for %s or longer, something refuses them, such as a ResourceQuota; nothing is added or taken from others for it until they have one",
			x.got, x.want, x.podless, x.have, lostAfter)+c.below(x))
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
		return cmp.Or(cmp.Compare(b.variant.GPUs(b.have), a.variant.GPUs(a.have)), a.variant.Key.Compare(b.variant.Key))
	})
	var out []string
	for _, x := range holders[:min(len(holders), holdersAtMost)] {
		out = append(out, fmt.Sprintf("%s (%d)", x.variant.Key, x.variant.GPUs(x.have)))
	}
	switch more := len(holders) - holdersAtMost; {
	case len(out) == 0:
		return "none of the variants"
	case more > 0:
		return fmt.Sprintf("%s and %d more", strings.Join(out, ", "), more)
	}
	return strings.Join(out, ", ")
}
