package main

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
)

// conditionsNamespace is where each VariantAutoscaling shows one condition.
const conditionsNamespace = "conditions"

// shownCondition is a condition that an object shows: its reason, and a part of its message.
type shownCondition struct {
	kind    v1alpha1.ConditionType
	reason  v1alpha1.ConditionReason
	message string
}

// shows are objects and what they show.
var shows = []struct {
	name   string
	change func(*v1alpha1.VariantAutoscaling)
	want   []shownCondition
}{
	{"found", targeting("shared-by-none"), []shownCondition{
		{v1alpha1.ConditionTargetResolved, v1alpha1.ReasonTargetFound, "shared-by-none"},
		{v1alpha1.ConditionMetricsAvailable, v1alpha1.ReasonMetricsMissing, "Check"},
		{v1alpha1.ConditionOptimizationReady, v1alpha1.ReasonFallbackUsed, "No analysis so far"},
		{v1alpha1.ConditionConfigurationValid, v1alpha1.ReasonConfigurationAccepted, "in force"},
		{v1alpha1.ConditionReady, v1alpha1.ReasonMetricsMissing, ""},
	}},
	{"absent", targeting("not-there"), []shownCondition{
		{v1alpha1.ConditionTargetResolved, v1alpha1.ReasonTargetNotFound, `Deployment "not-there" not found in namespace "conditions"`},
		{v1alpha1.ConditionOptimizationReady, v1alpha1.ReasonMetricsUnavailable, "nothing is published"},
		{v1alpha1.ConditionReady, v1alpha1.ReasonTargetNotFound, ""},
	}},
	{"unscalable", func(va *v1alpha1.VariantAutoscaling) {
		va.Spec.ScaleTargetRef = &v1alpha1.ScaleTargetRef{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "each"}
	}, []shownCondition{{v1alpha1.ConditionTargetResolved, v1alpha1.ReasonTargetNotFound, "or it has no scale subresource"}}},
	{"refused", func(va *v1alpha1.VariantAutoscaling) {
		va.Spec.ScaleTargetRef = &v1alpha1.ScaleTargetRef{APIVersion: "v1", Kind: "ReplicationController", Name: "old"}
	}, []shownCondition{{v1alpha1.ConditionTargetResolved, v1alpha1.ReasonTargetNotFound, "Add the group to rbac.targetGroups"}}},
	{"kindless", func(va *v1alpha1.VariantAutoscaling) {
		va.Spec.ScaleTargetRef = &v1alpha1.ScaleTargetRef{APIVersion: "unknown.example/v1", Kind: "Thing", Name: "thing"}
	}, []shownCondition{{v1alpha1.ConditionTargetResolved, v1alpha1.ReasonTargetNotFound, "the cluster has no such kind in unknown.example/v1"}}},
	{"paused", func(va *v1alpha1.VariantAutoscaling) {
		targeting("of-paused")(va)
		va.Annotations = map[string]string{v1alpha1.AnnotationPaused: "true"}
	}, []shownCondition{
		{v1alpha1.ConditionOptimizationReady, v1alpha1.ReasonPaused, "frozen"},
	}},
	{"halted", func(va *v1alpha1.VariantAutoscaling) {
		va.Annotations = map[string]string{v1alpha1.AnnotationPaused: "yes"}
	}, []shownCondition{{v1alpha1.ConditionConfigurationValid, v1alpha1.ReasonInvalidConfiguration, `wva.llmd.ai/paused: "yes"`}}},
	{"older", targeting("of-two"), []shownCondition{
		{v1alpha1.ConditionDeploymentTargetConflict, v1alpha1.ReasonConflictResolvedByArbitration, "younger"},
	}},
	{"younger", targeting("of-two"), []shownCondition{
		{v1alpha1.ConditionDeploymentTargetConflict, v1alpha1.ReasonSuppressedDueToConflict, "older"},
		{v1alpha1.ConditionReady, v1alpha1.ReasonSuppressedDueToConflict, ""},
	}},
	{"sized", func(*v1alpha1.VariantAutoscaling) {}, []shownCondition{
		{v1alpha1.ConditionConfigurationValid, v1alpha1.ReasonProfileMissing, "spec.variantProfile.perfParms"},
	}},
	{"unclassed", func(*v1alpha1.VariantAutoscaling) {}, []shownCondition{
		{v1alpha1.ConditionConfigurationValid, v1alpha1.ReasonServiceClassMissing, `model "unclassed" in namespace "conditions" not found in any service class`},
	}},
	{"misclassed", func(va *v1alpha1.VariantAutoscaling) {
		va.Spec.SLOClassRef = &v1alpha1.SLOClassRef{Name: "service-classes-config", Key: "platinum"}
	}, []shownCondition{{v1alpha1.ConditionConfigurationValid, v1alpha1.ReasonServiceClassMissing, "not found in any service class"}}},
	{"garbled", func(va *v1alpha1.VariantAutoscaling) {
		va.Spec.VariantProfile = &v1alpha1.VariantProfile{PerfParms: &v1alpha1.PerfParms{
			DecodeParms: map[string]string{"alpha": "7", "beta": "fast"}, PrefillParms: map[string]string{"gamma": "5", "delta": "0.1"},
		}}
	}, []shownCondition{{v1alpha1.ConditionConfigurationValid, v1alpha1.ReasonInvalidConfiguration, `spec.variantProfile.perfParms.decodeParms.beta is "fast": want a decimal number`}}},
	{"dear", func(va *v1alpha1.VariantAutoscaling) { va.Spec.ModelID, va.Spec.VariantCost = "twofold", "3" }, nil},
	{"free", func(va *v1alpha1.VariantAutoscaling) { va.Spec.ModelID = "twofold" }, nil},
}

