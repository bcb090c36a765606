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

// decisionMetrics are the metrics by which a decision is learnt, under their
// names of today and those of older versions.
var decisionMetrics = []string{metrics.DesiredReplicas, metrics.DesiredRatio, legacyDesiredReplicas, legacyDesiredRatio}

// The names of older versions.
const (
	legacyDesiredReplicas = "inferno_desired_replicas"
	legacyDesiredRatio    = "inferno_desired_ratio"
)

// The labels by which a query is matched.
const (
	labelVariant = metrics.LabelVariant
	labelTarget  = metrics.LabelTarget
	// labelExportedNamespace is what a scrape makes of the label namespace.
	labelExportedNamespace = "exported_" + metrics.LabelNamespace
)

// series is the labels of a variant's decision that are the same for every
// collector. The label namespace is not: a scrape takes it for that of the
// manager, and names the variant's exported_namespace.
type series map[string]string

// seriesOf returns the labels of the decision on a variant.
func seriesOf(v scaling.Variant) series {
	out := series(metrics.TargetLabels(v, ""))
	out[labelExportedNamespace] = out[metrics.LabelNamespace]
	delete(out, metrics.LabelNamespace)
	return out
}

// readsAs returns the one name of a variant by which an annotated scaler asks for a decision, ""
// where it is not annotated, or asks otherwise.
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

// asksFor finds the name of a variant that a query selects.
var asksFor = regexp.MustCompile(labelVariant + `\s*=\s*"([^"\\]+)"`)

// misreads says why an autoscaler does not learn the decision with the labels own, going by its
// spec, or returns "". multiplies is true when it reads it by the target type Value.
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

// multiplying says how an HPA reads a number of replicas by the target type Value
// (k8s.io/kubernetes, podautoscaler, GetExternalMetricReplicas).
const multiplying = "it reads " + metrics.DesiredReplicas + " by the target type Value, which an HPA multiplies by its ready pods: 3 wanted of 1 become 3, then 9"

// misreadsMetric says what is wrong with how a metric of a decision is read. A
// number of replicas is divided by the target, hence an average of 1; a ratio is
// multiplied with what runs, hence a value of 1.
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

// averagesOf returns the variants whose decision an HPA reads as an average, as far as it names them.
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

// The reasons why an autoscaler has not learnt a decision so far. They are not
// Kubernetes' own: nothing in a cluster says them.
const (
	reasonNotSynced = "NotSynced"
	reasonNoValue   = "NoValue"
	reasonNoHPA     = "NoHorizontalPodAutoscaler"
)

// unread returns why an autoscaler has not learnt the decision so far, going by its
// status: its controller has not looked at it yet, or it has a value of another
// metric and none of this one (of several, it goes on without those that it cannot
// read).
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
		return scaling.Trouble{} // what it is told to read says so
	}
	return scaling.Trouble{Reason: reasonNoValue, Message: fmt.Sprintf("its status has no value of %s, only of other metrics", names[0])}
}

// selectedBy reports whether a selector, nil for everything, lets the series
// through. It is judged by the labels of the series alone: a scrape adds others.
func (s series) selectedBy(selector *metav1.LabelSelector) bool {
	if selector == nil {
		return true
	}
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return true // the autoscaler itself complains
	}
	requirements, _ := parsed.Requirements()
	for _, r := range requirements {
		if _, known := s[r.Key()]; known && !r.Matches(labels.Set(s)) {
			return false
		}
	}
	return true
}
