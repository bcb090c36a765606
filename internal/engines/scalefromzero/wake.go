package scalefromzero

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/queueing"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// How long a variant that was called may take to become Ready.
const (
	// patienceStartUp is a factor on the usual start-up time, which varies with where the
	// image and the weights are cached.
	patienceStartUp = 1.5
	// unplacedGrace is how long a pod may wait for a node. A node that is freed and the
	// scheduler's next try take less. Adding a node mostly takes longer; a variant that was
	// given up still serves if its node comes first.
	unplacedGrace = time.Minute
)

// Input is the input of the decision about one model.
type Input struct {
	Snapshot scaling.Snapshot
	History  memory.History
	// Inventory is the inventory of accelerators. While it is unknown, every variant fits.
	Inventory scaling.Inventory
	// Objective is the objective of the model; Sizing says for what share of its requests. With the
	// zero value replicas are sized without an objective.
	Objective scaling.Objective
	Sizing    queueing.Options
}

// Outcome is the decision about one model.
type Outcome struct {
	// Decisions has one decision for every variant that can have one, sorted by Variant. Nil where
	// the optimizer decides: a replica is or may be Ready, or no request waits or arrives.
	Decisions []scaling.Decision
	// Called is the time since when each variant is called, without a Ready replica of the model;
	// it is to be kept as memory.Past.Called. A variant without an entry is not called.
	Called map[scaling.VariantKey]time.Time
}

// Decide starts replicas of the model if requests wait or arrive for it and no replica of it is
// Ready. It is pure, and the order of its input does not matter.
func Decide(in Input) Outcome {
	s := survey(in)
	if s.ready {
		return Outcome{}
	}
	if !s.wanted() {
		return Outcome{Called: s.calledVariants()}
	}
	next := s.call()
	target := s.receiver()
	out := Outcome{Called: s.calledVariants()}
	for _, c := range s.candidates {
		if d, ok := s.decide(c, c == target, c == next); ok {
			out.Decisions = append(out.Decisions, d)
		}
	}
	slices.SortFunc(out.Decisions, func(a, b scaling.Decision) int { return a.Variant.Compare(b.Variant) })
	return out
}

// model is the state of a model at zero.
type model struct {
	Input
	candidates []*candidate // cheapest first
	ready      bool         // a replica is Ready, or may be: a target cannot be read now
	waiting    float64      // requests
	arriving   float64      // requests/s
}

// candidate is one variant.
type candidate struct {
	scaling.Variant
	past        memory.Past
	decided     bool             // past exists
	lastDesired scaling.Replicas // replicas if the cycle changes nothing
	called      time.Time        // zero if it is not called
	mayBeCalled bool             // its target is readable, it is not paused, and its maximum is above 0
	fits        bool             // a node has the accelerators of one replica
	awaited     bool             // a node has promised as many to a waiting pod
}

func survey(in Input) *model {
	m := &model{Input: in, waiting: in.Snapshot.Load.GatewayQueue.Or(0)}
	for _, r := range in.Snapshot.Replicas {
		m.waiting += r.Waiting().Or(0)
		m.ready = m.ready || r.Ready
	}
	for _, v := range in.Snapshot.Variants {
		c := &candidate{Variant: v, lastDesired: in.History.LastDesired(v)}
		c.past, c.decided = in.History[v.Key]
		c.called = c.past.Called
		c.mayBeCalled = v.Replicas.Observed && !v.Paused && v.Bounds.Max > 0
		c.fits, c.awaited = fits(v, in.Inventory)
		if c.called.IsZero() && c.mayBeCalled && v.Replicas.Current > 0 {
			c.called = in.Snapshot.At // the order did not come from a call
		}
		m.ready = m.ready || in.History.MayServe(v, in.Snapshot.At)
		m.candidates = append(m.candidates, c)
	}
	slices.SortFunc(m.candidates, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(a.Cost, b.Cost), cmp.Compare(a.GPUsPerReplica, b.GPUsPerReplica), a.Key.Compare(b.Key))
	})
	m.lengths()
	m.arriving = m.arrivals()
	return m
}

