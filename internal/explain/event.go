package explain

import (
	"fmt"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// noteAtMost is the limit of an event's note in bytes, less than the API's 1024.
const noteAtMost = 1000

// Scaled tells of a decision for another number of replicas than the from that
// stood before.
func Scaled(e Explanation, from int) string {
	return note(e, fmt.Sprintf("from %d to %d replicas", from, e.Decision.Target()), e.Decision.Cause())
}

// Held tells that a decision stands without an analysis.
func Held(e Explanation) string {
	return note(e, fmt.Sprintf("held at %d replicas", e.Decision.Target()), e.Decision.Cause())
}

// NotFollowed tells that an order is overdue for reason.
func NotFollowed(e Explanation, reason scaling.Reason) string {
	r, why := e.Variant.Replicas, scaling.Step{Reason: reason}
	for _, s := range e.Decision.Steps {
		if s.Reason == reason {
			why = s
		}
	}
	return note(e, fmt.Sprintf("%d replicas were decided on; the target asks for %d, %d of them Ready, %d without a node",
		e.Decision.Target(), r.Current, r.Ready, r.Unschedulable), why)
}

// note puts what happened together with its reason and the cycle.
func note(e Explanation, what string, why scaling.Step) string {
	tail := fmt.Sprintf("; cycle %d", e.Cycle)
	head := fmt.Sprintf("%s: %s", what, why.Reason)
	if why.Detail != "" {
		head += " (" + why.Detail + ")"
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
