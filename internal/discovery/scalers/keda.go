package scalers

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// The annotations that pause a ScaledObject. The second also gives the number of replicas.
const (
	annotationKEDAPaused   = "autoscaling.keda.sh/paused"
	annotationKEDAPausedAt = "autoscaling.keda.sh/paused-replicas"
)

// defaultKEDAMax is the upper bound of a ScaledObject without one.
const defaultKEDAMax = 100

// scaledObject holds the fields that are read of a ScaledObject (keda.sh/v1alpha1). Importing
// KEDA's own types would import its dependencies.
type scaledObject struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		ScaleTargetRef struct {
			APIVersion string `json:"apiVersion,omitempty"` // "" for apps/v1
			Kind       string `json:"kind,omitempty"`       // "" for Deployment
			Name       string `json:"name,omitempty"`
		} `json:"scaleTargetRef"`
		IdleReplicaCount *int32        `json:"idleReplicaCount,omitempty"`
		MinReplicaCount  *int32        `json:"minReplicaCount,omitempty"`
		MaxReplicaCount  *int32        `json:"maxReplicaCount,omitempty"`
		Triggers         []kedaTrigger `json:"triggers,omitempty"`
	} `json:"spec"`

	Status struct {
		Conditions []metav1.Condition `json:"conditions,omitempty"`
	} `json:"status"`
}

// kedaTrigger is a source that a ScaledObject scales on. The metadata of triggers on Prometheus are
// a query and a threshold.
type kedaTrigger struct {
	Type       string            `json:"type,omitempty"`
	MetricType string            `json:"metricType,omitempty"` // "" for AverageValue
	Metadata   map[string]string `json:"metadata"`
}

// newScaledObject returns an empty object of the kind ScaledObject.
func newScaledObject() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(scaledObjectKind)
	return u
}

// newScaledObjectList returns an empty list of ScaledObjects.
func newScaledObjectList() *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(scaledObjectKind.GroupVersion().WithKind(scaledObjectKind.Kind + "List"))
	return list
}

// readScaledObject decodes a ScaledObject.
func readScaledObject(u *unstructured.Unstructured) (*scaledObject, error) {
	out := &scaledObject{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, out); err != nil {
		return nil, fmt.Errorf("decoding ScaledObject %s in namespace %s: %w", u.GetName(), u.GetNamespace(), err)
	}
	return out, nil
}

// bounds returns the least and the largest number of replicas.
func (s *scaledObject) bounds() scaling.Bounds {
	out := scaling.Bounds{Max: defaultKEDAMax}
	if n := s.Spec.MinReplicaCount; n != nil {
		out.Min = scaling.Replicas(*n)
	}
	if n := s.Spec.MaxReplicaCount; n != nil {
		out.Max = scaling.Replicas(*n)
	}
	return out
}

// paused reports whether an annotation pauses the ScaledObject.
func (s *scaledObject) paused() bool {
	_, at := s.Annotations[annotationKEDAPausedAt]
	return at || s.Annotations[annotationKEDAPaused] == "true"
}

// trouble returns why KEDA reports the object as not ready.
func (s *scaledObject) trouble() scaling.Trouble {
	for _, c := range s.Status.Conditions {
		if c.Type == string(corev1.PodReady) && c.Status == metav1.ConditionFalse {
			return scaling.Trouble{Reason: c.Reason, Message: c.Message, Since: c.LastTransitionTime.Time}
		}
	}
	return scaling.Trouble{}
}

// misreads says why no trigger reads the decision with the labels own, "" where one does.
func (s *scaledObject) misreads(own series) string {
	why := fmt.Sprintf("none of its triggers reads %s or %s", decisionMetrics[0], decisionMetrics[1])
	for _, t := range s.Spec.Triggers {
		switch reads, because := t.reads(own); {
		case reads:
			return ""
		case because != "":
			why = because
		}
	}
	return why
}

// others reports whether triggers read something else besides the decision with the labels own.
func (s *scaledObject) others(own series) bool {
	return len(s.Spec.Triggers) > 1 && slices.ContainsFunc(s.Spec.Triggers, func(t kedaTrigger) bool {
		reads, _ := t.reads(own)
		return !reads
	})
}

// reads reports whether a trigger reads the decision with the labels own. Where it does not, why
// says what prevents it, "" for a trigger on something else. Queries are not parsed: a query counts
// as right when it names one of the metrics and, if it selects a variant or a target at all, the
// right one.
func (t kedaTrigger) reads(own series) (reads bool, why string) {
	if t.asksUs() {
		why = t.misasks(own)
		return why == "", why
	}
	for _, key := range slices.Sorted(maps.Keys(t.Metadata)) {
		text := t.Metadata[key]
		name := metricIn(text)
		if name == "" {
			continue
		}
		if !own.mentionedIn(text) {
			why = fmt.Sprintf("the query of its trigger on %s asks for another variant", name)
			continue
		}
		threshold, set := t.Metadata["threshold"]
		if n, err := strconv.ParseFloat(threshold, 64); set && (err != nil || n != 1) {
			why = fmt.Sprintf("the threshold of its trigger on %s is %s, and must be 1", name, threshold)
			continue
		}
		if t.MetricType == string(autoscalingv2.ValueMetricType) && name == metrics.DesiredReplicas {
			why = multiplying + ": set metricType to AverageValue"
			continue
		}
		return true, ""
	}
	return false, why
}

// metricIn returns the decision metric that a query names, "" for none.
func metricIn(query string) string {
	for _, name := range decisionMetrics {
		if strings.Contains(query, name) {
			return name
		}
	}
	return ""
}

// mentionedIn reports whether a query may select the series.
func (s series) mentionedIn(query string) bool {
	asks := false
	for _, label := range []string{labelVariant, labelTarget} {
		if !strings.Contains(query, label) {
			continue
		}
		if asks = true; mentions(query, s[label]) {
			return true
		}
	}
	return !asks
}

// mentions reports whether a query contains an object's name as a word of its own. A name with a
// dot, which has another meaning in a regular expression, may be anywhere.
func mentions(query, name string) bool {
	words := strings.FieldsFunc(query, func(r rune) bool {
		return r != '-' && r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	return slices.Contains(words, name) || strings.Contains(name, ".") && strings.Contains(query, name)
}
