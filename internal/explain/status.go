package explain

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// The messages of conditions hold no age and no number that moves while the
// state stays the same, so that a status is written only when its meaning
// changes.

// seenAtMost limits how many names a message lists.
const seenAtMost = 10

// faultAtMost limits the length of a fault in a message, in runes.
const faultAtMost = 300

// localAddress is the part of a network error that differs from one connection
// to the next: "read tcp 10.0.0.7:41234->10.96.0.1:9090: ...".
var localAddress = regexp.MustCompile(`\b(read|write) (tcp|udp)[46]? \S+->`)

// TargetFound says that the target of the variant was read.
func TargetFound(e Explanation) string {
	return fmt.Sprintf("Scale target %s %s found", e.Variant.Target.Kind, e.Variant.Target.Name)
}

// TargetNotFound says why the target of the variant could not be read.
func TargetNotFound(e Explanation) string {
	return cmp.Or(e.Variant.Missing, fmt.Sprintf("Scale target %s %s not found", e.Variant.Target.Kind, e.Variant.Target.Name))
}

// MetricsFound says that the metrics of the variant's model are current, and
// which of its replicas are stuck.
func MetricsFound(e Explanation) string {
	return "vLLM metrics are available and up-to-date" + stuck(e)
}

// MetricsAging says that the metrics are too old to shrink by, and which of the
// variant's replicas are stuck.
func MetricsAging(e Explanation) string {
	return fmt.Sprintf("vLLM metrics for model '%s' are late: the model may still grow, shrinking waits", e.Variant.Model.ID) + stuck(e)
}

// stuck says which replicas of the variant hold requests and do nothing, as a
// sentence of its own; "" where none does.
func stuck(e Explanation) string {
	var frozen, sick []string
	for _, r := range e.Snapshot.Replicas {
		switch {
		case r.Variant != e.Variant.Key:
		case r.Stuck == scaling.Frozen:
			frozen = append(frozen, r.Pod)
		case r.Stuck == scaling.Sick:
			sick = append(sick, r.Pod)
		}
	}
	var text string
	if len(sick) > 0 {
		text += fmt.Sprintf(". Requests wait and nothing moves in %s: restart it", quoted(sick))
	}
	if len(frozen) > 0 {
		text += fmt.Sprintf(". The gauges of %s are frozen and count as no load", quoted(frozen))
	}
	return text
}

// MetricsStale says that the metrics are too old to act on.
func MetricsStale(e Explanation) string {
	return fmt.Sprintf("vLLM metrics for model '%s' are stale. ServiceMonitor may not be scraping correctly.", e.Variant.Model.ID)
}

// MetricsMissing says that there are no metrics, what to check, and what there is
// instead: series that belong to no pod of the model, or other models.
func MetricsMissing(e Explanation) string {
	message := fmt.Sprintf("No vLLM metrics found for model '%s' in namespace '%s'. Check: (1) ServiceMonitor exists in monitoring namespace, "+
		"(2) ServiceMonitor selector matches vLLM service labels, (3) vLLM pods are running and exposing /metrics endpoint, "+
		"(4) Prometheus is scraping the monitoring namespace", e.Variant.Model.ID, e.Variant.Model.Namespace)
	reports := func(r scaling.ReplicaSample) bool { return r.Reports() }
	switch {
	case e.Snapshot.Unjoined != "":
		message += ". " + e.Snapshot.Unjoined
	case len(e.Snapshot.SeenModels) > 0:
		message += fmt.Sprintf(". Metrics of other models do exist, with model_name %s (namespace/model_name where only other namespaces have any): is one of them meant by modelID?", quoted(e.Snapshot.SeenModels))
	case slices.ContainsFunc(e.Snapshot.Replicas, reports):
		message += ". Pods of other variants of the model do report"
	case len(e.Snapshot.Replicas) == 0:
		message += ". No pod of the model is running"
	}
	return message
}

// PrometheusError says why nothing could be read.
func PrometheusError(e Explanation) string {
	fault := []rune(localAddress.ReplaceAllString(e.Snapshot.Fault, "$1 $2 "))
	if len(fault) > faultAtMost {
		fault = append(fault[:faultAtMost], '…')
	}
	return "Failed to query Prometheus: " + string(fault)
}

// Optimized says what an analysis led to, and which objective bounds it.
func Optimized(e Explanation) string {
	message := fmt.Sprintf("Optimization completed: %d replicas", e.Decision.Target())
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

// FellBack says what holds without an analysis, and since when.
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
		return since + ": the larger of the last decision and what runs holds, within the bounds"
	}
}

// Paused says that the decision is frozen, and where.
func Paused(e Explanation) string {
	return fmt.Sprintf("Paused: the decision is frozen at %d replicas, within the bounds. Remove the annotation wva.llmd.ai/paused to go on", e.Decision.Target())
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

// Unmeasured says that nothing can be said about who carries out the decision.
func Unmeasured() string { return "Not known while nothing is decided or the target cannot be read" }

// ReadyToScale says that nothing stands in the way.
func ReadyToScale() string {
	return "The target and its metrics are known, and the decision is followed"
}

// Conflict is several variants that name one target.
type Conflict scaling.Conflict

// Won says to the variant that scales the target who else names it.
func (c Conflict) Won() string {
	losers := make([]string, 0, len(c.Contenders))
	for _, key := range c.Contenders[1:] {
		losers = append(losers, key.Name)
	}
	return fmt.Sprintf("This VA won arbitration (oldest) but %d other VA(s) also target the same %s: %s/%s. DELETE OR REASSIGN: %s",
		len(losers), strings.ToLower(c.Target.Kind), c.Contenders[0].Namespace, c.Target.Name, strings.Join(losers, ", "))
}

// Lost says to a variant that does not scale the target which one does.
func (c Conflict) Lost() string {
	kind, winner := strings.ToLower(c.Target.Kind), c.Contenders[0]
	return fmt.Sprintf("SUPPRESSED: This VA targets %s %s/%s which is already managed by %s (older VA). No optimization/metrics for this VA. "+
		"ACTION: Delete this VA or change scaleTargetRef to a unique %s.", kind, winner.Namespace, c.Target.Name, winner.Name, kind)
}

// quoted lists names.
func quoted(names []string) string {
	out := make([]string, 0, min(len(names), seenAtMost))
	for _, name := range names[:min(len(names), seenAtMost)] {
		out = append(out, "'"+name+"'")
	}
	list := strings.Join(out, ", ")
	if more := len(names) - seenAtMost; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}
