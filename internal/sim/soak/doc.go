// Package soak looks for defects of the deciding core by itself: it draws fleets, loads and faults
// at random, lets cycle.Setup.Decide run them for days of virtual time (internal/sim/plant), and
// judges every cycle by rules that hold for any core worth having:
//
//	starves    requests wait, more arrive than the Ready replicas complete at their
//	           best, a variant could grow, and nothing is ordered for two start-ups and
//	           the time that an order counts
//	slow       the same, and the order is too small within that time
//	waste      the fleet costs more than 1.3 times the cheapest mix that carries the load,
//	           for three hours beyond what pace and bounds explain
//	hoards     an order brings the fleet beyond three times the need of the load of three hours
//	           and of working the backlog off in ten minutes
//	turns      at constant load, six hours after anything changed and a move to cheaper
//	           variants is over at the given pace, the replicas of a variant change their
//	           direction more than once in six hours
//	blind      a decision goes below the last one while most Ready pods report nothing
//	bounds     a decision is outside of the bounds of its variant
//	numbers    a plan or a history cannot be written as JSON: NaN, an infinity
//	order      the order of the input changes a decision
//
// Slow, waste, hoards and turns are limits: of random cases, one in a hundred may exceed one.
//
// The need of a fleet is measured, not assumed: [Needs] runs the same engine on a fleet without
// faults that is too large, and counts the replicas that it keeps. Limits allow for what the user
// asked for: pace, bounds, an HPA's tolerance.
//
// [Reduce] makes a Case that violates a rule smaller while it still does. The case is written as
// text that can be read again: testdata holds the cases found.
package soak
