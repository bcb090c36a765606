package constrain

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// Capacity lets limited models grow only onto accelerators that are free and that the quota of
// their namespace allows.
//
// It grants replicas one by one, by rank. Within a rank, replicas below a variant's minimum come
// first. Among equals the order is: the replica ordered earlier, the variant with the higher
// utilization, the cheaper variant. Each pod of a replica needs all its accelerators free on one
// node now: accelerators that another variant gives up in this cycle are granted only after they
// are free, so the grants never exceed the stock. A namespace may borrow idle quota of other
// namespaces of the same type, after all claims within their own quota.
//
// Where a claim with a better right is still short, other variants return replicas. A namespace
// that borrowed quota returns it to the owner, first replicas that have not started. A less
// important rank returns to a more important one. Replicas above a minimum go to variants of the
// same or a more important rank that are below their minimum. Replicas that a model does not need
// go to a model of the same rank whose demand exceeds its supply. No variant returns replicas below
// its minimum, the last replica of its model or role, or any while its load is unknown. No variant
// returns a replica while the replicas that others are about to remove suffice.
//
// A replica that no node has taken for a while, and for which there is no room, is given back as
// well: it stays wanted, as a replica that is not ordered yet. A replica without a pod for as long
// reserves nothing, and its variant grows no further: something refuses its pods, such as a
// ResourceQuota.
//
// A replica whose pod template requests no device is granted as if it had 1 accelerator, so that
// its variant does not grow without bound. It holds no accelerator: it counts only against the
// quota of its own namespace, and its return frees nothing for others.
//
// While the stock is unknown, no limited model grows.
//
// Capacity does not take replicas that a freeze window or a missing approval keeps: see Approve and
// Freeze.
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
			c.grant(equals, wantOf, func(h holder, gpus scaling.Accelerators) bool {
				return c.quotas.owned(h, gpus) && c.quotas.left(h, gpus)
			})
		}
		c.grant(c.claims, wantOf, c.quotas.left)
		c.reclaim()
		c.keepLast()
	} else {
		c.hold()
	}
	for _, x := range c.claims {
		x.got = max(x.got, min(x.want, x.keeps)) // replicas that were granted before stay
		out.Decisions[x.index] = c.decide(x)
	}
	return out
}

// claim is the request of one decision for accelerators of the stock.
type claim struct {
	index      int // in the plan
	decision   scaling.Decision
	variant    scaling.Variant
	limited    bool
	rank       int
	load       float64          // utilization
	have       scaling.Replicas // replicas that run or start
	unplaced   scaling.Replicas // of these, replicas that no node takes or will take
	podless    scaling.Replicas // of these, replicas that have no pod and no room for one
	keeps      scaling.Replicas // the decision must not go below
	stopped    bool             // something refuses its pods
	ordered    scaling.Replicas // replicas already ordered, beyond those that it has
	shrinking  bool             // fewer are desired than it has
	noProgress bool             // it has removed no replica for leavesFor
	want       scaling.Replicas
	got        scaling.Replicas
	coming     scaling.Replicas // replicas beyond got for which other claims make room
	refused    scaling.Reason   // why the last replica was refused, "" if none was
	returnedTo string           // name of the claim that the returned replicas go to, "" for none
	spare      bool             // the replica returned last is not needed here and is needed there
}

func (x *claim) holder() holder { return holder{x.variant.Key.Namespace, x.variant.Accelerator} }

func (x *claim) gpus() scaling.Accelerators { return x.variant.GPUs(1) }

// frees returns how many accelerators one replica with a pod frees when it ends.
func (x *claim) frees() scaling.Accelerators {
	if pods := x.have - x.podless; pods > 0 && x.variant.GPUsShort > 0 {
		return x.variant.Held(pods).Per(pods)
	}
	return x.gpus()
}

// leastOf and wantOf return the number of replicas up to which a claim is served.
func leastOf(x *claim) scaling.Replicas { return min(x.want, x.variant.Bounds.Min) }
func wantOf(x *claim) scaling.Replicas  { return x.want }

// contest holds all claims and the resources for which they compete.
type contest struct {
	claims []*claim // in the order in which they are served
	stock  *stock
	quotas *quotas
	parts  map[scaling.Part]scaling.Replicas // replicas granted to each
	roles  map[scaling.Part]RoleDemand
	coming map[holder]scaling.Accelerators // accelerators of replicas for which other claims make room
}

