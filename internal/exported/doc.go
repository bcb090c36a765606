// Package exported reads back from a Prometheus what managers exported of their variants: the
// replicas that ran, those that were decided on or advised, their cost and accelerators, and the
// arrival rate of each model. It converts them to the cycles that internal/shadow compares. It does
// not contact Prometheus itself: its callers pass a query.Store.
package exported
