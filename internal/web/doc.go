// Package web is the manager's read-only view over HTTP of what was decided and
// why. It is served on the metrics port, for callers who may get
// variantautoscalings.llmd.ai:
//
//	GET /debug/decisions                    every variant, sorted; the right in the whole cluster
//	GET /debug/decisions/{namespace}        those of a namespace; the right there
//	GET /debug/decisions/{namespace}/{name} one; the right in its namespace
//	GET /debug/decisions/{namespace}/{name}/cycle what it was decided from; see Cycle
//
// The answers are JSON: explain.Explanation, a record.Cycle, or {"error": "..."}.
package web