func (m *model) wanted() bool { return m.waiting > 0 || m.arriving > 0 }

// calledVariants lists the variants that stay called: all of them while requests wait, otherwise
// those with an order.
func (m *model) calledVariants() map[scaling.VariantKey]time.Time {
	out := map[scaling.VariantKey]time.Time{}
	for _, c := range m.candidates {
		if !c.called.IsZero() && (m.wanted() || c.lastDesired > 0) {
			out[c.Key] = c.called
		}
	}
	return out
}

// call calls one more variant if none of the called ones may still become Ready. It returns that
// variant, nil if there is none to call. A variant that fits a node comes before one that does not;
// a node may be added for the latter.
func (m *model) call() *candidate {
	if slices.ContainsFunc(m.candidates, m.hopeful) {
		return nil
	}
	for _, fitting := range []bool{true, false} {
		for _, c := range m.candidates {
			if c.mayBeCalled && c.called.IsZero() && c.fits == fitting {
				c.called = m.Snapshot.At
				return c
			}
		}
	}
	return nil
}

// hopeful reports whether the variant was called and may still become Ready.
func (m *model) hopeful(c *candidate) bool {
	waited := m.Snapshot.At.Sub(c.called)
	return c.mayBeCalled && !c.called.IsZero() && !c.refused() && waited <= c.patience() &&
		(c.Replicas.Unschedulable == 0 || waited <= unplacedGrace && !m.othersHaveRoom(c))
}

// refused reports whether a constraint leaves the variant none of the replicas that it was
// called for.
func (c *candidate) refused() bool { return c.lastDesired == 0 && !c.past.Refused.IsZero() }

// othersHaveRoom reports whether no node has, or has promised, room for the variant, while a node
// has, or had, room for another variant.
func (m *model) othersHaveRoom(c *candidate) bool {
	return !c.fits && !c.awaited && slices.ContainsFunc(m.candidates, func(o *candidate) bool {
		return o.mayBeCalled && (o.fits || o.lastDesired > 0 && o.Replicas.Unschedulable == 0)
	})
}

// receiver returns the variant that serves the backlog: the cheapest that may become Ready;
// otherwise, of those called and refused, the one refused longest ago; otherwise the cheapest that
// was called; nil if none was called.
func (m *model) receiver() *candidate {
	var called, refused *candidate
	for _, c := range m.candidates {
		switch {
		case m.hopeful(c):
			return c
		case !c.mayBeCalled || c.called.IsZero():
			continue
		case c.refused() && (refused == nil || c.past.Refused.Before(refused.past.Refused)):
			refused = c
		}
		called = cmp.Or(called, c)
	}
	return cmp.Or(refused, called)
}

