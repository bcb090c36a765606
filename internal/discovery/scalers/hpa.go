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

// What a HorizontalPodAutoscaler does unless it is told otherwise: the defaults
// of kube-controller-manager, which a cluster may change, and of autoscaling/v2.
const (
	defaultDownWindow = 5 * time.Minute
	defaultPeriod     = 15 * time.Second
)

// The reasons of the condition ScalingActive that are not about a metric.
const (
	reasonScalingDisabled   = "ScalingDisabled"
	reasonAmbiguousSelector = "AmbiguousSelector"
)

// scaler returns what one variant, whose decision has the labels own, sees of
// the object.
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
	out.Multiplies = false // its triggers say how they are read
	out.Kind, out.Name = scaling.KindScaledObject, k.Name
	out.Bounds, out.Misread, out.Others = k.bounds(), k.misreads(own), k.others(own)
	out.Paused = k.paused()
	out.AtZero = false // KEDA itself starts the first replica
	if out.Unread.Reason == reasonNoValue {
		out.Unread = scaling.Trouble{} // its triggers have other names in the HPA
	}
	if out.Inactive.Reason == "" {
		out.Inactive = k.trouble()
	}
	return out
}

// ofHPA returns what a HorizontalPodAutoscaler is and says.
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
			// Its transition time moves with every sync, which begins with True.
			out.Unable = scaling.Trouble{Reason: c.Reason, Message: c.Message}
		}
	}
	return out
}

// showsZero reports whether an HPA shows that those of its cluster may go to zero: the
// API server refuses minReplicas 0, and the controller never sets the condition, while
// the feature gate HPAScaleToZero is off.
func showsZero(h *autoscalingv2.HorizontalPodAutoscaler) bool {
	return scaling.Replicas(ptr.Deref(h.Spec.MinReplicas, 1)) == 0 || slices.ContainsFunc(h.Status.Conditions, isScaledToZero)
}

func isScaledToZero(c autoscalingv2.HorizontalPodAutoscalerCondition) bool {
	return c.Type == autoscalingv2.ScaledToZero
}

// rules returns how an autoscaler goes in a direction, nil for the defaults.
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

// Strip keeps what is read of a HorizontalPodAutoscaler: of metrics that are
// not external only that they are there, of conditions only those that say that
// something is wrong, that there are any and that one is ScaledToZero, of the values
// that it has read only the names.
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
		if m.Type != "" { // it is where the value could not be read
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
			c.Message = "" // lists the others in an order that changes by itself
		}
		out.Status.Conditions = append(out.Status.Conditions, c)
	}
	if len(h.Status.Conditions) > 0 && len(out.Status.Conditions) == 0 { // it was looked at
		out.Status.Conditions = []autoscalingv2.HorizontalPodAutoscalerCondition{{Type: autoscalingv2.AbleToScale, Status: corev1.ConditionTrue}}
	}
	return out
}

// keptAnnotations and keptLabels are those that make a scaler a variant, and say of which kind.
var (
	keptAnnotations = [...]string{
		v1alpha1.AnnotationManaged, v1alpha1.AnnotationModelID, v1alpha1.AnnotationVariantCost, v1alpha1.RoleKey, v1alpha1.AnnotationPaused,
		v1alpha1.AnnotationApprove, v1alpha1.AnnotationApproved,
		v1alpha1.AnnotationActuation,
	}
	keptLabels = [...]string{v1alpha1.LabelAcceleratorName, v1alpha1.LabelControllerInstance}
)

// kept returns the texts of some names, nil where none is there.
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

// stripMeta keeps identity, age and the controller, and what makes a scaler a variant.
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
