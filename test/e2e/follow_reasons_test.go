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

// TestWhoeverDoesNotFollowIsNamed provokes each reason of ScalerFollowing with
// the real HPA controller. The decisions need no load: they are for the lower
// bound. The last variant shows that patience is no reason: its HPA waits five
// minutes before it shrinks, as it does by default.
func TestWhoeverDoesNotFollowIsNamed(t *testing.T) {
	const ns = "reasons"
	// The first of two HPAs to come does act, because it does not know of the other.
	alone := func(h *autoscalingv2.HorizontalPodAutoscaler) { h.Spec.MaxReplicas = 1 }
	scenarios := []struct {
		name     string
		running  int32 // where the lower bound asks for one more
		hpa      func(*autoscalingv2.HorizontalPodAutoscaler)
		want     string
		messages []string
	}{
		{"nobody", 1, nil, "NoScaler", []string{"scales Deployment nobody"}},
		{"deaf", 1, func(h *autoscalingv2.HorizontalPodAutoscaler) {
			h.Spec.Metrics[0].External.Metric.Selector.MatchLabels["variant_name"] = "somebody"
		}, "HPANotReadingMetric", []string{"variant_name=somebody", "does not match", "FailedGetExternalMetric: the HPA was unable to"}},
		{
			"bounded", 1, func(h *autoscalingv2.HorizontalPodAutoscaler) { h.Spec.MaxReplicas = 1 },
			"HPALimited",
			[]string{"minReplicas 1 and maxReplicas 1"},
		},
		{"tolerant", 2, func(h *autoscalingv2.HorizontalPodAutoscaler) {
			half := resource.MustParse("0.5") // 3 of 2 are just within
			h.Spec.Behavior.ScaleUp.Tolerance = &half
		}, "HPATolerance", []string{"spec.behavior.scaleUp.tolerance is 50 %"}},
		{
			"lazy", 10, func(h *autoscalingv2.HorizontalPodAutoscaler) { h.Spec.Behavior = nil },
			"HPATolerance",
			[]string{"the cluster's, 10 %", `Set spec.behavior.scaleUp.tolerance to "0"`},
		},
		{"refused", 1, func(*autoscalingv2.HorizontalPodAutoscaler) {}, "TargetNotMoving", []string{"FailedUpdateScale"}},
		{"empty", 0, func(*autoscalingv2.HorizontalPodAutoscaler) {}, "HPANotReadingMetric", []string{"zero replicas", "ScalingDisabled"}},
		{
			"rivals", 1, alone, "HPANotReadingMetric",
			[]string{"HorizontalPodAutoscaler rivals and HorizontalPodAutoscaler rivals-too scale the same target"},
		},
	}
	refuseToScale(t, ns, "refused")
	for _, s := range scenarios {
		v := aside(ns, s.name)
		v.Replicas, v.Min = s.running, s.running+1
		if s.running > 2 { // there are 16 accelerators of a kind
			v.GPU, v.Accelerator = "NVIDIA-A100-PCIE-80GB", "A100"
		}
		deploy(t, v)
		if s.hpa != nil {
			apply(t, follower(v, s.hpa))
		}
	}
	apply(t, follower(aside(ns, "rivals"), func(h *autoscalingv2.HorizontalPodAutoscaler) { h.Name = "rivals-too"; alone(h) }))
	patient := aside(ns, "patient")
	patient.Replicas = 2
	deploy(t, patient)
	apply(t, follower(patient, func(h *autoscalingv2.HorizontalPodAutoscaler) { h.Spec.Behavior = nil }))

	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			message := condition(t, 3*time.Minute, ns, s.name, "ScalerFollowing", "False", s.want)
			t.Log(message)
			for _, part := range s.messages {
				if !strings.Contains(message, part) {
					t.Errorf("message %q does not say %q", message, part)
				}
			}
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

	t.Run("it follows once it can", func(t *testing.T) {
		apply(t, follower(aside(ns, "bounded"), func(h *autoscalingv2.HorizontalPodAutoscaler) { h.Spec.MaxReplicas = 5 }))
		condition(t, time.Minute, ns, "bounded", "ScalerFollowing", "True", "Following")
		settled(t, ns, "bounded")
	})

	t.Run("a scaler that waits is not named", func(t *testing.T) {
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
	})
}

// TestAScaledObjectThatIsPausedIsNamed has a ScaledObject in the cluster, and no
// KEDA behind it: what is not carried out is what is to be seen.
func TestAScaledObjectThatIsPausedIsNamed(t *testing.T) {
	const ns = "keda"
	definition := scaledObjects()
	apply(t, definition)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := shared.bed.Client.Delete(ctx, definition); err != nil {
			t.Errorf("removing the definition of ScaledObjects: %v", err)
		}
		restart(t, testbed.ManagerOptions{Interval: interval})
	})
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
	eventually(t, time.Minute, func(ctx context.Context) string {
		if err := shared.bed.Apply(ctx, object.DeepCopy()); err != nil {
			return err.Error() // the definition is not served yet
		}
		return ""
	})
	restart(t, testbed.ManagerOptions{Interval: interval}) // a cluster without KEDA is asked again after a while only
	message := condition(t, 3*time.Minute, ns, "paused", "ScalerFollowing", "False", "TargetNotMoving")
	if want := "ScaledObject by-keda is paused"; !strings.Contains(message, want) {
		t.Errorf("message %q does not say %q", message, want)
	}
}

// aside is a variant of a model of its own, without anybody to scale it.
func aside(namespace, name string) testbed.Variant {
	v := chat(namespace, name)
	v.ModelID, v.NoHPA = "meta/"+name, true
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
					Rule:       admissionv1.Rule{APIGroups: []string{appsv1.GroupName}, APIVersions: []string{"v1"}, Resources: []string{"deployments/scale"}, Scope: &scope},
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
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "scaledobjects", Singular: "scaledobject", Kind: "ScaledObject", ListKind: "ScaledObjectList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1alpha1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: &anything,
				}},
			}},
		},
	}
}
