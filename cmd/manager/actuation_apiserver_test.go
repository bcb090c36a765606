package main

import (
	"bufio"
	"bytes"
	"strings"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/config/rbac"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
)

// actingNamespace is where objects ask the manager to set replicas.
const actingNamespace = "acting"

// actuation has the manager start the first replica of what may not have fewer than
// one: without the role for that, with it, and beside a live HPA.
func (s *stage) actuation(t *testing.T) {
	s.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: actingNamespace}})
	for _, name := range []string{"alone", "chat", "rivals", "halted"} {
		s.create(t, deploymentOf(actingNamespace, name))
	}
	for _, name := range []string{"chat", "rivals"} {
		h := followerOf(name)
		s.create(t, h)
		// No HPA controller runs here, which would be named after a minute.
		h.Status.Conditions = []autoscalingv2.HorizontalPodAutoscalerCondition{{Type: autoscalingv2.AbleToScale, Status: corev1.ConditionTrue}}
		if err := s.client.Status().Update(t.Context(), h); err != nil {
			t.Fatal(err)
		}
	}
	for name, annotations := range map[string]map[string]string{
		"alone":  {v1alpha1.AnnotationActuation: "scale"},
		"chat":   {v1alpha1.AnnotationActuation: "zero"},
		"rivals": {v1alpha1.AnnotationActuation: "scale"},
		"halted": {v1alpha1.AnnotationActuation: "scale", v1alpha1.AnnotationPaused: "true"},
	} {
		s.create(t, &v1alpha1.VariantAutoscaling{
			ObjectMeta: metav1.ObjectMeta{Namespace: actingNamespace, Name: name, Annotations: annotations},
			Spec:       v1alpha1.VariantAutoscalingSpec{ModelID: name, MinReplicas: 1},
		})
	}
	for _, name := range []string{"alone", "chat"} {
		s.eventually(t, "the role that is missing is named to "+name, func() bool {
			c := s.acting(t, name, v1alpha1.ConditionScalerFollowing)
			return c != nil && c.Reason == string(v1alpha1.ReasonTargetNotMoving) &&
				strings.Contains(c.Message, `may not update deployments/scale of API group "apps"`) && strings.Contains(c.Message, rbac.ScalerRole)
		})
	}
	s.eventually(t, "and told as an event", func() bool {
		return strings.Contains(s.events(t, actingNamespace, "alone", "NotFollowed"), rbac.ScalerRole)
	})
	s.eventually(t, "two hands on one target are refused", func() bool {
		c := s.acting(t, "rivals", v1alpha1.ConditionConfigurationValid)
		return c != nil && c.Reason == string(v1alpha1.ReasonInvalidConfiguration) && strings.Contains(c.Message, "and HorizontalPodAutoscaler rivals does") &&
			strings.Contains(s.events(t, actingNamespace, "rivals", "InvalidConfiguration"), "HorizontalPodAutoscaler rivals")
	})
	s.allowScaling(t)
	s.touch(t, "alone")
	for _, name := range []string{"alone", "chat"} {
		s.eventually(t, "the first replica of "+name+" is started", func() bool { return s.asked(t, name) == 1 })
		s.eventually(t, "and nothing stands in its way", func() bool {
			c := s.acting(t, name, v1alpha1.ConditionScalerFollowing)
			return c != nil && c.Status == metav1.ConditionTrue && strings.Contains(c.Message, "by the scale subresource")
		})
	}
	for _, name := range []string{"rivals", "halted"} {
		if n := s.asked(t, name); n != 0 {
			t.Errorf("%s has %d replicas, want that the manager leaves it alone", name, n)
		}
	}
	if c := s.acting(t, "halted", v1alpha1.ConditionScalerFollowing); c == nil || !strings.Contains(c.Message, "Paused: the manager does not set the replicas") {
		t.Errorf("what is paused says %+v", c)
	}
	counted := map[string]float64{}
	for _, m := range family(t, metrics.ScaleUpdates) {
		counted[m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
	}
	if counted[string(metrics.Forbidden)] < 2 || counted[string(metrics.Success)] != 2 || counted[string(metrics.Failure)] != 0 {
		t.Errorf("counted %v, want refusals of both at first, then two that went well", counted)
	}
	s.settle(t)
}

// followerOf returns an HPA that reads the decision on a variant from nowhere.
func followerOf(name string) *autoscalingv2.HorizontalPodAutoscaler {
	one := resource.MustParse("1")
	return &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: actingNamespace, Name: name},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: name},
			MaxReplicas:    3,
			Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ExternalMetricSourceType, External: &autoscalingv2.ExternalMetricSource{
				Metric: autoscalingv2.MetricIdentifier{Name: metrics.DesiredReplicas, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{metrics.LabelVariant: name}}},
				Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: &one},
			}}},
		},
	}
}

// acting returns a condition of an object that asks to be acted for, nil while it
// has none.
func (s *stage) acting(t *testing.T, name string, kind v1alpha1.ConditionType) *metav1.Condition {
	t.Helper()
	var va v1alpha1.VariantAutoscaling
	if err := s.client.Get(t.Context(), client.ObjectKey{Namespace: actingNamespace, Name: name}, &va); err != nil {
		t.Fatal(err)
	}
	return meta.FindStatusCondition(va.Status.Conditions, string(kind))
}

// asked returns what a Deployment is asked to run.
func (s *stage) asked(t *testing.T, name string) int32 {
	t.Helper()
	d := deploymentOf(actingNamespace, name)
	if err := s.client.Get(t.Context(), client.ObjectKeyFromObject(d), d); err != nil {
		t.Fatal(err)
	}
	return *d.Spec.Replicas
}

// events returns what events of a reason say of an object.
func (s *stage) events(t *testing.T, namespace, name, reason string) string {
	t.Helper()
	var list corev1.EventList
	if err := s.client.List(t.Context(), &list, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for i := range list.Items {
		if e := &list.Items[i]; e.InvolvedObject.Name == name && e.Reason == reason {
			said.WriteString(e.Message + "\n")
		}
	}
	return said.String()
}

// touch changes an object in what wakes a cycle and changes no decision.
func (s *stage) touch(t *testing.T, name string) {
	t.Helper()
	va := &v1alpha1.VariantAutoscaling{ObjectMeta: metav1.ObjectMeta{Namespace: actingNamespace, Name: name}}
	if err := s.client.Patch(t.Context(), va, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"maxReplicas":7}}`))); err != nil {
		t.Fatal(err)
	}
}

// allowScaling gives the account what the roles for actuation allow.
func (s *stage) allowScaling(t *testing.T) {
	t.Helper()
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(rbac.ActuationRoles())))
	for range 2 {
		document, err := documents.Read()
		if err != nil {
			t.Fatal(err)
		}
		var role rbacv1.ClusterRole
		if err := yaml.UnmarshalStrict(document, &role); err != nil {
			t.Fatal(err)
		}
		s.create(t, &role)
		s.create(t, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role.Name}, Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: account}},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		})
	}
}
