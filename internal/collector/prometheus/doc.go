// Package prometheus is the collector's source over the Prometheus HTTP API. Any
// store that speaks it will do: Prometheus, Thanos, Mimir, VictoriaMetrics.
//
// A question is one instant query. Its answer is decoded while it arrives, row by row into
// query.Row, so that neither the text of 10,000 rows nor a map per row is ever in memory; names are
// interned, because the next answer repeats them. Package query, not this one, defines the
// expressions and the labels.
//
// Credentials stay in this package. It reads certificates (internal/collector/transport) and tokens
// from their files when it uses them, so that rotated ones take effect without a restart. It
// contacts no host before the first question.
//
// A failure that may pass (no connection, HTTP 429, 502, 503 and 504) is tried again, four times in
// all unless Config.Retries says otherwise, after waits that double from 100 ms and that the store
// may prolong (Retry-After), as long as the wait ends within the time allowed. Other failures are
// left to the next cycle.
//
// Answers are not compressed: to pack 10,000 rows takes the store 10 ms of a core, to carry their
// 1.5 MB takes a network of 10 Gbit/s one. Where the network is the bottleneck, a header
// "Accept-Encoding: gzip" in Config.Headers asks for compression.
//
// An error says which host was asked and what was found (no connection, no answer in time, an HTTP
// status, the beginning of an unusable answer), in words that do not change from one attempt to the
// next, because they end up in a condition's message.
package prometheus
