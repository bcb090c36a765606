// Command bench measures what a collection costs at 10, 100 and 1,000
// VariantAutoscalings of 10 replicas each, and prints a table in Markdown.
//
// The manager's own collector and source ask a real Prometheus over HTTP on
// loopback: its database, its engine and its API, in a process of their own, so
// that the CPU time of both sides is known apart. The database holds the series
// that vLLM pods export, back-filled at a scrape interval of 15s up to an instant
// at which the clocks of both sides then stand. Nothing is estimated.
//
//	go run ./bench                       # the table
//	go test -run '^$' -bench Collect ./bench
//
// BenchmarkCollect reports the same numbers for tools that compare them.
package main
