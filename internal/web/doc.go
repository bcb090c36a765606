// Package web is the manager's read-only view over HTTP of what was decided and
// why. It is served on the metrics port, for callers who may get
// variantautoscalings.llmd.ai:
//
//	GET /debug/decisions                    every variant, sorted; the right in the whole cluster
//	GET /debug/decisions/{namespace}        the variants of a namespace; the right there
//	GET /debug/decisions/{namespace}/{name} one; the right in its namespace
//	GET /debug/decisions/{namespace}/{name}/cycle the inputs of its decision; see Cycle
//
// And earlier states of a fleet, for the same callers; see History:
//
//	GET /debug/fleet                        every model as of the last cycle, with its obstacles
//	GET /debug/fleet/{namespace}            the models of a namespace
//	GET /debug/history/{namespace}          one model over time
//	GET /debug/history/{namespace}/{name}/cycle the inputs of an earlier decision
//	GET /debug/replicas/{namespace}         the replicas of a model over time
//
// The answers are JSON: explain.Explanation, a record.Cycle, a type of package history, or {"error": "..."}.
package web
