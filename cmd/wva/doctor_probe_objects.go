package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/discovery/scalers"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/doctor"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

const (
	decisionMetric = metrics.DesiredReplicas
	kedaHPA        = "keda-hpa-" // prefix that KEDA puts before the name of a ScaledObject to name its HPA
	probeNumber    = 2           // of a tagged decision
)

// shaped are the objects of a probe: a target of its own, and a scaler like the variant's.
type shaped struct {
	name   string
	target *appsv1.Deployment
	hpa    *autoscalingv2.HorizontalPodAutoscaler // nil for a ScaledObject, which creates its own
	keda   *unstructured.Unstructured             // nil for an HPA
	// reads is the metric of the HPA, and byValue whether its target type is Value.
	reads   autoscalingv2.MetricIdentifier
	byValue bool
}

// scaler returns the HPA or the ScaledObject.
func (s shaped) scaler() client.Object {
	if s.keda != nil {
		return s.keda
	}
	return s.hpa
}

// probeName returns the name of the objects of a probe. It is the same for every probe of a
// variant, so that only one can run.
func probeName(of scaling.VariantKey) string {
	h := fnv.New32a()
	h.Write([]byte(of.Name))
	return fmt.Sprintf("wva-probe-%08x", h.Sum32())
}

// shape returns the objects of a probe of the variant's scaler, without the number that is sent, or
// why there can be none.
func (p *probing) shape(ctx context.Context) (out shaped, why string) {
	out.name = probeName(p.out.Variant)
	meta := metav1.ObjectMeta{
		Namespace: p.out.Variant.Namespace, Name: out.name, Labels: map[string]string{v1alpha1.LabelProbe: out.name},
		Annotations: map[string]string{
			v1alpha1.AnnotationProbeOf:    p.out.Variant.Name,
			v1alpha1.AnnotationProbeUntil: p.now().Add(probeWithin + removeWithin).UTC().Format(time.RFC3339Nano), // identifies the objects of this probe
		},
	}
	out.target = probeTarget(*meta.DeepCopy())
	key := client.ObjectKey{Namespace: p.out.Variant.Namespace, Name: p.scaler.Name}
	if p.scaler.Kind == scaling.KindScaledObject {
		return p.shapeKEDA(ctx, out, meta, key)
	}
	var of autoscalingv2.HorizontalPodAutoscaler
	if err := p.held.Get(ctx, key, &of); err != nil {
		return out, oneLine(err)
	}
	external := externalMetric(of.Spec.Metrics)
	if external == nil {
		return out, fmt.Sprintf("%s %s reads no external metric", p.scaler.Kind, p.scaler.Name)
	}
	p.metric = external.External.Metric.Name
	out.reads, out.byValue = external.External.Metric, external.External.Target.Type == autoscalingv2.ValueMetricType
	out.hpa = &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: meta, Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
		ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: out.name},
		MinReplicas:    new(int32(1)), MaxReplicas: of.Spec.MaxReplicas,
		Metrics: []autoscalingv2.MetricSpec{*external.DeepCopy()}, Behavior: withoutWindows(of.Spec.Behavior),
	}}
	return out, ""
}

// externalMetric returns the metric by which an HPA reads the decision, else another external one,
// else nil.
func externalMetric(all []autoscalingv2.MetricSpec) *autoscalingv2.MetricSpec {
	var out *autoscalingv2.MetricSpec
	for i := range all {
		m := &all[i]
		if m.Type != autoscalingv2.ExternalMetricSourceType || m.External == nil {
			continue
		}
		if name := m.External.Metric.Name; name == metrics.DesiredReplicas || name == metrics.DesiredRatio {
			return m
		}
		if out == nil {
			out = m
		}
	}
	return out
}

// withoutWindows returns a behavior without stabilization windows. Tolerance, policies and disabled
// directions are those of the variant's scaler.
func withoutWindows(of *autoscalingv2.HorizontalPodAutoscalerBehavior) *autoscalingv2.HorizontalPodAutoscalerBehavior {
	out := &autoscalingv2.HorizontalPodAutoscalerBehavior{}
	if of != nil {
		out = of.DeepCopy()
	}
	for _, rules := range []**autoscalingv2.HPAScalingRules{&out.ScaleUp, &out.ScaleDown} {
		if *rules == nil {
			*rules = &autoscalingv2.HPAScalingRules{}
		}
		(*rules).StabilizationWindowSeconds = new(int32(0))
	}
	return out
}

