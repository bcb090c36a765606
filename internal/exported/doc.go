// Package exported reads back from a Prometheus what managers exported of their variants: the replicas that
// ran, those that were decided on or advised, their cost and accelerators, and the arrival rate of each model.
// It makes of them the looks that internal/shadow compares. It reaches no Prometheus itself: see [Store].
package exported
