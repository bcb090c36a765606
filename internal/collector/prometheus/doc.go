// Package prometheus is the collector's source over the Prometheus HTTP API. Any
// store that speaks it will do: Prometheus, Thanos, Mimir, VictoriaMetrics.
//
// A question is one instant query. Its answer is decoded while it arrives, row by
// row into query.Row, so that neither the text of 10,000 rows nor a map per row is
// ever in memory; the names in it are interned, because the next answer repeats
// them. What an expression must look like and which label means what is known in
// package query and not here.
//
// Credentials stay in here. Certificates (internal/collector/transport) and tokens
// are read from their files when they are used, so that rotated ones take effect
// without a restart. Nothing is contacted until the first question.
//
// What may pass by itself (no connection, HTTP 429, 502, 503 and 504) is tried
// again, four times in all unless Config.Retries says otherwise, after waits that
// double from 100 ms and that the store may prolong (Retry-After), as long as the
// wait ends within the time allowed. Everything else is for the next cycle to try
// again.
//
// Answers are not compressed: to pack 10,000 rows takes the store 10 ms of a core,
// to carry their 1.5 MB takes a network of 10 Gbit/s one. Where the network is the
// narrower of the two, a header "Accept-Encoding: gzip" in Config.Headers asks for
// it.
//
// An error says who was asked and what was found (no connection, no answer in
// time, an HTTP status, an answer that is no answer with its beginning), in words
// that do not change from one attempt to the next, because they end up in a
// condition's message.
package prometheus
