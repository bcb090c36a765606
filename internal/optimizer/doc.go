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
// The functions here are pure, and indifferent to the order of their input.
package optimizer
