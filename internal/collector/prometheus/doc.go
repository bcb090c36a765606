// Package prometheus is the collector's source over the Prometheus HTTP API. Any
// store that speaks it will do: Prometheus, Thanos, Mimir, VictoriaMetrics.
//
// TLS, credentials and transport stay in here. Certificates and tokens are read
// from their files when they are used, so that rotated ones take effect without
// a restart. Nothing is contacted until the first query, and nothing is retried:
// the next cycle is the retry.
//
// An error says who was asked and what was found (no connection, no answer in
// time, an HTTP status, an answer that is no answer with its beginning), in words
// that do not change from one attempt to the next, because they end up in a
// condition's message.
package prometheus
