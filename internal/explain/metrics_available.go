package explain

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/spelling"
)

// faultAtMost limits the length of a fault in a message, in runes.
const faultAtMost = 300

// localAddress is the part of a network error that differs from one connection
// to the next: "read tcp 10.0.0.7:41234->10.96.0.1:9090: ...".
var localAddress = regexp.MustCompile(`\b(read|write) (tcp|udp)[46]? \S+->`)

// MetricsFound says that the metrics of the variant's model are current. It adds which series are
// not those of each replica alone, which replicas are stuck, and whether clocks differ.
func MetricsFound(e Explanation) string {
	return "vLLM metrics are available and up-to-date" + partial(e) + stuck(e) + clocks(e)
}

// MetricsAging says why the model may not shrink by the metrics: they are late, or not those of
// each replica alone. It adds which replicas of the variant are stuck.
func MetricsAging(e Explanation) string {
	why := "late"
	if slices.ContainsFunc(e.Snapshot.Replicas, func(r scaling.ReplicaSample) bool { return r.Partial && r.Variant == e.Variant.Key }) {
		why = "not those of each replica alone"
	}
	return fmt.Sprintf("vLLM metrics for model '%s' are %s: the model may still grow, shrinking waits", e.Variant.Model.ID, why) + partial(e) + stuck(e)
}

// clocks says that the clocks of the source and of the manager differ, as a separate sentence; ""
// where they agree. It does not say by how much, because that moves.
func clocks(e Explanation) string {
	side := "behind"
	switch {
	case e.Snapshot.ClockLag == 0:
		return ""
	case e.Snapshot.ClockLag < 0:
		side = "ahead of"
	}
	return fmt.Sprintf(". The clock of the source of metrics is more than a minute %s the manager's: correct the one that is wrong (NTP)", side)
}

// partial says why readings are not those of each replica alone, as a separate sentence; "" where
// they are.
func partial(e Explanation) string {
	if e.Snapshot.Partial == "" {
		return ""
	}
	return ". " + e.Snapshot.Partial
}

// stuck says which replicas of the variant hold requests without progress, as a separate sentence;
// "" where none does.
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

// MetricsStale says that the metrics are too old to act on, and what may have failed.
func MetricsStale(e Explanation) string {
	return fmt.Sprintf("vLLM metrics for model '%s' are stale. %s", e.Variant.Model.ID, wordsOf(e.Snapshot.Backend).stale)
}

// MetricsMissing says that there are no metrics, what was found instead (series that belong to no
// pod of the model, or other models), and what to check. Where nothing was found, the message
// begins as in published versions.
func MetricsMissing(e Explanation) string {
	there := instead(e)
	message := fmt.Sprintf("No vLLM metrics found for model '%s' in namespace '%s'. %sCheck: %s",
		e.Variant.Model.ID, e.Variant.Model.Namespace, there, wordsOf(e.Snapshot.Backend).checks)
	switch nothing, runs := there == "", len(e.Snapshot.Replicas) > 0; {
	case nothing && !runs:
		message += ". No pod of the model is running"
	case runs && (nothing || e.Snapshot.Partial+e.Snapshot.Unjoined == "" && e.Snapshot.SeenElsewhere):
		message += wordsOf(e.Snapshot.Backend).besides
	}
	return message
}

// instead says what was found instead of metrics of the variant, as sentences with a space behind;
// "" where nothing was.
func instead(e Explanation) string {
	reports := func(r scaling.ReplicaSample) bool { return r.Reports() }
	switch {
	case e.Snapshot.Partial != "":
		return e.Snapshot.Partial + ". "
	case e.Snapshot.Unjoined != "":
		return e.Snapshot.Unjoined + ". "
	case len(e.Snapshot.SeenModels) > 0:
		others := "Metrics of other models do exist, with model_name " + quoted(e.Snapshot.SeenModels)
		if e.Snapshot.SeenElsewhere {
			others = fmt.Sprintf("Metrics of other models do exist, with namespace/model_name %s (none in this namespace)", quoted(e.Snapshot.SeenModels))
		}
		if meant := meant(e); meant != "" {
			return fmt.Sprintf("Did you mean '%s'? %s. ", meant, others)
		}
		return others + ": is one of them meant by modelID? "
	case slices.ContainsFunc(e.Snapshot.Replicas, reports):
		return "Pods of other variants of the model do report. "
	}
	return ""
}

// meant returns the model that modelID of the variant may be a misspelling of, "" if none is
// similar. The same model in another namespace is no misspelling.
func meant(e Explanation) string {
	id := e.Variant.Model.ID
	near := spelling.Nearest(id, e.Snapshot.SeenModels)
	if strings.HasSuffix(strings.ToLower(near), "/"+strings.ToLower(id)) {
		return ""
	}
	return near
}

// PrometheusError says why the backend could not be read.
func PrometheusError(e Explanation) string {
	fault := []rune(localAddress.ReplaceAllString(e.Snapshot.Fault, "$1 $2 "))
	if len(fault) > faultAtMost {
		fault = append(fault[:faultAtMost], '…')
	}
	return wordsOf(e.Snapshot.Backend).failed + ": " + string(fault)
}

// words are the texts of messages about one backend.
type words struct {
	failed string // what failed
	stale  string // which component may have stopped the metrics, a sentence
	checks string // what to check where there are no metrics
	// besides is what else to check where pods run and nothing was found instead, with the text
	// that joins it.
	besides string
}

// wordsOf returns the words for a backend. Those for Prometheus are as in published versions.
func wordsOf(b scaling.Backend) words {
	switch b {
	case scaling.BackendPods:
		return words{
			failed: "Failed to read the metrics of the serving pods",
			stale:  "The serving pods may not be answering at their /metrics endpoint.",
			checks: "(1) modelID is the label model_name of the pods' metrics, (2) vLLM pods are running and exposing /metrics endpoint, " +
				"(3) annotation prometheus.io/port of the pods, else their port named metrics, http-metrics or http, is that of the endpoint, " +
				"(4) no NetworkPolicy keeps the manager from it",
		}
	case scaling.BackendEPP:
		return words{
			failed: "Failed to read the metrics of the endpoint pickers",
			stale:  "The endpoint pickers may not be answering at their /metrics endpoint.",
			checks: "(1) endpoint pickers are Ready and match EPP_SELECTOR, (2) a pool of theirs has the model's pods, " +
				"(3) EPP_PORT, else their annotation prometheus.io/port or port named metrics, is that of their /metrics endpoint, " +
				"(4) no NetworkPolicy keeps the manager from it",
		}
	default:
		return words{
			failed: "Failed to query Prometheus",
			stale:  "ServiceMonitor may not be scraping correctly.",
			checks: "(1) ServiceMonitor exists in monitoring namespace, (2) ServiceMonitor selector matches vLLM service labels, " +
				"(3) vLLM pods are running and exposing /metrics endpoint, (4) Prometheus is scraping the monitoring namespace",
			besides: ", (5) the names of their metrics begin with one of PROMETHEUS_METRIC_PREFIXES, (6) no NetworkPolicy keeps Prometheus from the pods",
		}
	}
}
