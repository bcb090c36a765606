// Package web is the manager's read-only view over HTTP of what was decided and
// why. It is served on the metrics port, for callers who may get
// variantautoscalings.llmd.ai:
//
//	GET /debug/decisions                    every variant, sorted; the right in the whole cluster
//	GET /debug/decisions/{namespace}        those of a namespace; the right there
//	GET /debug/decisions/{namespace}/{name} one; the right in its namespace
//	GET /debug/decisions/{namespace}/{name}/cycle what it was decided from; see Cycle
//
// And what a fleet looked like, for the same callers; see History:
//
//	GET /debug/fleet                        every model as of the last cycle, with what is in its way
//	GET /debug/fleet/{namespace}            those of a namespace
//	GET /debug/history/{namespace}          one model over time
//	GET /debug/history/{namespace}/{name}/cycle what an earlier decision was made from
//	GET /debug/replicas/{namespace}         what became of the replicas of a model
//
// The answers are JSON: explain.Explanation, a record.Cycle, a type of package history, or {"error": "..."}.
package web