// targeting has an object scale a Deployment.
func targeting(name string) func(*v1alpha1.VariantAutoscaling) {
	return func(va *v1alpha1.VariantAutoscaling) {
		va.Spec.ScaleTargetRef = &v1alpha1.ScaleTargetRef{Kind: "Deployment", Name: name}
	}
}

func (s *stage) conditions(t *testing.T) {
	s.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: conditionsNamespace}})
	for _, name := range []string{"shared-by-none", "of-paused", "of-two"} {
		s.create(t, deploymentOf(conditionsNamespace, name))
	}
	s.configure(t, thresholds, map[string]string{"sized": "model_id: sized\nengine: queueing", "unclassed": "model_id: unclassed\nengine: hybrid"})
	s.configure(t, "service-classes-config", map[string]string{"gold": "data: [{model: sized, slo-ttft: 500}]"})
	for _, show := range shows {
		va := &v1alpha1.VariantAutoscaling{
			ObjectMeta: metav1.ObjectMeta{Namespace: conditionsNamespace, Name: show.name}, Spec: v1alpha1.VariantAutoscalingSpec{ModelID: show.name},
		}
		show.change(va)
		s.create(t, va)
	}
	for _, show := range shows {
		for _, want := range show.want {
			var got *metav1.Condition
			s.eventuallyOr(t, func() string {
				return fmt.Sprintf("%s shows %s %s with %q, got %+v", show.name, want.kind, want.reason, want.message, got)
			}, func() bool {
				got = s.condition(t, show.name, want.kind)
				return got != nil && got.Reason == string(want.reason) && strings.Contains(got.Message, want.message)
			})
		}
	}
	s.eventually(t, "costs that cannot be compared are told of both variants, and a bad profile of its own", func() bool {
		told := s.told(t)
		return strings.Contains(told["dear"], "cannot be compared with that of free (10, the default)") &&
			strings.Contains(told["free"], "cannot be compared with that of dear (3, variantCost)") &&
			strings.Contains(told["garbled"], `beta is "fast"`) && strings.Contains(told["sized"], "perfParms")
	})
}

// told returns the notes of the events about the configuration of each object.
func (s *stage) told(t *testing.T) map[string]string {
	t.Helper()
	var list corev1.EventList
	if err := s.client.List(t.Context(), &list, client.InNamespace(conditionsNamespace)); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for i := range list.Items {
		if e := &list.Items[i]; e.Reason == "InvalidConfiguration" {
			out[e.InvolvedObject.Name] += e.Message
		}
	}
	return out
}

