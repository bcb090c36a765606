package main

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
)

// advisoryNamespace is where decisions are advice.
const advisoryNamespace = "advisory"

// advisory has a model of two variants, one of which asks for advice and the other for being scaled by the
// manager, which may do so (actuation bound the roles): both get advice, and the manager writes status
// and events alone.
func (s *stage) advisory(t *testing.T) {
	s.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: advisoryNamespace}})
	s.written()
	// The one that asks for advice comes first: a cycle between the two would carry out the decision on the other.
	for _, v := range []struct{ name, actuation string }{{"asks", "advisory"}, {"beside", "scale"}} {
		s.create(t, deploymentOf(advisoryNamespace, v.name))
		s.create(t, &v1alpha1.VariantAutoscaling{
			ObjectMeta: metav1.ObjectMeta{Namespace: advisoryNamespace, Name: v.name, Annotations: map[string]string{v1alpha1.AnnotationActuation: v.actuation}},
			Spec:       v1alpha1.VariantAutoscalingSpec{ModelID: "advised", MinReplicas: 1},
		})
	}
	annotated := managedHPA("by-hpa", "by-hpa", modelOf("by-hpa"), reads("queue_length"))
	annotated.Namespace, annotated.Annotations[v1alpha1.AnnotationActuation] = advisoryNamespace, "advisory"
	s.create(t, deploymentOf(advisoryNamespace, "by-hpa"))
	s.create(t, annotated)

	both := map[string]string{"asks": "1", "beside": "1"}
	s.eventually(t, "both variants of the model have advice of the minimum", func() bool {
		got := s.published(t, metrics.AdvisedReplicas, advisoryNamespace)
		return got["asks"] == both["asks"] && got["beside"] == both["beside"]
	})
	s.eventually(t, "an HPA that reads something else has advice, too", func() bool {
		_, known := s.published(t, metrics.AdvisedReplicas, advisoryNamespace)["by-hpa"]
		return known
	})
	for _, name := range []string{"asks", "beside"} {
		s.eventually(t, "the status of "+name+" says so", func() bool {
			following, ready := s.stated(t, name, v1alpha1.ConditionScalerFollowing), s.stated(t, name, v1alpha1.ConditionReady)
			return following != nil && following.Status == metav1.ConditionUnknown && following.Reason == string(v1alpha1.ReasonAdvisory) &&
				ready != nil && ready.Status == metav1.ConditionFalse // here for want of metrics, which stand in the way first
		})
		s.eventually(t, "and an event", func() bool { return s.events(t, advisoryNamespace, name, "Advised") != "" })
		if told := s.events(t, advisoryNamespace, name, "NotFollowed"); told != "" {
			t.Errorf("%s is told not to be followed: %s", name, told)
		}
	}
	if got := s.stated(t, "beside", v1alpha1.ConditionConfigurationValid); got == nil || got.Status != metav1.ConditionTrue {
		t.Errorf("the annotation of beside is not accepted: %+v", got)
	}
	for _, name := range []string{metrics.DesiredReplicas, metrics.DesiredRatio, metrics.ScalingDecision, metrics.ScalerFollowing} {
		if got := s.published(t, name, advisoryNamespace); len(got) > 0 {
			t.Errorf("%s is published: %v", name, got)
		}
	}
	if explained := s.explained(t, advisoryNamespace, "asks"); !strings.Contains(explained, "advisory") {
		t.Errorf("wva explain does not say so: %s", explained)
	}
	var wrote []string
	s.settleWith(t, func(w string) { wrote = append(wrote, w) })
	if wrong := foreign(wrote); len(wrong) > 0 {
		t.Errorf("the manager wrote %q", wrong)
	}
	t.Run("TheSettingIsForAllModels", s.advisorySetting)
	t.Run("WithoutTheAnnotationTheModelIsScaledFromWhatRuns", s.advisoryEnds)
}

// foreign returns the writes that are none of status, events and stored decisions: those to targets,
// scalers and pods.
func foreign(writes []string) []string {
	return slices.DeleteFunc(slices.Clone(writes), func(w string) bool {
		return !strings.Contains(w, "/scale") && !strings.Contains(w, "/deployments/") && !strings.Contains(w, "/horizontalpodautoscalers/") && !strings.Contains(w, "/pods/")
	})
}

// advisorySetting makes all decisions advice, and undoes that.
func (s *stage) advisorySetting(t *testing.T) {
	const settings = "workload-variant-autoscaler-variantautoscaling-config"
	before := len(family(t, metrics.DesiredReplicas))
	s.configure(t, settings, map[string]string{"WVA_ADVISORY": "true"})
	s.eventually(t, "every decision is advice", func() bool {
		return len(family(t, metrics.DesiredReplicas)) == 0 && len(family(t, metrics.AdvisedReplicas)) >= before
	})
	s.configure(t, settings, map[string]string{"WVA_ADVISORY": "false"})
	s.eventually(t, "decisions are published again, but for those that are to be advice", func() bool {
		return len(family(t, metrics.DesiredReplicas)) == before && len(s.published(t, metrics.AdvisedReplicas, advisoryNamespace)) == 3
	})
	s.settle(t)
}

// advisoryEnds takes the annotation away: what was asked for otherwise holds, from the replicas that run.
func (s *stage) advisoryEnds(t *testing.T) {
	asks := &v1alpha1.VariantAutoscaling{ObjectMeta: metav1.ObjectMeta{Namespace: advisoryNamespace, Name: "asks"}}
	if err := s.client.Patch(t.Context(), asks, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"wva.llmd.ai/actuation":null}}}`))); err != nil {
		t.Fatal(err)
	}
	s.eventually(t, "the decisions are published", func() bool {
		got := s.published(t, metrics.DesiredReplicas, advisoryNamespace)
		return got["asks"] == "1" && got["beside"] == "1"
	})
	s.eventually(t, "and the manager scales the variant that asks for it", func() bool {
		d := deploymentOf(advisoryNamespace, "beside")
		if err := s.client.Get(t.Context(), client.ObjectKeyFromObject(d), d); err != nil {
			t.Fatal(err)
		}
		return *d.Spec.Replicas == 1
	})
	s.eventually(t, "which the status says", func() bool {
		c := s.stated(t, "beside", v1alpha1.ConditionScalerFollowing)
		return c != nil && c.Status == metav1.ConditionTrue
	})
	s.settleWith(t, func(w string) {
		if strings.HasPrefix(w, http.MethodPut) && strings.Contains(w, "/scale") && !strings.Contains(w, "beside") {
			t.Errorf("the manager wrote %s", w)
		}
	})
}

// stated returns a condition of an advisory object, nil while it has none.
func (s *stage) stated(t *testing.T, name string, kind v1alpha1.ConditionType) *metav1.Condition {
	t.Helper()
	var va v1alpha1.VariantAutoscaling
	if err := s.client.Get(t.Context(), client.ObjectKey{Namespace: advisoryNamespace, Name: name}, &va); err != nil {
		t.Fatal(err)
	}
	return meta.FindStatusCondition(va.Status.Conditions, string(kind))
}
