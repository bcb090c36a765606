package explain

import (
	"fmt"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// noteAtMost is the limit of an event's note in bytes, less than the API's 1024.
const noteAtMost = 1000

// Decided tells of a decision for another number of replicas than the from that was
// decided on before, and what the target is asked for so far.
func Decided(e Explanation, from int) string {
	so := ""
	if e.Variant.Replicas.Observed {
		so = fmt.Sprintf("; the target asks for %d", e.Variant.Replicas.Current)
	}
	return because(e, fmt.Sprintf("from %d to %s", from, e.Decision.Target().Text()), so)
}

// Scaled tells that the target, which was asked for from replicas, is asked for to of
// them, in the direction of the decision.
func Scaled(e Explanation, from, to scaling.Replicas) string {
	return because(e, fmt.Sprintf("from %d to %s", from, to.Text()), ofDecided(to, e.Decision.Target()))
}

// ScaledBefore is Scaled of a decision for goal replicas that another one has followed
// meanwhile, of which the reason is all that is known.
func ScaledBefore(e Explanation, from, to, goal scaling.Replicas, reason scaling.Reason) string {
	return note(e, fmt.Sprintf("from %d to %s%s", from, to.Text(), ofDecided(to, goal)), scaling.Step{Reason: reason})
}

// ofDecided says what was decided where that is not what the target is asked for.
func ofDecided(asked, goal scaling.Replicas) string {
	if asked == goal {
		return ""
	}
	return fmt.Sprintf("; %d decided", goal)
}

// because tells what happened, with the objective that bounds what one replica serves
// and the cause of the decision. The cause is that of the cycle that changed the
// number, which may not be the last: its event may be late.
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

// Held tells that a decision stands without an analysis.
func Held(e Explanation) string {
	return note(e, "held at "+e.Decision.Target().Text(), e.Decision.Cause())
}

// LimitedTo tells that a variant does not get the replicas that its load calls
// for, and which step says why.
func LimitedTo(e Explanation, why scaling.Step) string {
	return note(e, "limited to "+e.Decision.Target().Text(), why)
}

// Noted returns the message of a condition as that of an event of a cycle, "" for
// none: before the first.
func Noted(message string, cycle scaling.CycleID) string {
	tail := fmt.Sprintf("; cycle %s", cycle)
	if cycle == "" {
		tail = "; before the first cycle"
	}
	return cut(strings.TrimSuffix(message, "."), noteAtMost-len(tail)) + tail
}

// NotFollowed tells that the decision is not carried out, for reason: with the
// message of the condition where that names a scaler, else with what a step says.
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

// note puts what happened together with its reason and the cycle.
func note(e Explanation, what string, why scaling.Step) string {
	head := fmt.Sprintf("%s: %s", what, why.Reason)
	if why.Detail != "" {
		head += " (" + why.Detail + ")"
	}
	return Noted(head, e.Cycle)
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

// OlderDefinition says that a part of a status that was written is not there.
func OlderDefinition() string {
	return "the CustomResourceDefinition in the cluster is of an older version and drops parts of the status, such as status.actuation.scaler: " +
		"apply that of this version (charts/workload-variant-autoscaler/crds)"
}

// LeftAlone says why the objects of a namespace are not served.
func LeftAlone(namespace string) string {
	return fmt.Sprintf("not served: namespace %s has the annotation wva.llmd.ai/exclude; remove it to have its variants scaled", namespace)
}
