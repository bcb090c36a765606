package main

import (
	"bufio"
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/config/rbac"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/store"
)

// annotatedNamespace is where HPAs are variants by their annotations.
const annotatedNamespace = "annotated"

// misannotated are annotated HPAs that cannot be decided on: what an event of each says, and wva
// explain, "" where there is nothing to explain.
var misannotated = []struct {
	name, target  string
	annotations   map[string]string
	change        func(*autoscalingv2.HorizontalPodAutoscaler)
	reason, event string
	explained     string
}{
	{"nameless", "", nil, nil, "Held", `llm-d.ai/model-id is "": want the ID of the model`, `llm-d.ai/model-id is ""`},
	{"blank", "", modelOf("  "), nil, "Held", `llm-d.ai/model-id is "  ": want the ID of the model`, "llm-d.ai/model-id is"},
	{"dear", "", costing("ten"), nil, "Held", `llm-d.ai/variant-cost is "ten": want a decimal number`, `llm-d.ai/variant-cost is "ten"`},
	{"owing", "", costing("-1"), nil, "Held", `llm-d.ai/variant-cost is "-1": want a decimal number`, `llm-d.ai/variant-cost is "-1"`},
	{
		"nameless-and-dear", "",
		map[string]string{v1alpha1.AnnotationVariantCost: "ten"},
		nil, "Held",
		`that the target serves; annotation llm-d.ai/variant-cost is "ten": want a decimal number`, `llm-d.ai/variant-cost is "ten"`,
	},
	{"boundless", "", costing("Inf"), nil, "Held", `llm-d.ai/variant-cost is "Inf"`, `llm-d.ai/variant-cost is "Inf"`},
	{
		"shared-a", "shared", modelOf("m"), nil, "Held",
		"HorizontalPodAutoscaler shared-a and HorizontalPodAutoscaler shared-b have the annotation llm-d.ai/managed and scale the same target", "shared-b",
	},
	{"shared-b", "shared", modelOf("m"), nil, "TargetConflict", "shared-a", ""},
	{"deaf", "", modelOf("m"), reads("queue_length"), "Held", "none of its metrics is wva_desired_replicas", "does not read its decision"},
	{"double", "", modelOf("m"), readsTwice, "Held", "by the target type Value, which an HPA multiplies by its ready pods", "multiplies by its ready pods"},
	{"unscalable", "each", modelOf("m"), scalesKind("DaemonSet"), "InvalidConfiguration", "scale subresource", "scale subresource"},
	{"lost", "nowhere", modelOf("m"), nil, "InvalidConfiguration", `Deployment "nowhere" not found`, "not found"},
}

func modelOf(id string) map[string]string { return map[string]string{v1alpha1.AnnotationModelID: id} }

func costing(cost string) map[string]string {
	return map[string]string{v1alpha1.AnnotationModelID: "m", v1alpha1.AnnotationVariantCost: cost}
}

func reads(metric string) func(*autoscalingv2.HorizontalPodAutoscaler) {
	return func(h *autoscalingv2.HorizontalPodAutoscaler) { h.Spec.Metrics[0].External.Metric.Name = metric }
}

// readsTwice has an HPA read its decision by both types of target.
func readsTwice(h *autoscalingv2.HorizontalPodAutoscaler) {
	m := h.Spec.Metrics[0].DeepCopy()
	m.External.Target = autoscalingv2.MetricTarget{Type: autoscalingv2.ValueMetricType, Value: resource.NewQuantity(1, resource.DecimalSI)}
	h.Spec.Metrics = append(h.Spec.Metrics, *m)
}

func scalesKind(kind string) func(*autoscalingv2.HorizontalPodAutoscaler) {
	return func(h *autoscalingv2.HorizontalPodAutoscaler) { h.Spec.ScaleTargetRef.Kind = kind }
}