// passedOver names the variants cheaper than c that were not called because no node has room for
// one, while c fits; "" for none.
func (m *model) passedOver(c *candidate) string {
	var names []string
	for _, o := range m.candidates {
		if o == c || !c.fits {
			break
		}
		if o.mayBeCalled && o.called.IsZero() && !o.fits {
			names = append(names, o.Key.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "no node has room for replicas of " + scaling.Few(names)
}

// decide decides about one variant: the receiver gets the replicas that the backlog needs, the
// others hold. It returns false for a variant that has no last decision and whose target cannot be
// read.
func (m *model) decide(c *candidate, receives, isNext bool) (scaling.Decision, bool) {
	d := scaling.Decision{Variant: c.Key, Model: c.Model, Current: c.Replicas.Current}
	step := func(to scaling.Replicas, reason scaling.Reason, detail string) (scaling.Decision, bool) {
		return d.Then(scaling.StageRetention, to, reason, detail), true
	}
	switch {
	case !c.Replicas.Observed && !c.decided:
		return d, false
	case !c.Replicas.Observed:
		d.Current, d.Fallback = c.lastDesired, true
		return step(c.lastDesired, scaling.ReasonTargetUnreadable, "the last decision holds: "+c.Missing)
	case c.Undecidable != "":
		return step(max(c.lastDesired, c.Replicas.Current), scaling.ReasonHeld, c.Undecidable)
	case c.Freeze.Allow == scaling.AllowNone:
		return step(c.lastDesired, scaling.ReasonFrozen, fmt.Sprintf("requests wait, and nothing is started: no change, %s", c.Freeze))
	case c.Paused:
		return step(c.lastDesired, scaling.ReasonPaused, fmt.Sprintf("the variant is paused: its decision is frozen at %d", c.lastDesired))
	case receives:
		return step(m.receive(c, isNext))
	case c.lastDesired > 0 && !m.hopeful(c):
		return step(c.lastDesired, c.fault(), "not Ready in time: what was ordered stays until another serves")
	}
	return step(c.lastDesired, scaling.ReasonOtherVariant, "another variant is called")
}

// receive returns the number of replicas that the receiver gets, and why.
func (m *model) receive(c *candidate, isNext bool) (to scaling.Replicas, reason scaling.Reason, detail string) {
	need := m.need(c)
	reason, detail = scaling.ReasonRequestsWaiting, need.detail(m, c.StartUp > 0)
	if others := m.inVain(c); others != "" {
		reason, detail = scaling.ReasonNotReadyInTime, detail+"; "+others
	} else if passed := m.passedOver(c); passed != "" {
		detail += "; " + passed
	} else if isNext && !c.fits {
		detail += "; no node is known to have the accelerators of one"
	}
	to = max(c.lastDesired, need.replicas)
	switch {
	case c.lastDesired == 0 || m.hopeful(c):
	case m.oneIsBroken(c):
		to = 2
		detail += "; 1 replica is not Ready in time and may be broken, one more is tried"
	default:
		to = c.lastDesired // further replicas would not start either
	}
	return min(c.Bounds.Max, to), reason, detail
}

// oneIsBroken reports whether only one replica was ordered, of a variant that has started before,
// no other variant has an order, and that replica is not Ready in time. Its pod may be broken, and
// another pod may start. Several replicas that are not Ready have a common cause, and a variant
// that no node takes has another.
func (m *model) oneIsBroken(c *candidate) bool {
	return c.lastDesired == 1 && c.StartUp > 0 && c.Replicas.Current == 1 && c.Replicas.Unschedulable == 0 &&
		!slices.ContainsFunc(m.candidates, func(o *candidate) bool { return o != c && o.lastDesired > 0 })
}

// inVain names the first other called variant that will not serve, and says why; "" for none.
func (m *model) inVain(but *candidate) string {
	for _, c := range m.candidates {
		if c != but && c.mayBeCalled && !c.called.IsZero() && !m.hopeful(c) {
			switch {
			case c.refused():
				return fmt.Sprintf("%s is refused its accelerators by the stock or a quota", c.Key.Name)
			case c.Replicas.Unschedulable > 0:
				return fmt.Sprintf("no node takes %d of %d replicas of %s", c.Replicas.Unschedulable, c.Replicas.Current, c.Key.Name)
			}
			return fmt.Sprintf("%s is not Ready after %s, it may take %s", c.Key.Name, m.Snapshot.At.Sub(c.called).Round(time.Second), c.patience())
		}
	}
	return ""
}

// fault returns the reason why the ordered replicas do not serve.
func (c *candidate) fault() scaling.Reason {
	switch {
	case c.Replicas.Unschedulable > 0:
		return scaling.ReasonPodsUnschedulable
	case c.Replicas.Current < c.lastDesired:
		return scaling.ReasonTargetNotMoving
	}
	return scaling.ReasonPodsNotReady
}

// patience returns how long the variant may take from the call to Ready.
func (c *candidate) patience() time.Duration { return c.Patience(patienceStartUp) }

// fits reports whether nodes have the accelerators of one replica, and whether as many are promised
// to waiting pods of any variant. While the stock is unknown it returns true and false.
func fits(v scaling.Variant, stock scaling.Inventory) (free, promised bool) {
	if !stock.Known {
		return true, false
	}
	promised = slices.ContainsFunc(stock.Groups, func(g scaling.NodeGroup) bool {
		return g.Accelerator == v.Accelerator && g.Promised >= v.GPUs(1)
	})
	return stock.Places(v), promised
}
