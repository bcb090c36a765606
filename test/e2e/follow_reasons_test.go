//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/testbed"
)

// TestAScalerThatDoesNotFollowIsNamed provokes each reason of ScalerFollowing with
// the real HPA controller. The decisions need no load: they are for the lower
// bound. (PodsUnschedulable takes the real scheduler and some load: see
// TestAnOrderThatNoNodeTakesIsNamedAndPlannedElsewhere.)
func TestAScalerThatDoesNotFollowIsNamed(t *testing.T) {
	t.Parallel()
	const ns = "reasons"
	// The first of two HPAs to come does act, because it does not know of the other.
	alone := func(h *autoscalingv2.HorizontalPodAutoscaler) { h.Spec.MaxReplicas = 1 }
	scenarios := []struct {
		name     string
		running  int32
		least    int32 // the lower bound, which is what is decided
		hpa      func(*autoscalingv2.HorizontalPodAutoscaler)
		want     string
		messages []string
	}{
		{"unscaled", 1, 2, nil, "NoScaler", []string{"scales Deployment unscaled"}},
		{"deaf", 1, 2, func(h *autoscalingv2.HorizontalPodAutoscaler) {
			h.Spec.Metrics[0].External.Metric.Selector.MatchLabels["variant_name"] = "another"
		}, "HPANotReadingMetric", []string{"variant_name=another", "does not match", "FailedGetExternalMetric: the HPA was unable to"}},
		{
			"bounded", 1, 2, func(h *autoscalingv2.HorizontalPodAutoscaler) { h.Spec.MaxReplicas = 1 },
			"HPALimited",
			[]string{"minReplicas 1 and maxReplicas 1"},
		},
		{
			"kept", 2, 1, func(h *autoscalingv2.HorizontalPodAutoscaler) { two := int32(2); h.Spec.MinReplicas = &two },
			"HPALimited",
			[]string{"minReplicas 2 and maxReplicas 20"},
		},
		{"forbidden", 1, 2, func(h *autoscalingv2.HorizontalPodAutoscaler) {
			never := autoscalingv2.DisabledPolicySelect
			h.Spec.Behavior.ScaleUp.SelectPolicy = &never
		}, "HPALimited", []string{"spec.behavior.scaleUp.selectPolicy is Disabled"}},
		{"tolerant", 2, 3, func(h *autoscalingv2.HorizontalPodAutoscaler) {
			half := resource.MustParse("0.5") // 3 of 2 are just within
			h.Spec.Behavior.ScaleUp.Tolerance = &half
		}, "HPATolerance", []string{"spec.behavior.scaleUp.tolerance is 50 %"}},
		{
			"lazy", 10, 11, func(h *autoscalingv2.HorizontalPodAutoscaler) { h.Spec.Behavior = nil },
			"HPATolerance",
			[]string{"the cluster's, 10 %", `Set spec.behavior.scaleUp.tolerance to "0"`},
		},
		{"refused", 1, 2, func(*autoscalingv2.HorizontalPodAutoscaler) {}, "TargetNotMoving", []string{"FailedUpdateScale"}},
		{"empty", 0, 1, func(*autoscalingv2.HorizontalPodAutoscaler) {}, "HPANotReadingMetric", []string{"zero replicas", "ScalingDisabled"}},
		{
			"rivals", 1, 2, alone, "HPANotReadingMetric",
			[]string{"HorizontalPodAutoscaler rivals and HorizontalPodAutoscaler rivals-too scale the same target"},
		},
	}
	refuseToScale(t, ns, "refused")
	for _, s := range scenarios {
		v := aside(ns, s.name)
		v.Replicas, v.Min = s.running, s.least
		deploy(t, v)
		if s.hpa != nil {
			apply(t, follower(v, s.hpa))
		}
	}
	apply(t, follower(aside(ns, "rivals"), func(h *autoscalingv2.HorizontalPodAutoscaler) { h.Name = "rivals-too"; alone(h) }))

	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			condition(t, 3*time.Minute, ns, s.name, "ScalerFollowing", "False", s.want)
			// What an HPA says of itself comes after what is read in its spec.
			eventually(t, time.Minute, func(ctx context.Context) string { return saysOfScaler(ctx, ns, s.name, s.messages) })
			if message := condition(t, time.Minute, ns, s.name, "Ready", "False", readyReason(s.name, s.want)); message == "" {
				t.Error("Ready has no message")
			}
			va, err := autoscaling(t.Context(), ns, s.name)
			if err != nil {
				t.Fatal(err)
			}
			if va.Status.Actuation == nil || va.Status.Actuation.Applied {
				t.Errorf("actuation is %+v, and nothing was applied", va.Status.Actuation)
			}
			eventually(t, 30*time.Second, func(ctx context.Context) string { return notFollowed(ctx, ns, s.name, s.want) })
		})
	}

	t.Run("a steady state writes nothing", func(t *testing.T) {
		versions := map[string]string{}
		consistently(t, 20*time.Second, func(ctx context.Context) string {
			for _, s := range scenarios {
				va, err := autoscaling(ctx, ns, s.name)
				if err != nil {
					return err.Error()
				}
				if before, ok := versions[s.name]; ok && before != va.ResourceVersion {
					return s.name + " was written"
				}
				versions[s.name] = va.ResourceVersion
			}
			return ""
		})
	})

	t.Run("who scales is shown", func(t *testing.T) {
		for name, want := range map[string]string{
			"unscaled": "none", "bounded": "HorizontalPodAutoscaler/bounded",
			"rivals": "HorizontalPodAutoscaler/rivals,HorizontalPodAutoscaler/rivals-too",
		} {
			va, err := autoscaling(t.Context(), ns, name)
			if err != nil {
				t.Fatal(err)
			}
			if got := va.Status.Actuation.Scaler; got != want {
				t.Errorf("%s is scaled by %q, want %q", name, got, want)
			}
		}
	})

	t.Run("it follows once it can", func(t *testing.T) {
		apply(t, follower(aside(ns, "bounded"), func(h *autoscalingv2.HorizontalPodAutoscaler) { h.Spec.MaxReplicas = 5 }))
		condition(t, time.Minute, ns, "bounded", "ScalerFollowing", "True", "Following")
		settled(t, ns, "bounded")
	})
}

