package explain

import (
	"fmt"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// noteAtMost is the limit of an event's note in bytes, less than the API's 1024.
const noteAtMost = 1000

// Decided is the note of a decision for another number of replicas than from, the last one, and
// says how many the target asks for so far.
func Decided(e Explanation, from int) string {
	so := ""
	if e.Variant.Replicas.Observed {
		so = fmt.Sprintf("; the target asks for %d", e.Variant.Replicas.Current)
	}
	return because(e, fmt.Sprintf("from %d to %s", from, e.Decision.Target().Text()), so)
}

// Scaled is the note of a change of the replicas that the target asks for, between from and to, in
// the direction of the decision.
func Scaled(e Explanation, from, to scaling.Replicas) string {
	return because(e, fmt.Sprintf("from %d to %s", from, to.Text()), ofDecided(to, e.Decision.Target()))
}

// ScaledBefore is the note of Scaled for an earlier decision, for goal replicas, of which only the
// reason is known.
func ScaledBefore(e Explanation, from, to, goal scaling.Replicas, reason scaling.Reason) string {
	return note(e, fmt.Sprintf("from %d to %s%s", from, to.Text(), ofDecided(to, goal)), scaling.Step{Reason: reason})
}

// ofDecided says how many replicas were decided on, "" where the target asks for the same number.
func ofDecided(asked, goal scaling.Replicas) string {
	if asked == goal {
		return ""
	}
	return fmt.Sprintf("; %d decided", goal)
}

// because returns the note of a change, with the objective that bounds what one replica serves and
// the cause of the decision. The cause is that of the cycle that changed the number, which may not
// be the last one: the event may be late.
func because(e Explanation, what, so string) string {
	if by := binding(e); by != "" {
		what += " (of each, " + by + ")"
	}
	why := e.Decision.Cause()
	if c := e.Changed; c.Cycle != "" && c.To == e.Decision.Target() {
		why, e.Cycle = c.Cause, c.Cycle
	}
	return note(e, what+so, why)
}

// Held is the note of a decision that is held.
func Held(e Explanation) string {
	return note(e, "held at "+e.Decision.Target().Text(), e.Decision.Cause())
}

// LimitedTo is the note of a variant that does not get the replicas that its load calls for; the
// step in why binds it.
func LimitedTo(e Explanation, why scaling.Step) string {
	return note(e, "limited to "+e.Decision.Target().Text(), why)
}

// Noted returns the message of a condition as the note of an event, with the id of the cycle; ""
// means before the first cycle.
func Noted(message string, cycle scaling.CycleID) string {
	tail := fmt.Sprintf("; cycle %s", cycle)
	if cycle == "" {
		tail = "; before the first cycle"
	}
	return cut(strings.TrimSuffix(message, "."), noteAtMost-len(tail)) + tail
}

// NotFollowed is the note of a decision that is not carried out, for reason: with the message of
// the condition where that names a scaler, else with the detail of a step.
func NotFollowed(e Explanation, reason scaling.Reason, message string) string {
	r, why := e.Variant.Replicas, scaling.Step{Reason: reason, Detail: message}
	if message == NotFollowing(reason) {
		why.Detail = "" // the same for every variant
	}
	for _, s := range e.Decision.Steps {
		if s.Reason == reason && why.Detail == "" {
			why = s
		}
	}
	return note(e, fmt.Sprintf("%s decided on; the target asks for %d, %d of them Ready, %d without a node",
		e.Decision.Target().Text(), r.Current, r.Ready, r.Unschedulable), why)
}

// note joins what happened, its reason and the cycle.
func note(e Explanation, what string, why scaling.Step) string {
	head := fmt.Sprintf("%s: %s", what, why.Reason)
	if why.Detail != "" {
		head += " (" + why.Detail + ")"
	}
	return Noted(head, e.Cycle)
}

// cut shortens s to at most n bytes.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	const mark = "…"
	s = strings.ToValidUTF8(s[:n-len(mark)], "")
	return strings.TrimRight(s, " ") + mark
}

// OlderDefinition says that the cluster dropped a part of the status that was written.
func OlderDefinition() string {
	return "the CustomResourceDefinition in the cluster is of an older version and drops parts of the status, such as status.actuation.scaler: " +
		"apply that of this version (charts/workload-variant-autoscaler/crds)"
}

// LeftAlone says why the objects of an excluded namespace are not served.
func LeftAlone(namespace string) string {
	return fmt.Sprintf("not served: namespace %s has the annotation wva.llmd.ai/exclude; remove it to have its variants scaled", namespace)
}
