// Package scrape answers the catalogue of internal/query without a metrics
// store: it scrapes pages itself, keeps a few minutes of them, and evaluates the
// recipes of the catalogue over that history. Two backends stand on it:
//
//	pods  scrapes the serving pods, for clusters without Prometheus and for
//	      reactions faster than a scrape interval
//	epp   scrapes the endpoint pickers of the gateway, whose pages speak for the
//	      pods of their pools: fewer pages, and fewer numbers
//
// Both read the queues of the endpoint pickers, where there are any.
//
// # The same numbers
//
// A recipe means the same here as in PromQL: instant values look back at most
// five minutes and end with a failed scrape, as they do at a staleness marker;
// windows are open at their beginning and closed at their end; rates absorb
// counter resets and extrapolate to the ends of the window as Prometheus does.
// The pages of one target are one series each; duplicates within a page (series
// of several processes) fold by their largest value. test/promql compares the
// two on the same pages.
//
// # What each backend can say
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
//	quiet since            x    of the pool
//
// Since when a model is quiet reaches back to the first page that this process
// scraped, however old the pages are that are kept.
//
// What a backend cannot say has no rows, and the collector treats it as any
// other number that is missing.
//
// # Memory
//
// Pages are kept for two minutes, or the window where that is longer. The names
// and labels of their series are kept once for all pages that have the same
// ones, which the pods of one model do; of a page itself remain its numbers.
//
// The user who deployed a pod decides what its page holds, and a pod becomes an
// endpoint picker by a label. So a page is bounded in bytes and in series, and the
// pages of each namespace are bounded together (internal/budget): a namespace that
// keeps too much loses the older pages of its heaviest targets, and no other does.
package scrape
