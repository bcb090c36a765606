// Package query is the catalogue of what the autoscaler asks a source of metrics:
// one Question for each thing that is asked at once, answered for every pod and
// every model of the cluster. The number of questions is a constant, not a
// function of the fleet.
//
// An answer is rows, and every row is one number of a Quantity, which has a unit
// and a scope: what one row is about. Latencies are milliseconds from here on,
// KV caches are tokens.
//
// # Recipes
//
// How a serving engine's series make up a quantity is data: a Recipe per engine (RecipeOf) lists
// the names that the metric has had, the labels that tell apart things that add up, and what is
// done with the samples. Two interpreters read it. Request.PromQL renders it for a store that
// speaks PromQL, whose rows RowOf reads; internal/collector/scrape evaluates it on pages that it
// scraped itself. A further engine needs a table of recipes and an entry in engine.go, and no
// change of the interpreters. Two kinds of quantities have no recipe: those about the pages
// themselves (PageTime, ScrapeInterval: from the engine's Witness) and those about endpoint pickers
// (Gateway).
//
// # Rules
//
// Duplicates fold first. Two jobs may scrape one pod, two Prometheus replicas may store it, and
// some vLLM versions write one series per process. Of the series that agree in namespace, pod,
// model, rank and By, the largest value counts. Rates fold, never raw counters: that would mix the
// counters of several processes.
//
// Ranks come second. The ranks of one pod hold different requests, so counts and rates add up over
// them. Of KV cache usage the worst rank counts, because that rank preempts.
//
// Twins are the names of one metric. Each name is folded by itself, and the first that a pod has
// counts, so that a version which exports both counts once. Names under another prefix are twins
// too (Prefixes): a monitor may store a pod under two. `or` unites them, and not a pattern of
// names, because a function over a range drops the name, and two series that differ in the name
// alone would make the expression an error.
//
// An addend that is missing adds nothing. In PromQL addends are therefore united
// under a label of their own and summed: `a + b` has no row where one side has
// none.
//
// The first value of a counter is not counted. A rate is the difference of two samples. A series
// that is born with the first thing that it counts (of SGLang, of endpoint pickers, of a new finish
// reason) therefore misses that thing in one window. vLLM's other counters begin at 0 with the
// process. To count from 0 where the witness was there before would take two more selectors for
// each counter; a Prometheus that ingests created timestamps as zero samples (feature flag
// created-timestamp-zero-ingestion) needs no help. The error is too few, once in the life of a
// series, and the growth of the gauges makes up for it while the requests are under way.
//
// # Expressions
//
// The cost of PromQL is the selection of series: on 10,000 pods some 30 ms for each selector, while
// folding and adding up take a few. Expressions therefore name a series as rarely as they can, put
// labels on rows after these were added up, and ask about several quantities at once only where
// rows are few: those rows carry LabelStat. Expensive questions are asked about a few pods
// (Request.Pods), or only where they matter (Request.Aged).
//
// Text that users write, namespaces and model names, enters an expression as a quoted string and,
// among alternatives, as an escaped regular expression.
//
// The package knows names and shapes. It sends nothing, and it does not join, judge or default
// answers: internal/collector does.
package query