// probeTarget returns a paused Deployment. Its replicas can be set, but it never has a pod: the
// controller creates the first ReplicaSet of a Deployment only if that is not paused.
func probeTarget(meta metav1.ObjectMeta) *appsv1.Deployment {
	selects := map[string]string{v1alpha1.LabelProbe: meta.Name}
	small := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1m"), corev1.ResourceMemory: resource.MustParse("1Mi")}
	return &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{
		Paused: true, Selector: &metav1.LabelSelector{MatchLabels: selects},
		// Admission requires this of a pod, but no pod is created from it.
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: selects}, Spec: corev1.PodSpec{
			SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: new(true), RunAsUser: new(int64(65535)), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
			Containers: []corev1.Container{{
				Name: "none", Image: "registry.k8s.io/pause:3.10", Resources: corev1.ResourceRequirements{Requests: small, Limits: small},
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
		}},
	}}
}

// shapeKEDA is shape for a ScaledObject.
func (p *probing) shapeKEDA(ctx context.Context, out shaped, meta metav1.ObjectMeta, key client.ObjectKey) (shaped, string) {
	of := &unstructured.Unstructured{}
	of.SetGroupVersionKind(scaledObjectKind)
	if err := p.held.Get(ctx, key, of); err != nil {
		return out, oneLine(err)
	}
	spec, _, err := unstructured.NestedMap(of.Object, "spec")
	if err != nil {
		return out, oneLine(err)
	}
	triggers, _, _ := unstructured.NestedSlice(of.Object, "spec", "triggers")
	most := int64(100)
	if n, ok, _ := unstructured.NestedInt64(of.Object, "spec", "maxReplicaCount"); ok {
		most = n
	}
	maps.DeleteFunc(spec, func(field string, _ any) bool {
		return !slices.Contains([]string{"advanced", "cooldownPeriod"}, field)
	})
	spec["scaleTargetRef"] = map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": out.name}
	spec["minReplicaCount"], spec["maxReplicaCount"], spec["pollingInterval"] = int64(1), most, int64(5)
	unstructured.RemoveNestedField(spec, "advanced", "horizontalPodAutoscalerConfig", "name")
	unstructured.RemoveNestedField(spec, "advanced", "restoreToOriginalReplicaCount")
	for _, direction := range []string{"scaleUp", "scaleDown"} {
		if err := unstructured.SetNestedField(spec, int64(0), "advanced", "horizontalPodAutoscalerConfig", "behavior", direction, "stabilizationWindowSeconds"); err != nil {
			return out, oneLine(err)
		}
	}
	if len(triggers) == 0 {
		return out, fmt.Sprintf("%s %s has no trigger", p.scaler.Kind, p.scaler.Name)
	}
	_, formula, _ := unstructured.NestedMap(spec, "advanced", "scalingModifiers") // it names triggers
	spec["triggers"] = p.probeTriggers(triggers, formula)
	out.keda = &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	out.keda.SetGroupVersionKind(scaledObjectKind)
	out.keda.SetNamespace(meta.Namespace)
	out.keda.SetName(meta.Name)
	out.keda.SetLabels(meta.Labels)
	out.keda.SetAnnotations(meta.Annotations)
	return out, ""
}

// probeTriggers returns the triggers that read a decision, or all if none seems to or if they
// depend on each other. A trigger that queries the manager itself for the decision on its target
// gets the name of the variant.
func (p *probing) probeTriggers(all []any, together bool) []any {
	var out []any
	for _, t := range all {
		trigger, ok := t.(map[string]any)
		if !ok {
			continue
		}
		metadata, _, _ := unstructured.NestedStringMap(trigger, "metadata")
		kind, _, _ := unstructured.NestedString(trigger, "type")
		asks, reads := scalers.TriggerReads(kind, metadata)
		if asks && metadata["variantName"] == "" && p.scaler.Misread == "" {
			_ = unstructured.SetNestedField(trigger, p.out.Variant.Name, "metadata", "variantName")
		}
		if asks || reads {
			out = append(out, trigger)
		}
	}
	if together || len(out) == 0 {
		return all
	}
	return out
}

