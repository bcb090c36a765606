package scalers

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// decisionMetrics are the metrics that carry a decision, under their present names and those of
// older versions.
var decisionMetrics = []string{metrics.DesiredReplicas, metrics.DesiredRatio, legacyDesiredReplicas, legacyDesiredRatio}

// The names in older versions.
const (
	legacyDesiredReplicas = "inferno_desired_replicas"
	legacyDesiredRatio    = "inferno_desired_ratio"
)

// The labels by which queries select a decision.
const (
	labelVariant = metrics.LabelVariant
	labelTarget  = metrics.LabelTarget
	// labelExportedNamespace is the name that a scrape gives to the label namespace.
	labelExportedNamespace = "exported_" + metrics.LabelNamespace
)

// series holds the labels of a variant's decision that are the same for every collector. namespace
// is not one of them: a scrape sets it to the manager's namespace, and renames the variant's to
// exported_namespace.
type series map[string]string

// seriesOf returns the labels of the decision on a variant.
func seriesOf(v scaling.Variant) series {
	out := series(metrics.TargetLabels(v, ""))
	out[labelExportedNamespace] = out[metrics.LabelNamespace]
	delete(out, metrics.LabelNamespace)
	return out
}

// readsAs returns the first variant name that an annotated scaler selects in a metric of a
// decision, "" for other scalers, and where it selects none.
func (o scalerObject) readsAs() string {
	switch {
	case o.keda != nil && isManaged(o.keda.Annotations):
		for _, t := range o.keda.Spec.Triggers {
			for _, key := range slices.Sorted(maps.Keys(t.Metadata)) {
				if text := t.Metadata[key]; metricIn(text) != "" {
					if found := asksFor.FindStringSubmatch(text); found != nil {
						return found[1]
					}
				}
			}
		}
	case o.keda == nil && o.hpa != nil && isManaged(o.hpa.Annotations):
		for _, m := range o.hpa.Spec.Metrics {
			if m.External != nil && slices.Contains(decisionMetrics, m.External.Metric.Name) && m.External.Metric.Selector != nil {
				return m.External.Metric.Selector.MatchLabels[labelVariant]
			}
		}
	}
	return ""
}

// asksFor matches the variant name that a query selects.
var asksFor = regexp.MustCompile(labelVariant + `\s*=\s*"([^"\\]+)"`)

// misreads says why an autoscaler does not read the decision with the labels own, by its spec, ""
// where it does. multiplies is true when it reads the decision by the target type Value.
func misreads(h *autoscalingv2.HorizontalPodAutoscaler, own series) (why string, multiplies bool) {
	why = fmt.Sprintf("none of its metrics is %s or %s", decisionMetrics[0], decisionMetrics[1])
	reads := false
	for _, m := range h.Spec.Metrics {
		if m.External == nil || !slices.Contains(decisionMetrics, m.External.Metric.Name) {
			continue
		}
		switch wrong := misreadsMetric(m.External, own); wrong {
		case multiplying:
			multiplies = true
		case "":
			reads = true
		default:
			why = wrong
		}
	}
	switch {
	case reads && multiplies:
		return multiplying + ", and as an average, too: remove the metric of type Value", true
	case reads, multiplies:
		return "", multiplies
	}
	return why, false
}

// multiplying describes an HPA that reads a number of replicas by the target type Value
// (k8s.io/kubernetes, podautoscaler, GetExternalMetricReplicas).
const multiplying = "it reads " + metrics.DesiredReplicas + " by the target type Value, which an HPA multiplies by its ready pods: 3 wanted of 1 become 3, then 9"

// misreadsMetric says what is wrong with the selector or the target of a decision metric, "" for
// nothing. An HPA divides a number of replicas by the target, hence an averageValue of 1. It
// multiplies the current replicas by a ratio, hence a value of 1.
func misreadsMetric(m *autoscalingv2.ExternalMetricSource, own series) string {
	name, one := m.Metric.Name, *resource.NewQuantity(1, resource.DecimalSI)
	if !own.selectedBy(m.Metric.Selector) {
		return fmt.Sprintf("the selector of its metric %s (%s) does not match this variant", name, metav1.FormatLabelSelector(m.Metric.Selector))
	}
	kind, target := "averageValue", m.Target.AverageValue
	if name == metrics.DesiredRatio || name == legacyDesiredRatio {
		kind, target = "value", m.Target.Value
	}
	if target != nil && target.Cmp(one) == 0 {
		return ""
	}
	if name == metrics.DesiredReplicas && m.Target.Value != nil && m.Target.Value.Cmp(one) == 0 {
		return multiplying
	}
	return fmt.Sprintf("its target for %s is not %s 1", name, kind)
}

// averagesOf returns the variants whose decision an HPA reads as an average and selects by name.
func averagesOf(h *autoscalingv2.HorizontalPodAutoscaler) []string {
	var out []string
	for _, m := range h.Spec.Metrics {
		if m.External == nil || m.External.Metric.Name != metrics.DesiredReplicas || m.External.Target.AverageValue == nil || m.External.Metric.Selector == nil {
			continue
		}
		if name := m.External.Metric.Selector.MatchLabels[labelVariant]; name != "" {
			out = append(out, name)
		}
	}
	return out
}

// The reasons why an autoscaler has not read a decision so far. They are not Kubernetes' own.
const (
	reasonNotSynced = "NotSynced"
	reasonNoValue   = "NoValue"
	reasonNoHPA     = "NoHorizontalPodAutoscaler"
)

// unread returns why an autoscaler has not read the decision so far, by its status: its controller
// has not handled it yet, or its status has values of other metrics only. An HPA with several
// metrics ignores those that it cannot read.
func unread(h *autoscalingv2.HorizontalPodAutoscaler) scaling.Trouble {
	if len(h.Status.Conditions) == 0 {
		return scaling.Trouble{Reason: reasonNotSynced, Message: "the controller of HorizontalPodAutoscalers has not looked at it yet"}
	}
	if len(h.Spec.Metrics) < 2 || len(h.Status.CurrentMetrics) == 0 {
		return scaling.Trouble{}
	}
	var names []string
	for _, m := range h.Spec.Metrics {
		if m.External != nil && slices.Contains(decisionMetrics, m.External.Metric.Name) {
			names = append(names, m.External.Metric.Name)
		}
	}
	for _, m := range h.Status.CurrentMetrics {
		if m.External != nil && slices.Contains(names, m.External.Metric.Name) {
			return scaling.Trouble{}
		}
	}
	if len(names) == 0 {
		return scaling.Trouble{} // misreads reports it
	}
	return scaling.Trouble{Reason: reasonNoValue, Message: fmt.Sprintf("its status has no value of %s, only of other metrics", names[0])}
}

// selectedBy reports whether a selector, nil for everything, selects the series. It checks only the
// labels of the series, because a scrape adds others.
func (s series) selectedBy(selector *metav1.LabelSelector) bool {
	if selector == nil {
		return true
	}
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return true // the autoscaler itself reports it
	}
	requirements, _ := parsed.Requirements()
	for _, r := range requirements {
		if _, known := s[r.Key()]; known && !r.Matches(labels.Set(s)) {
			return false
		}
	}
	return true
}
