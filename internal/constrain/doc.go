// Package constrain holds what may change a plan after the optimizer: a chain
// of pure stages, each of which adds a step to the decisions that it changes and
// says why. Chain is the only place that puts them in order.
//
// Retention takes a model to zero that is known to have been idle for its
// retention period, and keeps it from zero otherwise; Resume gives one its size again
// whose load comes back after a lull. Bounds keeps decisions within
// minReplicas and maxReplicas; Stabilize keeps them from changing faster than a
// Policy allows; Capacity lets them grow only onto accelerators that there are and
// that their namespace may use, and gives back what no node has taken. Bounds are
// hard: a minimum that is raised is reached at once, whatever the pace. What there
// is, is harder: a decision that it cuts below its minimum says so.
package constrain