// number sets what the probe sends, in p and in the objects.
func (p *probing) number(made shaped, tagged bool) {
	switch to := max(1, int32(p.desired)); {
	case tagged:
		p.sends = sending{from: probeNumber - 1, to: probeNumber, tagged: true}
	case to == 1: // an HPA does not scale from 0
		p.sends = sending{from: 2, to: 1}
	default:
		p.sends = sending{from: 1, to: to}
	}
	made.target.Spec.Replicas = new(p.sends.from)
	most := max(p.sends.from, p.sends.to)
	if made.keda != nil {
		n, _, _ := unstructured.NestedInt64(made.keda.Object, "spec", "maxReplicaCount")
		_ = unstructured.SetNestedField(made.keda.Object, max(n, int64(most)), "spec", "maxReplicaCount")
		return
	}
	made.hpa.Spec.MaxReplicas = max(made.hpa.Spec.MaxReplicas, most)
	if !tagged {
		return
	}
	read := made.hpa.Spec.Metrics[0].External
	read.Metric.Selector = withTag(made.reads.Selector)
	if made.byValue { // an HPA multiplies Value by the Ready pods, and the target has none
		read.Target = autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: resource.NewQuantity(1, resource.DecimalSI)}
	}
}

// withTag returns a selector for the number of the probe.
func withTag(of *metav1.LabelSelector) *metav1.LabelSelector {
	out := &metav1.LabelSelector{}
	if of != nil {
		out = of.DeepCopy()
	}
	if out.MatchLabels == nil {
		out.MatchLabels = map[string]string{}
	}
	out.MatchLabels[metrics.LabelProbe] = strconv.Itoa(probeNumber)
	return out
}

// now returns the time of the API server.
func (p *probing) now() time.Time { return time.Now().Add(p.Clocks.Server.By) }

// prepare removes the objects that earlier probes left in the namespace, and reports whether no
// other probe of the variant runs.
func (p *probing) prepare(ctx context.Context, made shaped) bool {
	var removed []string
	p.Left = slices.DeleteFunc(p.Left, func(l doctor.Leftover) bool {
		if l.Namespace != p.out.Variant.Namespace || !l.Over(p.now()) {
			return false
		}
		object := &metav1.PartialObjectMetadata{}
		object.SetGroupVersionKind(probeKinds[l.Kind])
		object.Namespace, object.Name = l.Namespace, l.Name
		if err := client.IgnoreNotFound(p.client.Delete(ctx, object)); err != nil {
			return false // its finding stays
		}
		removed = append(removed, l.String())
		return true
	})
	for _, l := range p.Left {
		if l.Namespace == made.target.Namespace && l.Name == made.name {
			if l.Over(p.now()) {
				p.failed(doctor.ProbePrepared, fmt.Sprintf("%s of an earlier probe could not be removed", l))
			} else {
				p.failed(doctor.ProbePrepared, fmt.Sprintf("another probe of %s runs, until %s at the latest (%s)", l.Of, l.Until.UTC().Format(time.RFC3339), l))
			}
			return false
		}
	}
	if len(removed) > 0 {
		p.passed(doctor.ProbePrepared, "removed what an earlier probe left: "+strings.Join(removed, ", "))
	}
	return true
}

// probeKinds are the kinds of the objects of probes.
var probeKinds = map[string]schema.GroupVersionKind{
	"Deployment":             appsv1.SchemeGroupVersion.WithKind("Deployment"),
	scaling.KindHPA:          autoscalingv2.SchemeGroupVersion.WithKind(scaling.KindHPA),
	scaling.KindScaledObject: scaledObjectKind,
}

// readLeft notes the held objects of earlier probes.
func (e *examination) readLeft() {
	for _, kind := range slices.Sorted(maps.Keys(probeKinds)) {
		for _, object := range e.held.objects[probeKinds[kind].GroupKind()] {
			// KEDA copies the labels of a ScaledObject to its HPA, which is deleted with it.
			if _, ours := object.GetLabels()[v1alpha1.LabelProbe]; !ours || metav1.GetControllerOfNoCopy(object) != nil {
				continue
			}
			notes := object.GetAnnotations()
			until, _ := time.Parse(time.RFC3339, notes[v1alpha1.AnnotationProbeUntil]) // zero where it is missing
			e.Left = append(e.Left, doctor.Leftover{
				Kind: kind, Namespace: object.GetNamespace(), Name: object.GetName(), Of: cmp.Or(notes[v1alpha1.AnnotationProbeOf], "a variant that it does not name"), Until: until,
			})
		}
	}
}

