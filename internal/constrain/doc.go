// Package constrain holds what may change a plan after the optimizer: a chain
// of pure stages, each of which adds a step to the decisions that it changes and
// says why. Chain is the only place that puts them in order.
//
// Bounds keeps decisions within minReplicas and maxReplicas; Stabilize keeps
// them from changing faster than a Policy allows. Bounds are hard: a minimum
// that is raised is reached at once, whatever the pace.
package constrain
