// Package web is the manager's read-only view over HTTP of what was decided and
// why. It is served on the metrics port, behind the same authentication and
// authorization:
//
//	GET /debug/decisions                    every variant, sorted
//	GET /debug/decisions/{namespace}/{name} one
//
// The answers are JSON: explain.Explanation, or {"error": "..."}.
package web