// errAnotherProbe means that another probe of the variant has created its objects meanwhile.
var errAnotherProbe = errors.New("another probe of the variant has just begun")

// create creates the target, then the scaler, which the target owns so that it is deleted with it.
func (p *probing) create(ctx context.Context, made *shaped) error {
	err := p.client.Create(ctx, made.target)
	if apierrors.IsAlreadyExists(err) {
		return errAnotherProbe
	}
	if err != nil {
		return fmt.Errorf("creating the target of the probe: %w", err)
	}
	scaler := made.scaler()
	scaler.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: made.target.Name, UID: made.target.UID}})
	if err := p.client.Create(ctx, scaler); err != nil {
		return fmt.Errorf("creating the scaler of the probe: %w", err)
	}
	return nil
}

// remove deletes the objects and waits until they are gone.
func (p *probing) remove(ctx context.Context, made shaped) {
	p.begun = time.Now()
	if made.target.UID == "" && made.target.ResourceVersion == "" {
		// The request may have arrived although its answer did not.
		if err := p.client.Get(ctx, client.ObjectKeyFromObject(made.target), made.target); apierrors.IsNotFound(err) {
			return
		}
		if made.target.Annotations[v1alpha1.AnnotationProbeUntil] != made.scaler().GetAnnotations()[v1alpha1.AnnotationProbeUntil] {
			return // it belongs to another probe
		}
	}
	var left []string
	for _, object := range []client.Object{made.scaler(), made.target} {
		if err := p.gone(ctx, object); err != nil {
			left = append(left, fmt.Sprintf("%s %s/%s is left: %s", kindName(object), object.GetNamespace(), object.GetName(), oneLine(err)))
		}
	}
	if made.keda != nil {
		// The HPA of KEDA is deleted with its owner, in a minute at most. This is faster; a user
		// who may not delete it waits for that.
		hpa := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: made.keda.GetNamespace(), Name: kedaHPA + made.name}}
		if err := p.gone(ctx, hpa); err != nil && !apierrors.IsForbidden(err) {
			left = append(left, fmt.Sprintf("%s %s/%s is left: %s", kindName(hpa), hpa.Namespace, hpa.Name, oneLine(err)))
		}
	}
	if len(left) > 0 {
		p.failed(doctor.ProbeRemoved, left...)
		return
	}
	p.passed(doctor.ProbeRemoved, "what the probe made is removed")
}

// gone deletes an object and waits until it no longer exists.
func (p *probing) gone(ctx context.Context, object client.Object) error {
	key := client.ObjectKeyFromObject(object)
	var options []client.DeleteOption
	if uid := object.GetUID(); uid != "" {
		options = append(options, client.Preconditions{UID: &uid})
	}
	tick := time.NewTicker(probeEvery / 2)
	defer tick.Stop()
	for {
		err := p.client.Delete(ctx, object, options...)
		if apierrors.IsForbidden(err) {
			return err
		}
		if err == nil {
			err = p.client.Get(ctx, key, object)
		}
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err == nil {
			err = errors.New("it is being deleted, and a finalizer keeps it")
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return err
		}
	}
}

// kindName returns the kind of an object of a probe.
func kindName(object client.Object) string {
	switch object.(type) {
	case *appsv1.Deployment:
		return "Deployment"
	case *autoscalingv2.HorizontalPodAutoscaler:
		return scaling.KindHPA
	}
	return scaling.KindScaledObject
}

// kedaSays returns why KEDA reports that a ScaledObject is not ready, "" where it does not.
func kedaSays(ctx context.Context, c client.Reader, of *unstructured.Unstructured) string {
	seen := &unstructured.Unstructured{}
	seen.SetGroupVersionKind(of.GroupVersionKind())
	if err := c.Get(ctx, client.ObjectKeyFromObject(of), seen); err != nil {
		return ""
	}
	conditions, _, _ := unstructured.NestedSlice(seen.Object, "status", "conditions")
	for _, c := range conditions {
		if m, ok := c.(map[string]any); ok && m["type"] == "Ready" && m["status"] == "False" {
			return fmt.Sprintf("Ready False %v: %v", m["reason"], m["message"])
		}
	}
	return ""
}
