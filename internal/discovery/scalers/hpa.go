package scalers

import (
	"slices"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// The defaults of a HorizontalPodAutoscaler: those of kube-controller-manager, which a cluster may
// change, and of autoscaling/v2.
const (
	defaultDownWindow = 5 * time.Minute
	defaultPeriod     = 15 * time.Second
)

// The reasons of the condition ScalingActive that are not about a metric.
const (
	reasonScalingDisabled   = "ScalingDisabled"
	reasonAmbiguousSelector = "AmbiguousSelector"
)

// scaler returns the object as a scaler of the variant whose decision has the labels own.
func (o scalerObject) scaler(own series) scaling.Scaler {
	var out scaling.Scaler
	if o.hpa != nil {
		out = ofHPA(o.hpa, own)
	} else {
		out.Up, out.Down = rules(nil, 0), rules(nil, defaultDownWindow)
		out.Unread = scaling.Trouble{Reason: reasonNoHPA, Message: "KEDA has not made its HorizontalPodAutoscaler yet"}
	}
	if o.keda == nil {
		return out
	}
	k := o.keda
	out.Multiplies = false // its triggers say how it reads them
	out.Kind, out.Name = scaling.KindScaledObject, k.Name
	out.Bounds, out.Misread, out.Others = k.bounds(), k.misreads(own), k.others(own)
	out.Paused = k.paused()
	out.AtZero = false // KEDA itself starts the first replica
	if out.Unread.Reason == reasonNoValue {
		out.Unread = scaling.Trouble{} // the HPA names its triggers differently
	}
	if out.Inactive.Reason == "" {
		out.Inactive = k.trouble()
	}
	return out
}

// ofHPA returns a HorizontalPodAutoscaler as a scaler.
func ofHPA(h *autoscalingv2.HorizontalPodAutoscaler, own series) scaling.Scaler {
	out := scaling.Scaler{
		Kind: scaling.KindHPA, Name: h.Name,
		Bounds: scaling.Bounds{Min: scaling.Replicas(ptr.Deref(h.Spec.MinReplicas, 1)), Max: scaling.Replicas(h.Spec.MaxReplicas)},
		Unread: unread(h), Others: len(h.Spec.Metrics) > 1, Asks: scaling.Replicas(h.Status.DesiredReplicas),
	}
	out.Misread, out.Multiplies = misreads(h, own)
	var up, down *autoscalingv2.HPAScalingRules
	if b := h.Spec.Behavior; b != nil {
		up, down = b.ScaleUp, b.ScaleDown
	}
	out.Up, out.Down = rules(up, 0), rules(down, defaultDownWindow)
	for _, c := range h.Status.Conditions {
		switch {
		case c.Status != corev1.ConditionFalse:
		case c.Type == autoscalingv2.ScalingActive && c.Reason == reasonScalingDisabled:
			out.AtZero = true
		case c.Type == autoscalingv2.ScalingActive:
			out.Inactive = scaling.Trouble{Reason: c.Reason, Message: c.Message, Since: c.LastTransitionTime.Time}
		case c.Type == autoscalingv2.AbleToScale:
			// Its transition time changes with every sync, because each sync begins with True.
			out.Unable = scaling.Trouble{Reason: c.Reason, Message: c.Message}
		}
	}
	return out
}

// showsZero reports whether an HPA shows that HPAs of its cluster may set zero replicas: while the
// feature gate HPAScaleToZero is off, the API server refuses minReplicas 0, and the controller
// never sets the condition.
func showsZero(h *autoscalingv2.HorizontalPodAutoscaler) bool {
	return scaling.Replicas(ptr.Deref(h.Spec.MinReplicas, 1)) == 0 || slices.ContainsFunc(h.Status.Conditions, isScaledToZero)
}

func isScaledToZero(c autoscalingv2.HorizontalPodAutoscalerCondition) bool {
	return c.Type == autoscalingv2.ScaledToZero
}

// rules returns the rules of an autoscaler in one direction; nil means the defaults, with the
// stabilization window given.
func rules(r *autoscalingv2.HPAScalingRules, window time.Duration) scaling.ScalerRules {
	out := scaling.ScalerRules{Tolerance: scaling.DefaultTolerance, Window: window, Period: defaultPeriod}
	if r == nil {
		return out
	}
	if t := r.Tolerance; t != nil {
		out.Tolerance, out.Explicit = t.AsApproximateFloat64(), true
	}
	if w := r.StabilizationWindowSeconds; w != nil {
		out.Window = time.Duration(*w) * time.Second
	}
	for _, p := range r.Policies {
		out.Period = max(out.Period, time.Duration(p.PeriodSeconds)*time.Second)
	}
	out.Disabled = r.SelectPolicy != nil && *r.SelectPolicy == autoscalingv2.DisabledPolicySelect
	return out
}

// Strip keeps the fields that are read of a HorizontalPodAutoscaler. Of metrics that are not
// external it keeps the type, of current values the metric name. Of conditions it keeps those that
// report a problem, ScaledToZero, and one as a sign that there were any.
func Strip(h *autoscalingv2.HorizontalPodAutoscaler) *autoscalingv2.HorizontalPodAutoscaler {
	out := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: stripMeta(h.ObjectMeta)}
	out.Spec = autoscalingv2.HorizontalPodAutoscalerSpec{
		ScaleTargetRef: h.Spec.ScaleTargetRef, MinReplicas: h.Spec.MinReplicas, MaxReplicas: h.Spec.MaxReplicas, Behavior: h.Spec.Behavior,
	}
	for _, m := range h.Spec.Metrics {
		out.Spec.Metrics = append(out.Spec.Metrics, autoscalingv2.MetricSpec{Type: m.Type, External: m.External})
	}
	out.Status.DesiredReplicas = h.Status.DesiredReplicas
	for _, m := range h.Status.CurrentMetrics {
		kept := autoscalingv2.MetricStatus{Type: m.Type}
		if m.External != nil {
			kept.External = &autoscalingv2.ExternalMetricStatus{Metric: autoscalingv2.MetricIdentifier{Name: m.External.Metric.Name}}
		}
		if m.Type != "" { // it is "" where the value could not be read
			out.Status.CurrentMetrics = append(out.Status.CurrentMetrics, kept)
		}
	}
	for _, c := range h.Status.Conditions {
		if isScaledToZero(c) {
			out.Status.Conditions = append(out.Status.Conditions, autoscalingv2.HorizontalPodAutoscalerCondition{Type: c.Type, Status: c.Status})
			continue
		}
		if c.Status != corev1.ConditionFalse || c.Type == autoscalingv2.ScalingLimited {
			continue
		}
		if c.Reason == reasonAmbiguousSelector {
			c.Message = "" // the message lists the other HPAs in a changing order
		}
		out.Status.Conditions = append(out.Status.Conditions, c)
	}
	if len(h.Status.Conditions) > 0 && len(out.Status.Conditions) == 0 { // the controller has handled it
		out.Status.Conditions = []autoscalingv2.HorizontalPodAutoscalerCondition{{Type: autoscalingv2.AbleToScale, Status: corev1.ConditionTrue}}
	}
	return out
}