// annotated has HPAs that are variants decided on as VariantAutoscalings are, with their mistakes
// named, and nothing written to them.
func (s *stage) annotated(t *testing.T) {
	s.allowStoring(t)
	s.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: annotatedNamespace}})
	s.written()
	for _, name := range []string{"chat", "shared"} {
		s.create(t, deploymentOf(annotatedNamespace, name))
	}
	s.create(t, managedHPA("chat", "chat", modelOf("chat")))
	for _, m := range misannotated {
		target := m.target
		if target == "" {
			target = m.name
			s.create(t, deploymentOf(annotatedNamespace, target))
		}
		if m.change == nil {
			m.change = func(*autoscalingv2.HorizontalPodAutoscaler) {}
		}
		s.create(t, managedHPA(m.name, target, m.annotations, m.change))
	}
	s.eventually(t, "the decision on an HPA is published, told to it, and stored", func() bool {
		return s.desired(t)["chat"] == "1" && strings.Contains(s.eventsOf(t, "HorizontalPodAutoscaler chat", "Decided"), "cycle") &&
			strings.Contains(s.stored(t), `"chat":{"uid"`)
	})
	for _, m := range misannotated {
		s.eventuallyOr(t, func() string {
			return fmt.Sprintf("an event %s of %s says %q; there are %s", m.reason, m.name, m.event, s.eventsOf(t, "HorizontalPodAutoscaler "+m.name, ""))
		}, func() bool {
			return strings.Contains(s.eventsOf(t, "HorizontalPodAutoscaler "+m.name, m.reason), m.event)
		})
		if got := s.explained(t, annotatedNamespace, m.name); !strings.Contains(got, m.explained) || (got == "") != (m.explained == "") {
			t.Errorf("wva explain %s says %q, want %q in it", m.name, got, m.explained)
		}
		if got := s.desired(t)[m.name]; got != "" && got != "0" {
			t.Errorf("%s is told to have %s replicas, and has none", m.name, got)
		}
	}
	if got, published := s.desired(t)["double"]; published {
		t.Errorf("who multiplies what it reads by two types is told %s", got)
	}
	// A second cause of the same condition is an event of its own.
	s.create(t, managedHPA("shared-c", "shared", modelOf("m")))
	s.eventuallyOr(t, func() string {
		return "an event of shared-a names shared-c; there are " + s.eventsOf(t, "HorizontalPodAutoscaler shared-a", "")
	}, func() bool {
		return strings.Contains(s.eventsOf(t, "HorizontalPodAutoscaler shared-a", "Held"), "shared-c")
	})
	for _, w := range s.written() {
		if strings.Contains(w, "horizontalpodautoscalers") || strings.Contains(w, "/scale") || strings.Contains(w, "variantautoscalings") && strings.Contains(w, annotatedNamespace) {
			t.Errorf("the manager wrote %s", w)
		}
	}
	s.settle(t)
	t.Run("AVariantAutoscalingWinsAndTheHPAGoesOnReading", s.annotatedBesideAnObject)
	t.Run("TheSettingIsLive", s.annotatedSetting)
	t.Run("WithoutTheAnnotationItIsNoVariant", s.annotationTaken)
}

// annotatedBesideAnObject gives the target of an annotated HPA a VariantAutoscaling, and takes it
// away: the series that the HPA reads is there all the time.
func (s *stage) annotatedBesideAnObject(t *testing.T) {
	va := &v1alpha1.VariantAutoscaling{
		ObjectMeta: metav1.ObjectMeta{Namespace: annotatedNamespace, Name: "chat-va"},
		Spec: v1alpha1.VariantAutoscalingSpec{
			ModelID: "chat", ScaleTargetRef: &v1alpha1.ScaleTargetRef{Kind: "Deployment", Name: "chat"}, MinReplicas: 1,
		},
	}
	s.create(t, va)
	s.eventually(t, "the decision on the object is published under both names", func() bool {
		by := s.desired(t)
		return by["chat-va"] == "1" && by["chat"] == "1"
	})
	if err := s.client.Delete(t.Context(), va); err != nil {
		t.Fatal(err)
	}
	s.eventually(t, "the HPA is the variant again", func() bool {
		by := s.desired(t)
		return by["chat-va"] == "" && by["chat"] != ""
	})
	s.settle(t)
}

