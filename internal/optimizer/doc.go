// Package optimizer turns the analysis of a model into replicas of its
// variants: which one grows when capacity is short, which one gives a replica up
// when there is too much, and what holds while neither can be known.
//
// Growth goes to the cheapest variant that can take it, reduction comes from the
// most expensive one that may give, one replica of a model in a cycle, ties by
// name. A variant at zero replicas is a candidate like any other. What was
// ordered and has not arrived makes the model wait, but never for ever:
//
//	                 desired > current, or replicas that do not report
//	  settled  ───────────────────────────────────────────────> arriving
//	     ^                                                          │ no progress for twice the
//	     │ arrived                                                  │ usual start-up (1 min at least),
//	     ├──────────────────────────────────────────────────────────┤ 5 min while that is unknown
//	     │                                                          v
//	     └───────────────────────────────────────────────────── overdue
//
//	arriving  the whole model holds
//	overdue   the order no longer counts and is named; it stands, so that a
//	          cluster autoscaler can still fill it, but the variant gets no other,
//	          the rest is planned without it, and it is the first to be cancelled
//	          when there is too much
//	          (replicas beyond those asked for, as in a rollout, make it wait too,
//	          but are never overdue: nothing is missing)
//	leaving   desired < current: the removal goes on while the others can carry
//	          the load, and is cancelled when they cannot; it blocks no growth
//	frozen    a paused variant: it keeps its decision, is no candidate for
//	          anything, and the others of the model do not wait for it
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
// on the fleet; a demand that was read off the replicas waits as in Decide.
//
//	grow    what stands carries less than the demand
//	shrink  the cheapest part of the fleet would be filled to 90 % at most, or to
//	        80 % where the last change was growth: a tenth of noise up and a tenth
//	        down are 0.9/1.1 = 82 % of what was too little
//	move    10 minutes after the last change, to a fleet that saves more than a
//	        tenth of what comes and goes; the old replicas go once the new report
//
// Share lets models that are limited by the stock of accelerators use their other
// variants where the cheapest are short, by the exact solver of pkg/solver.
//
// The functions here are pure, and indifferent to the order of their input.
package optimizer