func newContest(in Input, plan scaling.Plan) *contest {
	c := &contest{roles: in.Roles, stock: newStock(in.Limits.Inventory), quotas: newQuotas(in.Limits.Quotas), parts: map[scaling.Part]scaling.Replicas{}, coming: map[holder]scaling.Accelerators{}}
	for i, d := range plan.Decisions {
		v, ok := in.Variants[d.Variant]
		if !ok {
			continue
		}
		model, limited := in.Limits.Models[d.Model]
		x := &claim{
			index: i, decision: d, variant: v, limited: limited && v.Freeze.Allow != scaling.AllowNone, rank: model.Rank,
			load: model.Utilization[d.Variant], have: d.Current, keeps: keeps(in, v, d), ordered: max(0, in.History.LastDesired(v)-d.Current), shrinking: in.History.LastDesired(v) < d.Current, want: d.Target(),
		}
		since := in.History[v.Key].ProgressAt
		x.noProgress = x.shrinking && !since.IsZero() && in.Now.Sub(since) > leavesFor
		c.claims = append(c.claims, x)
		if !v.Unaccelerated && in.Now.Sub(since) <= surplusFor {
			c.stock.leaves(v, v.Replicas.Surplus)
		}
	}
	slices.SortFunc(c.claims, func(a, b *claim) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(min(1, b.ordered), min(1, a.ordered)), cmp.Compare(b.load, a.load),
			cmp.Compare(a.variant.Cost, b.variant.Cost), a.variant.Key.Compare(b.variant.Key))
	})
	for _, x := range c.claims {
		c.bookCurrent(x, in.History[x.variant.Key], in.Now)
	}
	return c
}

// ranks yields the claims of each rank, in their order.
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

// bookCurrent books the replicas that a claim has. It takes room for pods still to be created from
// the stock, which does not show them.
func (c *contest) bookCurrent(x *claim, past memory.Past, now time.Time) {
	x.unplaced = c.unplaced(x, past.Unplaced, now)
	x.got = min(x.want, x.have-x.unplaced)
	x.podless = min(x.variant.Replicas.Podless, x.have)
	x.stopped = x.podless > 0 && past.Podless.Cycles >= lostCycles && now.Sub(past.Podless.Since) >= lostAfter
	for !x.stopped && !x.variant.Unaccelerated && x.podless > 0 && (c.stock.place(x.variant, free) || c.stock.place(x.variant, soon)) {
		x.podless--
	}
	c.quotas.use(x.holder(), x.variant.GPUs(x.have), x.variant.Held(x.have-x.podless))
	c.parts[x.decision.Part()] += x.got
}

// grantUnlimited subtracts the replicas of unlimited models from the stock.
func (c *contest) grantUnlimited() {
	for _, x := range c.claims {
		if x.limited || x.got >= x.want {
			continue
		}
		for n := x.want - x.got; n > 0 && c.stock.place(x.variant, free); n-- {
		}
		c.add(x, x.want-x.got)
	}
}

// grant gives each claim replicas up to the number that upTo returns, while allowed reports that
// the quotas have room and a node has it. A claim whose pods are refused gets none.
func (c *contest) grant(claims []*claim, upTo func(*claim) scaling.Replicas, allowed func(holder, scaling.Accelerators) bool) {
	for i, x := range claims {
		if x.decision.Role != "" {
			c.grantRoles(claims, i, upTo, allowed)
			continue
		}
		for x.limited && x.got < upTo(x) && c.grantOne(x, allowed) {
		}
	}
}

// grantOne gives a claim one more replica and returns true, or sets x.refused and returns false.
func (c *contest) grantOne(x *claim, allowed func(holder, scaling.Accelerators) bool) bool {
	if x.got >= x.have && x.stopped {
		x.refused = scaling.ReasonTargetNotMoving
		return false
	}
	if x.got >= x.have && !allowed(x.holder(), x.gpus()) {
		x.refused = scaling.ReasonOverQuota
		return false
	}
	if !c.stock.place(x.variant, free) {
		x.refused = scaling.ReasonNoStock
		return false
	}
	c.add(x, 1)
	return true
}

// grantRoles gives replicas in turn to the claims of the model of claims[first], which is served in
// parts: always to the role that carries the smaller part of its demand, so that no role takes the
// accelerators that the other needs. It does nothing where an earlier claim is of that model.
func (c *contest) grantRoles(claims []*claim, first int, upTo func(*claim) scaling.Replicas, allowed func(holder, scaling.Accelerators) bool) {
	model := claims[first].decision.Model
	if slices.ContainsFunc(claims[:first], func(x *claim) bool { return x.decision.Role != "" && x.decision.Model == model }) {
		return
	}
	var open []*claim
	for _, x := range claims[first:] {
		if x.decision.Role != "" && x.decision.Model == model && x.limited {
			open = append(open, x)
		}
	}
	for {
		open = slices.DeleteFunc(open, func(x *claim) bool { return x.got >= upTo(x) })
		if len(open) == 0 {
			return
		}
		next := 0
		for i, x := range open {
			if c.carries(x.decision.Part()) < c.carries(open[next].decision.Part()) {
				next = i
			}
		}
		if !c.grantOne(open[next], allowed) {
			open = slices.Delete(open, next, next+1)
		}
	}
}