func (s *stage) annotatedSetting(t *testing.T) {
	before := s.desired(t)
	s.configure(t, "workload-variant-autoscaler-variantautoscaling-config", map[string]string{"WVA_ANNOTATION_DISCOVERY": "false"})
	s.eventually(t, "annotated HPAs are no variants", func() bool { return len(s.desired(t)) == 0 })
	s.configure(t, "workload-variant-autoscaler-variantautoscaling-config", map[string]string{"WVA_ANNOTATION_DISCOVERY": "true"})
	s.eventuallyOr(t, func() string {
		return fmt.Sprintf("annotated HPAs are variants again: decisions are %v, were %v", s.desired(t), before)
	}, func() bool {
		return maps.Equal(s.desired(t), before)
	})
	s.settle(t)
}

func (s *stage) annotationTaken(t *testing.T) {
	h := managedHPA("chat", "chat", nil)
	if err := s.client.Patch(t.Context(), h, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"llm-d.ai/managed":null}}}`))); err != nil {
		t.Fatal(err)
	}
	s.eventually(t, "its series are gone", func() bool { return s.desired(t)["chat"] == "" })
	if n := *deploymentOf(annotatedNamespace, "chat").Spec.Replicas; n != 0 {
		t.Errorf("%d replicas", n)
	}
	s.settle(t)
}

// managedHPA returns an HPA that is a variant, and reads its decision.
func managedHPA(name, target string, annotations map[string]string, change ...func(*autoscalingv2.HorizontalPodAutoscaler)) *autoscalingv2.HorizontalPodAutoscaler {
	h := followerOf(name)
	h.Namespace = annotatedNamespace
	h.Annotations = map[string]string{v1alpha1.AnnotationManaged: "true"}
	maps.Copy(h.Annotations, annotations)
	h.Spec.ScaleTargetRef.Name = target
	for _, f := range change {
		f(h)
	}
	return h
}

// desired returns the published decisions of the namespace, by variant.
func (s *stage) desired(t *testing.T) map[string]string { return s.desiredIn(t, annotatedNamespace) }

// eventsOf returns what events of an object of the namespace say, of a reason unless it is "".
func (s *stage) eventsOf(t *testing.T, object, reason string) string {
	t.Helper()
	return s.eventsIn(t, annotatedNamespace, object, reason)
}

// eventsIn is eventsOf in another namespace.
func (s *stage) eventsIn(t *testing.T, namespace, object, reason string) string {
	t.Helper()
	var list corev1.EventList
	if err := s.client.List(t.Context(), &list, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for i := range list.Items {
		e := &list.Items[i]
		if e.InvolvedObject.Kind+" "+e.InvolvedObject.Name == object && (reason == "" || e.Reason == reason) {
			said.WriteString(e.Reason + ": " + e.Message + "\n")
		}
	}
	return said.String()
}

// stored returns what is stored of decisions.
func (s *stage) stored(t *testing.T) string {
	t.Helper()
	var m corev1.ConfigMap
	if err := s.client.Get(t.Context(), client.ObjectKey{Namespace: systemNamespace, Name: store.DecidedKind().ConfigMap()}, &m); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return strings.Join(slices.Sorted(maps.Values(m.Data)), "\n")
}

// allowStoring gives the account the generated role of the manager's own namespace.
func (s *stage) allowStoring(t *testing.T) {
	t.Helper()
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(rbac.ManagerRoles())))
	for {
		document, err := documents.Read()
		if err != nil {
			t.Fatal(err)
		}
		var role rbacv1.Role
		if err := yaml.Unmarshal(document, &role); err != nil {
			t.Fatal(err)
		}
		if role.Kind != "Role" {
			continue
		}
		role.Namespace = systemNamespace
		s.create(t, &role)
		s.create(t, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: role.Name}, Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: account}},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		})
		return
	}
}
