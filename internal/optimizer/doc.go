// Package optimizer turns the analysis of a model into replicas of its variants: which
// variant grows when supply is short, which one gives a replica up when there is too much,
// and which replicas hold while neither can be known.
//
// The cheapest variant that can grow grows; the most expensive one that may give up a
// replica shrinks. Both change one replica of a model in a cycle. Ties go by name. A
// variant at zero replicas is a candidate like any other.
//
// The optimizer tracks each decided replica that does not serve, from the time it was
// ordered or lost (memory.Waits):
//
//	starting   ordered, for at most twice the usual start-up (1 minute at least, 5
//	           while that is unknown); 2 minutes where the target was not asked for it;
//	           the usual start-up where no node takes its pod. It counts as supply, and
//	           the decision waits for it: the load of a changing fleet does not
//	           predict the load of the fleet after the change
//	returning  lost, for as long. It counts as supply, and no decision waits for it
//	late       ordered or lost, for longer. It does not count as supply, the decision
//	           names it, and plans without it. It stays decided, so that a new node
//	           can still take it. It is the first to be cancelled when there is too
//	           much supply
//
// A Ready replica that reports nothing serves. It counts as idle for growth and as full for
// a reduction. While most Ready replicas of a model report nothing fresh, none is given up.
//
// A variant with a few late replicas, up to a tenth of the serving ones, grows like any
// other: bad nodes must not block a model. With more late replicas, up to half of the
// serving ones, it grows only where no other variant can, and by half at most, if any
// replica of its last order became Ready. If none did, it grows by one replica after a
// while: an image that never starts must not be ordered again and again. Lost replicas, as
// in a rollout, never prevent growth. Where an HPA ignores a step as within its tolerance,
// the optimizer asks for a larger step.
//
// A target is in one of three phases. Settled: it has the decided replicas. Leaving: it has
// more. The removal continues while the other replicas can carry the load, is cancelled
// when they cannot, and blocks no growth. Unreadable: its decision holds, and counts unless
// the target is absent, which means that it does not exist or was not seen for five
// minutes. A paused variant is frozen: it keeps its decision, never grows or shrinks, and
// the other variants of the model do not wait for it.
//
// A reduction that growth undid at the same load was wrong (memory.Turns), unless the
// fleet changed in between: replicas moved, or were lost. The fleet after that reduction is
// known to be too small for that load. Where attainment corrects the capacity of replicas,
// and at most one variant has replicas, the model keeps one replica more than that fleet for eight
// hours, unless the load falls. Otherwise fleets are not comparable, and the model holds
// while the load is the same: it keeps the cost of the fleet before the reduction, or a
// quarter more where growth exceeded that. A model that holds does not move to other
// variants: for an hour after its first turn, and for eight hours after a further one, even
// if the first is forgotten by then. The next reduction leaves a margin that grows with the
// number of turns.
//
// Decide implements these rules for spare capacity: it knows only a direction, and goes one
// step at a time. Where analyzers know the demand of a model and what a replica of each
// variant carries, Cover takes the cheapest replicas that carry the whole demand at once:
//
//	minimize  sum cost(v) n(v)
//	so that   sum carries(a, v) n(v) >= demand(a)    for every analyzer a
//
// by a small exact search; ties go by cost, replicas, name. Each analyzer is one row of the
// problem, divided by its own demand, so that units do not mix. The row that asks for most
// binds, and a reduction needs all of them. Ordered replicas count, and more can be ordered
// on top, because arrivals do not depend on the fleet. A demand that was read off the
// replicas waits as in Decide. For a demand that was not read off the replicas, a variant
// with unknown capacity is no candidate while the capacity of another variant is known.
//
//	grow    the running and ordered replicas carry less than the demand. Where the
//	        gateway shares requests by variant, variants that cannot help give up
//	        the replicas that they do not need themselves
//	shrink  the cheapest part of the fleet would be filled to 90 % at most, or to
//	        80 % where the last change was growth: a tenth of noise up and a tenth
//	        down are 0.9/1.1 = 82 % of the load that was too large
//	        (95 % and 90 % where attainment corrects the capacity of replicas)
//	move    10 minutes after the last change, to a fleet that saves more than a
//	        tenth of the cost of the added and removed replicas; the old replicas
//	        are removed once the new ones report.
//	        There is no other move until the model is cheaper for it, or another
//	        variant has grown.
//	        Analyses that are read off the replicas need not call for a reduction: where
//	        no replica can be removed, other variants with as much room as after
//	        growth may carry the same demand
//
// Share lets limited models use their other variants where the cheapest ones have too few
// accelerators. It uses the exact solver of pkg/solver.
//
// The functions here are pure, and the order of their input does not matter.
package optimizer