// condition returns a condition of an object, nil while it has none.
func (s *stage) condition(t *testing.T, name string, kind v1alpha1.ConditionType) *metav1.Condition {
	t.Helper()
	var va v1alpha1.VariantAutoscaling
	if err := s.client.Get(t.Context(), client.ObjectKey{Namespace: conditionsNamespace, Name: name}, &va); err != nil {
		t.Fatal(err)
	}
	for i := range va.Status.Conditions {
		if c := &va.Status.Conditions[i]; c.Type == string(kind) && c.ObservedGeneration == va.Generation {
			return c
		}
	}
	return nil
}

func (s *stage) create(t *testing.T, o client.Object) {
	t.Helper()
	if err := s.client.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

// deploymentOf returns a Deployment that runs nothing.
func deploymentOf(namespace, name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(0)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "engine", Image: "engine"}}},
			},
		},
	}
}

// hugeConfigMaps are ConfigMaps larger than users write by hand, each with what its user
// is told.
func (s *stage) hugeConfigMaps(t *testing.T) {
	const entries = 10_000
	many := map[string]string{}
	for i := range entries {
		many[fmt.Sprintf("entry-%05d", i)] = fmt.Sprintf("model_id: of-entry-%05d\nkvCacheThreshold: 0.7", i)
	}
	many["entry-bad"] = "model_id: model-003\nkvCacheThreshold: 7"
	before := s.cycles(t)
	s.configure(t, thresholds, many)
	concerned := func() string {
		var va v1alpha1.VariantAutoscaling
		if err := s.client.Get(t.Context(), client.ObjectKey{Namespace: fleetNamespace, Name: "v-003"}, &va); err != nil {
			t.Fatal(err)
		}
		return conditionOf(&va, v1alpha1.ConditionConfigurationValid)
	}
	s.eventually(t, "the one entry of 10,000 that is wrong is named", func() bool { return concerned() == string(v1alpha1.ReasonInvalidConfiguration) })
	s.settle(t)
	if got := s.cycles(t) - before; got != 1 {
		t.Errorf("%d cycles, want 1", got)
	}
	s.configure(t, thresholds, map[string]string{"default": "kvCacheThreshold: 0.8"})
	s.eventually(t, "it is mended", func() bool { return concerned() == string(v1alpha1.ReasonConfigurationAccepted) })
	s.settle(t)
}

// badDurations are settings that the manager must not go by.
func (s *stage) badDurations(t *testing.T) {
	const settings = "workload-variant-autoscaler-variantautoscaling-config"
	before := len(s.log.with("configuration is not what was written"))
	for i, value := range []string{"-5s", "9999999h", "99999999999999999999h", "soon"} {
		s.configure(t, settings, map[string]string{"PROMETHEUS_METRICS_CACHE_CLEANUP_INTERVAL": value})
		s.eventually(t, fmt.Sprintf("%q is named", value), func() bool {
			said := s.log.with("configuration is not what was written")
			return len(said) == before+i+1 && strings.Contains(said[len(said)-1], "a duration from 1s to 24h")
		})
	}
	s.configure(t, settings, map[string]string{})
	s.settle(t)
	if n := s.decided(t); n != fleetSize {
		t.Errorf("%d objects are told that their configuration is accepted, want all", n)
	}
}

// twoClasses has a model in two service classes.
func (s *stage) twoClasses(t *testing.T) {
	s.configure(t, "service-classes-config", map[string]string{
		"b": "data: [{model: model-005, slo-ttft: 2}]", "a": "data: [{model: model-005, slo-ttft: 1}]",
	})
	s.eventually(t, "the second of two classes with one model is named, with the first", func() bool {
		var va v1alpha1.VariantAutoscaling
		if err := s.client.Get(t.Context(), client.ObjectKey{Namespace: fleetNamespace, Name: "v-005"}, &va); err != nil {
			t.Fatal(err)
		}
		for _, c := range va.Status.Conditions {
			if c.Type == string(v1alpha1.ConditionConfigurationValid) {
				return strings.Contains(c.Message, "has a row already") && strings.Contains(c.Message, "in force: that of a")
			}
		}
		return false
	})
	s.configure(t, "service-classes-config", map[string]string{})
	s.settle(t)
}
