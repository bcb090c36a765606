package explain

import (
	"fmt"
	"strings"
)

// noteAtMost is the limit of an event's note in bytes, less than the API's 1024.
const noteAtMost = 1000

// Scaled tells of a decision for another number of replicas than the from that
// stood before.
func Scaled(e Explanation, from int) string {
	return note(e, fmt.Sprintf("from %d to %d replicas", from, e.Decision.Target()))
}

// Held tells that a decision stands without an analysis.
func Held(e Explanation) string {
	return note(e, fmt.Sprintf("held at %d replicas", e.Decision.Target()))
}

// NotFollowed tells of an order that is overdue.
func NotFollowed(e Explanation) string {
	r := e.Variant.Replicas
	return note(e, fmt.Sprintf("%d replicas were decided on; the target asks for %d, %d of them Ready, %d without a node",
		e.Decision.Target(), r.Current, r.Ready, r.Unschedulable))
}

// note puts what happened together with its reason and the cycle.
func note(e Explanation, what string) string {
	cause := e.Decision.Cause()
	tail := fmt.Sprintf("; cycle %d", e.Cycle)
	head := fmt.Sprintf("%s: %s", what, cause.Reason)
	if cause.Detail != "" {
		head += " (" + cause.Detail + ")"
	}
	return cut(head, noteAtMost-len(tail)) + tail
}

// cut returns s in at most n bytes.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	const mark = "…"
	s = strings.ToValidUTF8(s[:n-len(mark)], "")
	return strings.TrimRight(s, " ") + mark
}