// carries returns the part of its demand that a role carries with the replicas granted; the number
// of these where the demand is unknown or 0.
func (c *contest) carries(part scaling.Part) float64 {
	of, known := c.roles[part]
	sum := 0.0
	for _, x := range c.claims {
		switch {
		case x.decision.Part() != part:
		case known && of.Demand > 0:
			sum += float64(x.got) * of.PerReplica[x.decision.Variant] / of.Demand
		default:
			sum += float64(x.got)
		}
	}
	return sum
}

// add gives a claim so many more replicas. Replicas that it has and that were lost already
// count in the quotas.
func (c *contest) add(x *claim, replicas scaling.Replicas) {
	if more := x.got + replicas - max(x.got, x.have); more > 0 {
		c.quotas.use(x.holder(), x.variant.GPUs(more), x.variant.Holds(more))
	}
	x.got += replicas
	c.parts[x.decision.Part()] += replicas
}

// hold lets no limited model grow beyond what is already ordered.
func (c *contest) hold() {
	for _, x := range c.claims {
		x.got = x.want
		if most := x.have + x.ordered; x.limited && x.want > most {
			x.got, x.refused = most, scaling.ReasonInventoryUnknown
		}
	}
}

// decide returns the decision of a claim with the step of this stage, where that changes it.
func (c *contest) decide(x *claim) scaling.Decision {
	switch {
	case x.got == x.want || !x.limited:
		return x.decision
	case x.spare:
		return x.decision.Then(scaling.StageCapacity, x.got, scaling.ReasonReturned, fmt.Sprintf("%s with %s given up for %s, which is asked for more than it serves; the others are filled to %.0f %% then",
			max(0, min(x.want, x.have-x.unplaced)-x.got).Text(), c.accelerators(x), x.returnedTo, 100*x.asked()/float64(max(1, x.got)))+c.below(x))
	case x.returnedTo != "":
		return x.decision.Then(scaling.StageCapacity, x.got, scaling.ReasonReturned, fmt.Sprintf("%s with %s go back to %s", max(0, min(x.want, x.have-x.unplaced)-x.got).Text(), c.accelerators(x), x.returnedTo)+c.below(x))
	case x.unplaced > 0 && x.got < x.have:
		return x.decision.Then(scaling.StageCapacity, x.got, scaling.ReasonNoStock, fmt.Sprintf("%d of %d replicas: no node has taken %d of those that there are for %s or longer; each needs %s, and %s of %d; held by %s",
			x.got, x.want, x.unplaced, lostAfter, needs(x.variant), c.stock.describe(x.variant.Accelerator), c.stock.total(x.variant.Accelerator), c.held(x.variant.Accelerator))+c.below(x))
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
	return x.decision.Then(scaling.StageCapacity, x.got, scaling.ReasonNoStock, fmt.Sprintf("%d of %d replicas: each needs %s, and %s of %d; held by %s",
		x.got, x.want, needs(x.variant), c.stock.describe(x.variant.Accelerator), c.stock.total(x.variant.Accelerator), c.held(x.variant.Accelerator))+c.below(x))
}

// below describes a decision that is cut below its minimum.
func (c *contest) below(x *claim) string {
	if x.got < x.variant.Bounds.Min {
		return fmt.Sprintf("; that is below minReplicas, %d", x.variant.Bounds.Min)
	}
	return ""
}

func (c *contest) accelerators(x *claim) string { return accelerators(x.gpus(), x.variant.Accelerator) }

func accelerators(n scaling.Accelerators, name string) string {
	return fmt.Sprintf("%d %s", n, cmp.Or(name, "accelerators of an unknown type"))
}

// needs describes the accelerators and the nodes that one replica of a variant needs.
func needs(v scaling.Variant) string {
	var all []string
	pods := v.PodsOfReplica()
	for _, p := range pods {
		on := accelerators(p.GPUs, v.Accelerator) + " on one node"
		switch {
		case p.Pods > 1:
			on += fmt.Sprintf(" for each of %d pods", p.Pods)
		case len(pods) > 1:
			on += " for one pod"
		}
		all = append(all, on)
	}
	return strings.Join(all, " and ")
}

// holdersAtMost is how many holders of accelerators a message names.
const holdersAtMost = 3

// held names the holders of the accelerators of a type, the largest first.
func (c *contest) held(accelerator string) string {
	holders := slices.DeleteFunc(slices.Clone(c.claims), func(x *claim) bool { return x.variant.Accelerator != accelerator || x.have == 0 })
	slices.SortFunc(holders, func(a, b *claim) int {
		return cmp.Or(cmp.Compare(b.variant.GPUs(b.have), a.variant.GPUs(a.have)), a.variant.Key.Compare(b.variant.Key))
	})
	if len(holders) == 0 {
		return "none of the variants"
	}
	return scaling.FirstOf(holders, holdersAtMost, func(x *claim) string {
		return fmt.Sprintf("%s (%d)", x.variant.Key, x.variant.GPUs(x.have))
	})
}
