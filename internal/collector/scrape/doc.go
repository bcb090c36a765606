// Package scrape answers the catalogue of internal/query without a metrics store: it scrapes pages
// itself, keeps a few minutes of them, and evaluates the recipes of the catalogue over that
// history. Two backends use it:
//
//	pods  scrapes the serving pods, for clusters without Prometheus and for
//	      reactions faster than a scrape interval
//	epp   scrapes the endpoint pickers of the gateway, whose pages report for the
//	      pods of their pools: fewer pages, and fewer numbers
//
// Both read the queues of the endpoint pickers, where there are any.
//
// # The same numbers
//
// A recipe means the same here as in PromQL: instant values look back at most five minutes and end
// with a failed scrape, as they do at a staleness marker; windows are open at their beginning and
// closed at their end; rates absorb counter resets and extrapolate to the ends of the window as
// Prometheus does. Duplicates within a page (series of several processes) fold by their largest
// value. test/promql compares the two on the same pages.
//
// # What each backend reports
//
//	                      pods  epp
//	KV cache usage         x    mean of the pool, the same for each of its pods
//	queue length           x    x
//	running requests       x    mean of the pool
//	KV cache capacity      x
//	generating, stuck pods x
//	completions, growth    x    requests sent on
//	lengths, TTFT, ITL     x    where the picker measures them
//	prefix hits, buckets   x
//	gateway queue          x    x
//	idle since             x    of the pool
//
// The time since when a model is idle reaches back to the first page that this process scraped,
// further than the pages that are kept.
//
// A number that a backend does not report has no rows, and the collector treats it as any other
// missing number.
//
// # Memory
//
// Pages are kept for two minutes, or the window where that is longer. The names and labels of their
// series are kept once for all pages that have the same ones, as those of one model do; each page
// adds only its numbers.
//
// The user who deployed a pod controls its page, and a label makes a pod an endpoint picker. So a
// page is limited in bytes and in series, and the pages of each namespace are limited together
// (internal/budget): a namespace over its budget loses the older pages of its heaviest targets, and
// no other does.
package scrape
