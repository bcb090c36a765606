// Command bench measures what a collection costs at 10, 100 and 1,000 VariantAutoscalings of 10
// replicas each, and prints a table in Markdown.
//
// The manager's own collector and source query a real Prometheus over HTTP on loopback: its
// database, its engine and its API, in a process of their own, so that the CPU time of each side is
// known. The database holds the series that vLLM pods export, back-filled at a scrape interval of
// 15s up to the instant at which the clocks of both sides then stop. Nothing is estimated.
//
//	go run ./bench                       # the table
//	go test -run '^$' -bench Collect ./bench
//
// BenchmarkCollect reports the same numbers for tools that compare them.
package main