// TestAVariantWithoutAScalerIsNotReady: it has what was decided, and the next decision
// would not be carried out. It is Ready by itself once an HPA comes.
func TestAVariantWithoutAScalerIsNotReady(t *testing.T) {
	t.Parallel()
	const ns = "orphan"
	v := aside(ns, "orphan")
	deploy(t, v)
	condition(t, 30*time.Second, ns, v.Name, "ScalerFollowing", "False", "NoScaler")
	condition(t, 30*time.Second, ns, v.Name, "Ready", "False", "NoScaler")
	va, err := autoscaling(t.Context(), ns, v.Name)
	if err != nil {
		t.Fatal(err)
	}
	if a := va.Status.Actuation; a == nil || !a.Applied || a.Scaler != "none" {
		t.Errorf("actuation is %+v, want that the target has what was decided, by none", a)
	}
	eventually(t, 30*time.Second, func(ctx context.Context) string { return notFollowed(ctx, ns, v.Name, "NoScaler") })
	apply(t, follower(v, func(*autoscalingv2.HorizontalPodAutoscaler) {}))
	condition(t, 30*time.Second, ns, v.Name, "ScalerFollowing", "True", "Following")
	condition(t, 30*time.Second, ns, v.Name, "Ready", "True", "Ready")
}

// TestAScalerThatWaitsIsNotNamed: an HPA waits five minutes before it shrinks, as
// it does by default, and patience is no reason.
func TestAScalerThatWaitsIsNotNamed(t *testing.T) {
	t.Parallel()
	const ns = "patience"
	v := aside(ns, "patient")
	v.Replicas = 2
	deploy(t, v)
	apply(t, follower(v, func(h *autoscalingv2.HorizontalPodAutoscaler) { h.Spec.Behavior = nil }))
	eventually(t, 3*time.Minute, func(ctx context.Context) string {
		va, err := autoscaling(ctx, ns, "patient")
		if err != nil {
			return err.Error()
		}
		if d := va.Status.DesiredOptimizedAlloc; d == nil || d.NumReplicas != 1 {
			return fmt.Sprintf("the decision is %+v, want 1", d)
		}
		return ""
	})
	consistently(t, 90*time.Second, func(ctx context.Context) string {
		va, err := autoscaling(ctx, ns, "patient")
		if err != nil {
			return err.Error()
		}
		if c := meta.FindStatusCondition(va.Status.Conditions, "ScalerFollowing"); c == nil || c.Reason != "Following" {
			return fmt.Sprintf("%+v", c)
		}
		return ""
	})
}

