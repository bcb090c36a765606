// Package query is the catalogue of what the autoscaler asks a metrics store:
// one Quantity per number that a decision needs, and for each one PromQL
// expression that answers for every pod and every model of the cluster at once.
// The number of expressions is therefore a constant, not a function of the
// fleet.
//
// A Quantity has a unit, a scope (what one row of its answer is about) and one
// column per serving engine: the expression in that engine's metric names. The
// columns of a quantity are joined by `or` into a single expression, so another
// engine is another column and not another query. Units are converted here, at
// the edge that knows the foreign ones: latencies leave in milliseconds.
//
// # Shapes
//
// Three rules give every expression its form.
//
// Duplicates fold first. One pod may be scraped by two jobs or stored by two
// Prometheus replicas, and some vLLM versions write one series per process
// (label pid). The inner `max by (identity)` folds these, on rates and never on
// raw counters, whose incarnations it would mix.
//
// Ranks come second. The ranks of one pod (label engine) hold different
// requests, so counts and rates add up over them; of KV cache usage the worst
// rank counts, because it is the one that preempts.
//
// Twins are one quantity. Where a metric was renamed, each name is folded by
// itself and the results joined by `or`, the preferred name first, so that a
// version that exports both counts once.
//
// The package knows names and shapes. It sends nothing, and it does not join,
// judge or default what comes back: that is internal/collector.
package query
