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
// How a serving engine's series make up a quantity is data: a Recipe, for each
// engine (RecipeOf) the names the metric has had, which labels tell apart things
// that add up, and what is done with the samples. Two interpreters read it.
// Request.PromQL renders it for a store that speaks PromQL, whose rows RowOf
// reads; internal/collector/scrape evaluates it on pages that it scraped itself.
// Another engine is another table of recipes and another line in Engines, and no
// change of either. What is not a recipe is about the pages themselves
// (PageTime, ScrapeInterval: of the engine's Witness) or about endpoint pickers
// (Gateway).
//
// # Rules
//
// Duplicates fold first. One pod may be scraped by two jobs or stored by two
// Prometheus replicas, and some vLLM versions write one series per process. The
// largest value among series that agree in namespace, pod, model, rank and By
// counts: of rates and never of raw counters, whose incarnations it would mix.
//
// Ranks come second. The ranks of one pod hold different requests, so counts and
// rates add up over them; of KV cache usage the worst rank counts, because it is
// the one that preempts.
//
// Twins are one metric. Where it was renamed, each name is folded by itself and
// the first that a pod has counts, so that a version which exports both counts
// once. Names under another prefix are twins too (Prefixes): a monitor may store a pod
// under two. They are united by `or` and not selected by a pattern of names, because a
// function over a range drops the name, and two series that differ in nothing else
// would make the expression an error.
//
// An addend that is missing adds nothing. In PromQL addends are therefore united
// under a label of their own and summed: `a + b` has no row where one side has
// none.
//
// What a counter shows first is not counted. A rate is the difference of two
// samples, so of a series that is born with the first thing that it counts, as
// those of SGLang, of endpoint pickers and of a new finish reason are, one window
// misses that thing. vLLM's other counters begin at 0 with the process. To count
// from 0 where the witness was there before would take two more selectors for
// each counter; a Prometheus that ingests created timestamps as zero samples
// (feature flag created-timestamp-zero-ingestion) needs no help. The error is one
// of too few, once in the life of a series, and the growth of the gauges stands
// against it while the requests are under way.
//
// # Expressions
//
// What costs in PromQL is to select series: on 10,000 pods some 30 ms for each
// selector, whatever is then done with it, while folding and adding up take a
// few. Expressions therefore name a series as rarely as they can, put labels on
// rows after these were added up, and ask about two quantities at once only
// where rows are few: those of a question about several carry LabelStat. What is
// dear is asked about a few pods (Request.Pods), or where it matters
// (Request.Aged).
//
// Text of users, namespaces and model names, enters an expression as a quoted
// string and, among alternatives, as an escaped regular expression.
//
// The package knows names and shapes. It sends nothing, and it does not join,
// judge or default what comes back: that is internal/collector.
package query
