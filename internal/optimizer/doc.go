// Package optimizer turns the analysis of a model into replicas of its
// variants: which one grows when capacity is short, which one gives a replica up
// when there is too much, and what holds while neither can be known.
//
// Growth goes to the cheapest variant that can take it, reduction comes from the
// most expensive one that may give, one replica of a model in a cycle, ties by
// name. A variant at zero replicas is a candidate like any other.
//
// Each replica that was decided on and does not serve is waited for on its own, since
// it was ordered or lost (scaling.Waits):
//
//	starting   ordered, for at most twice the usual start-up (1 minute at least, 5
//	           while that is unknown); 2 minutes where the target was not asked for it;
//	           the usual start-up where no node takes its pod. It counts as supply, and
//	           readings wait for it: the load of a fleet that changes says nothing
//	           about the fleet that it will be
//	returning  lost, for as long. It counts as supply, and nothing waits for it
//	late       ordered or lost, for longer. It does not count, it is named, and the
//	           rest is planned without it. It stays decided, so that a node that is
//	           added can still take it, and is the first to be cancelled when there is
//	           too much
//
// A replica that is Ready and reports nothing serves. It is idle for growth and full
// for a reduction. While most of the Ready replicas of a model report nothing fresh, none
// is given up.
//
// A variant of whose orders a few are late, a tenth of what serves, grows like any
// other: bad nodes must not pin a model. With up to half as many late it grows where
// nothing else can, by half at most, and if anything of its last order arrived, else by
// one after a while: an image that never starts must not be ordered again and again.
// Replicas that were lost, as in a rollout, keep nobody from growing. A target that does not take a step which
// an HPA takes for no difference is asked for one that it does not.
//
// A target has the replicas that were decided on (settled), more (leaving: the removal
// goes on while the others can carry the load, is cancelled when they cannot, and
// blocks no growth), or cannot be read (unreadable: its decision holds, and counts
// unless the target is absent: it does not exist, or nothing was seen of it for five
// minutes). A paused variant is frozen: it keeps its decision, is no candidate for
// anything, and the others of the model do not wait for it.
//
// A reduction that growth undid at the same load was wrong (scaling.Turns), unless the
// fleet was another one by then: replicas moved, or were lost. What is known then is that
// the fleet it left is too small for that load: where what requests attain corrects what
// replicas carry, and all are of one variant, the model keeps a replica more than that for
// eight hours, unless the load falls. Elsewhere a fleet does not tell of another one, and the
// model rests while the load is the same: it keeps what the fleet before cost, or a quarter
// more where growth went beyond it. A model that rests does not move: for an hour after its
// first turn, and for eight after another one, even if the first is forgotten by then. The next
// reduction leaves a margin that grows with the turns.
//
// That is Decide, for spare capacity: it knows a direction, and goes a step at a
// time. Where analyzers know the demand of a model, and what a replica of each
// variant carries of it, Cover takes the cheapest replicas that carry it all at
// once:
//
//	minimize  sum cost(v) n(v)
//	so that   sum carries(a, v) n(v) >= demand(a)    for every analyzer a
//
// by a small exact search, ties by cost, replicas, name. Analyzers meet as rows of
// one problem, each divided by its own demand, so that no units mix: whichever
// asks for more binds, and less is only possible where all agree. What was ordered
// counts, and more can be ordered on top of it, since what arrives does not depend
// on the fleet; a demand that was read off the replicas waits as in Decide. A variant
// of which it is not known what it carries of a demand that is not read off replicas
// is no candidate while that is known of another.
//
//	grow    what stands carries less than the demand. Of a model whose requests are
//	        shared out by variant, variants that are no help give up meanwhile what is
//	        beyond their own part
//	shrink  the cheapest part of the fleet would be filled to 90 % at most, or to
//	        80 % where the last change was growth: a tenth of noise up and a tenth
//	        down are 0.9/1.1 = 82 % of what was too little
//	        (95 % and 90 % where what requests attain corrects what replicas carry)
//	move    10 minutes after the last change, to a fleet that saves more than a
//	        tenth of what comes and goes; the old replicas go once the new report.
//	        Until the model is cheaper for it, there is no other move for six hours.
//	        Analyses that are read off the replicas need not call for a reduction: where
//	        no replica can go, a fleet of other variants with as much room as after
//	        growth may carry the same
//
// Share lets models that are limited by the stock of accelerators use their other
// variants where the cheapest are short, by the exact solver of pkg/solver.
//
// The functions here are pure, and indifferent to the order of their input.
package optimizer