// keptAnnotations and keptLabels are those that make a scaler a variant and describe it.
var (
	keptAnnotations = [...]string{
		v1alpha1.AnnotationManaged, v1alpha1.AnnotationModelID, v1alpha1.AnnotationVariantCost, v1alpha1.RoleKey, v1alpha1.AnnotationPaused,
		v1alpha1.AnnotationApprove, v1alpha1.AnnotationApproved,
		v1alpha1.AnnotationActuation,
	}
	keptLabels = [...]string{v1alpha1.LabelAcceleratorName, v1alpha1.LabelControllerInstance}
)

// kept returns the entries of texts with the given names, nil for none.
func kept(texts map[string]string, names []string) map[string]string {
	var out map[string]string
	for _, name := range names {
		if value, ok := texts[name]; ok {
			if out == nil {
				out = map[string]string{}
			}
			out[name] = value
		}
	}
	return out
}

// stripMeta keeps identity, age and the controller, and the annotations and labels of an annotated
// scaler.
func stripMeta(m metav1.ObjectMeta) metav1.ObjectMeta {
	out := metav1.ObjectMeta{
		Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion, Generation: m.Generation,
		CreationTimestamp: m.CreationTimestamp, DeletionTimestamp: m.DeletionTimestamp,
	}
	if isManaged(m.Annotations) {
		out.Annotations, out.Labels = kept(m.Annotations, keptAnnotations[:]), kept(m.Labels, keptLabels[:])
	}
	if owner := metav1.GetControllerOf(&m); owner != nil {
		out.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	return out
}
