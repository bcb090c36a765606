// Package constrain holds the stages that may change a plan after the optimizer: a chain of pure
// stages, each of which adds a step to the decisions that it changes and says why. Chain is the
// only place that puts them in order.
//
// Retention scales a model to zero when it is known to have been idle for its retention period, and
// keeps it above zero otherwise. Resume gives a model its earlier size when its load comes back
// after a lull. Bounds keeps decisions within minReplicas and maxReplicas; Stabilize keeps them
// from changing faster than a Pacing allows; Approve lets reductions wait for approval; Freeze
// holds decisions during freeze windows; Capacity lets them grow only onto accelerators that exist
// and that their namespace may use, and gives back replicas that no node has taken; Roles changes
// prefill and decode of a model together. Bounds override pace: a raised minimum is reached at
// once. Capacity overrides bounds: a decision that Capacity cuts below its minimum says so.
package constrain
