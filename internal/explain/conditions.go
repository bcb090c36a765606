package explain

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// The messages of conditions hold no age and no number that moves while the
// state stays the same, so that a status is written only when its meaning
// changes.

// seenAtMost limits how many names a message lists.
const seenAtMost = 10

// TargetFound says that the target of the variant was read.
func TargetFound(e Explanation) string {
	return fmt.Sprintf("Scale target %s %s found", e.Variant.Target.Kind, e.Variant.Target.Name)
}

// TargetNotFound says why the target of the variant could not be read.
func TargetNotFound(e Explanation) string {
	return cmp.Or(e.Variant.Missing, fmt.Sprintf("Scale target %s %s not found", e.Variant.Target.Kind, e.Variant.Target.Name))
}

// Optimized says which replicas an analysis led to, and which objective bounds a replica.
func Optimized(e Explanation) string {
	message := "Optimization completed: " + e.Decision.Target().Text()
	if e.Variant.Accelerator == "" {
		message += " (accelerator unknown: set spec.accelerator)"
	} else {
		message += " on " + e.Variant.Accelerator
	}
	if by := binding(e); by != "" {
		message += "; of a replica, " + by
	}
	return message
}

// FellBack says what is decided without an analysis, and since when there is none.
func FellBack(e Explanation) string {
	since := "No analysis so far"
	if !e.AnalyzedAt.IsZero() {
		since = "No analysis since " + e.AnalyzedAt.UTC().Format(time.RFC3339)
	}
	switch e.Decision.Cause().Reason {
	case scaling.ReasonTargetUnreadable:
		return since + ": the target cannot be read, the last decision holds"
	case scaling.ReasonFirstReplica:
		return since + ": nothing runs, one replica of the cheapest variant starts"
	default:
		if AwaitsMetrics(e) {
			return "No analysis so far, and the first metrics are awaited: the larger of the last decision and what runs holds, within the bounds"
		}
		return since + ": the larger of the last decision and what runs holds, within the bounds"
	}
}

// firstMetricsAfter is how long the first measurement of new pods, or of a new variant, may take:
// two scrapes at the default interval of Prometheus, a minute.
const firstMetricsAfter = 2 * time.Minute

// AwaitsMetrics reports whether a decision has no analysis because it is too early for one: the
// variant was never analyzed, and no replica is Ready, or the variant or a replica is new.
func AwaitsMetrics(e Explanation) bool {
	if reason := e.Decision.Cause().Reason; reason == scaling.ReasonTargetUnreadable || reason == scaling.ReasonFirstReplica {
		return false
	}
	young := func(since time.Time) bool { return !since.IsZero() && e.At.Sub(since) < firstMetricsAfter }
	r := e.Variant.Replicas
	return e.AnalyzedAt.IsZero() && e.Snapshot.Fault == "" && r.Current > 0 &&
		(r.Ready == 0 || young(e.Past.DecidedAt) || young(r.NewestReady))
}

// Undecidable says at how many replicas a variant stays that cannot be decided on, and why.
func Undecidable(e Explanation) string {
	return fmt.Sprintf("The variant stays at %s, the larger of the last decision and what runs: %s", e.Decision.Target().Text(), e.Variant.Undecidable)
}

// Paused says at how many replicas the decision is paused.
func Paused(e Explanation) string {
	return fmt.Sprintf("Paused: the decision is frozen at %s, within the bounds. Remove the annotation wva.llmd.ai/paused to go on", e.Decision.Target().Text())
}

// Undecided says why nothing is published.
func Undecided() string {
	return "No analysis, no previous decision, and the target cannot be read: nothing is published"
}

// Following says that the decision is being carried out.
func Following() string { return "The target has the replicas decided on, or is on its way there" }

// NotFollowing says what an overdue order waits for: ReasonTargetNotMoving,
// ReasonPodsUnschedulable or ReasonPodsNotReady.
func NotFollowing(reason scaling.Reason) string {
	switch reason {
	case scaling.ReasonPodsUnschedulable:
		return "No node takes pods of the target, for longer than is usual. Check the free accelerators and the events of the pods"
	case scaling.ReasonPodsNotReady:
		return "The target was given the replicas decided on, but pods are not Ready or do not report, for longer than is usual. " +
			"Check their logs and events, and that they are scraped"
	default:
		return "The target was not given the replicas decided on, for longer than is usual. " +
			"Check that an HPA or ScaledObject scales it on this variant's wva_desired_replicas, and its limits"
	}
}

// Unmeasured says that it is unknown whether the decision is carried out.
func Unmeasured() string { return "Not known while nothing is decided or the target cannot be read" }

// ReadyToScale says that no condition blocks scaling.
func ReadyToScale() string {
	return "The target and its metrics are known, and the decision is followed"
}

// Conflict is several variants that name one target.
type Conflict scaling.Conflict

// Won returns the message for the variant that scales the target: which others name it.
func (c Conflict) Won() string {
	losers := make([]string, 0, len(c.Contenders))
	for _, key := range c.Contenders[1:] {
		losers = append(losers, key.Name)
	}
	return fmt.Sprintf("This VA won arbitration (oldest) but %d other VA(s) also target the same %s: %s/%s. DELETE OR REASSIGN: %s",
		len(losers), strings.ToLower(c.Target.Kind), c.Contenders[0].Namespace, c.Target.Name, strings.Join(losers, ", "))
}

// Lost returns the message for a variant that does not scale the target: which one does.
func (c Conflict) Lost() string {
	kind, winner := strings.ToLower(c.Target.Kind), c.Contenders[0]
	return fmt.Sprintf("SUPPRESSED: This VA targets %s %s/%s which is already managed by %s (older VA). No optimization/metrics for this VA. "+
		"ACTION: Delete this VA or change scaleTargetRef to a unique %s.", kind, winner.Namespace, c.Target.Name, winner.Name, kind)
}

// quoted lists names in quotes, at most seenAtMost of them.
func quoted(names []string) string {
	return scaling.FirstOf(names, seenAtMost, func(name string) string { return "'" + name + "'" })
}