// TestAScaledObjectThatIsPausedIsNamed has a ScaledObject in the cluster, and no
// KEDA behind it: what is not carried out is what is to be seen.
func TestAScaledObjectThatIsPausedIsNamed(t *testing.T) {
	t.Parallel()
	const ns = "keda"
	v := aside(ns, "paused")
	v.Min = 2
	deploy(t, v)
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
		"metadata": map[string]any{"namespace": ns, "name": "by-keda", "annotations": map[string]any{"autoscaling.keda.sh/paused": "true"}},
		"spec": map[string]any{
			"scaleTargetRef": map[string]any{"name": "paused"},
			"triggers": []any{map[string]any{"type": "prometheus", "metadata": map[string]any{
				"query": `wva_desired_replicas{variant_name="paused"}`, "threshold": "1",
			}}},
		},
	}}
	apply(t, object)
	message := condition(t, time.Minute, ns, "paused", "ScalerFollowing", "False", "ScalerPaused")
	if want := "ScaledObject by-keda is paused"; !strings.Contains(message, want) {
		t.Errorf("message %q does not say %q", message, want)
	}
}

// aside is a variant of a model of its own, without anybody to scale it.
func aside(namespace, name string) testbed.Variant {
	v := chat(namespace, name)
	v.ModelID, v.NoHPA = "meta/"+name, true
	v.GPU, v.Accelerator = poolProduct, poolAccelerator
	return v
}

// follower is the HPA of a variant, changed.
func follower(v testbed.Variant, change func(*autoscalingv2.HorizontalPodAutoscaler)) *autoscalingv2.HorizontalPodAutoscaler {
	v.NoHPA = false
	for _, o := range v.Objects() {
		if h, ok := o.(*autoscalingv2.HorizontalPodAutoscaler); ok {
			h.Spec.Behavior = h.Spec.Behavior.DeepCopy() // both directions share their rules
			change(h)
			return h
		}
	}
	return nil
}

// saysOfScaler says which of some parts the message of ScalerFollowing does not have, or
// returns "".
func saysOfScaler(ctx context.Context, namespace, name string, parts []string) string {
	va, err := autoscaling(ctx, namespace, name)
	if err != nil {
		return err.Error()
	}
	c := meta.FindStatusCondition(va.Status.Conditions, "ScalerFollowing")
	for _, part := range parts {
		if c == nil || !strings.Contains(c.Message, part) {
			return fmt.Sprintf("%+v does not say %q", c, part)
		}
	}
	return ""
}

func apply(t *testing.T, objects ...client.Object) {
	t.Helper()
	if err := shared.bed.Apply(t.Context(), objects...); err != nil {
		t.Fatal(err)
	}
}

// readyReason is what stands in the way of Ready first: of a variant without a
// replica there are no metrics.
func readyReason(name, following string) string {
	if name == "empty" {
		return "MetricsMissing"
	}
	return following
}

// notFollowed says that there is no event about a variant, or returns "".
func notFollowed(ctx context.Context, namespace, name, reason string) string {
	var events corev1.EventList
	if err := shared.bed.Client.List(ctx, &events, client.InNamespace(namespace)); err != nil {
		return err.Error()
	}
	for _, e := range events.Items {
		if e.InvolvedObject.Kind == "VariantAutoscaling" && e.InvolvedObject.Name == name && e.Reason == "NotFollowed" && strings.Contains(e.Message, reason) {
			return ""
		}
	}
	return "there is no event NotFollowed of " + name + " for " + reason
}

// refuseToScale has the API server refuse every change of a Deployment's scale.
func refuseToScale(t *testing.T, namespace, name string) {
	t.Helper()
	deny, scope := admissionv1.Fail, admissionv1.NamespacedScope
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "refuse-to-scale"},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: &deny,
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
				ResourceNames: []string{name},
				RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Update},
					Rule: admissionv1.Rule{
						APIGroups: []string{appsv1.GroupName}, APIVersions: []string{"v1"},
						Resources: []string{"deployments/scale"}, Scope: &scope,
					},
				},
			}}},
			Validations: []admissionv1.Validation{{Expression: "false", Message: "this one keeps its size"}},
		},
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: policy.ObjectMeta,
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: policy.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
			MatchResources: &admissionv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{
				MatchLabels: map[string]string{corev1.LabelMetadataName: namespace},
			}},
		},
	}
	apply(t, policy, binding)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		for _, o := range []client.Object{binding, policy} {
			if err := shared.bed.Client.Delete(ctx, o); err != nil {
				t.Errorf("removing %T: %v", o, err)
			}
		}
	})
}

// scaledObjects defines the kind of KEDA, without a rule.
func scaledObjects() *apiextensionsv1.CustomResourceDefinition {
	anything := true
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "scaledobjects.keda.sh"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "keda.sh", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Plural: "scaledobjects", Singular: "scaledobject", Kind: "ScaledObject", ListKind: "ScaledObjectList",
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1alpha1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: &anything,
				}},
			}},
		},
	}
}
