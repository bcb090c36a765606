package main

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// approvalNamespace is where reductions wait.
const approvalNamespace = "approval"

// approvals has a reduction wait until it is approved, and a freeze window hold another. The
// reductions are those of a lowered maxReplicas: no load is known here.
func (s *stage) approvals(t *testing.T) {
	s.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: approvalNamespace}})
	for name, annotations := range map[string]map[string]string{"asks": {v1alpha1.AnnotationApprove: "shrink"}, "frozen": nil} {
		deployment := deploymentOf(approvalNamespace, name)
		*deployment.Spec.Replicas = 3
		s.create(t, deployment)
		s.create(t, &v1alpha1.VariantAutoscaling{
			ObjectMeta: metav1.ObjectMeta{Namespace: approvalNamespace, Name: name, Annotations: annotations},
			Spec:       v1alpha1.VariantAutoscalingSpec{ModelID: name},
		})
	}
	decides := func(name string, replicas int32, reason v1alpha1.ConditionReason) {
		t.Helper()
		var va v1alpha1.VariantAutoscaling
		got := ""
		want := fmt.Sprintf("%d replicas, ChangesAllowed %q", replicas, reason)
		s.eventuallyOr(t, func() string { return fmt.Sprintf("%s has %s, got %s", name, want, got) }, func() bool {
			va = s.approving(t, name)
			if d := va.Status.DesiredOptimizedAlloc; d != nil {
				got = fmt.Sprintf("%d replicas, ChangesAllowed %q", d.NumReplicas, conditionOf(&va, v1alpha1.ConditionChangesAllowed))
			}
			return got == want
		})
	}
	decides("asks", 3, "")
	decides("frozen", 3, "")

	s.configure(t, "wva-schedule-config", map[string]string{"release": "allow: none\nvariant: frozen\ntimeZone: UTC\ndays: [2026-01-01..2999-12-31]"})
	decides("frozen", 3, v1alpha1.ReasonFrozen)
	one := []byte(`{"spec":{"maxReplicas":1}}`)
	s.patch(t, "asks", one)
	s.patch(t, "frozen", one)
	decides("asks", 3, v1alpha1.ReasonAwaitingApproval)
	decides("frozen", 3, v1alpha1.ReasonFrozen)

	va := s.approving(t, "asks")
	c := meta.FindStatusCondition(va.Status.Conditions, string(v1alpha1.ConditionChangesAllowed))
	if !strings.Contains(c.Message, "wva approve asks -n approval") {
		t.Errorf("the message names no command: %s", c.Message)
	}
	waits, ok := scaling.ReductionIn(va.Status.Facts[c.Type])
	if !ok || waits.From != 3 || waits.To != 1 {
		t.Fatalf("the status holds %+v, want a reduction from 3 to 1", waits)
	}
	approve := func(g scaling.Grant) {
		t.Helper()
		s.patch(t, "asks", fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.AnnotationApproved, g))
	}
	before := s.cycles(t)
	approve(scaling.Grant{Cycle: "another-1", To: 1})
	s.eventually(t, "the annotation wakes a cycle", func() bool { return s.cycles(t) > before })
	decides("asks", 3, v1alpha1.ReasonAwaitingApproval)
	approve(scaling.Grant{Cycle: waits.Cycle, To: waits.To})
	decides("asks", 1, v1alpha1.ReasonApproved)

	deployment := deploymentOf(approvalNamespace, "asks")
	if err := s.client.Patch(t.Context(), deployment, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":1}}`))); err != nil {
		t.Fatal(err)
	}
	decides("asks", 1, "") // carried out: nothing waits
	s.configure(t, "wva-schedule-config", nil)
	decides("frozen", 1, "")
	s.eventually(t, "one event tells that a reduction waits, and one of the freeze", func() bool {
		var events corev1.EventList
		if err := s.client.List(t.Context(), &events, client.InNamespace(approvalNamespace)); err != nil {
			t.Fatal(err)
		}
		told := map[string]int{}
		for i := range events.Items {
			told[events.Items[i].InvolvedObject.Name+" "+events.Items[i].Reason]++
		}
		return told["asks AwaitingApproval"] == 1 && told["frozen Frozen"] == 1
	})
}

// approving returns an object of the namespace.
func (s *stage) approving(t *testing.T, name string) v1alpha1.VariantAutoscaling {
	t.Helper()
	var va v1alpha1.VariantAutoscaling
	if err := s.client.Get(t.Context(), client.ObjectKey{Namespace: approvalNamespace, Name: name}, &va); err != nil {
		t.Fatal(err)
	}
	return va
}

// patch patches an object of the namespace.
func (s *stage) patch(t *testing.T, name string, patch []byte) {
	t.Helper()
	va := s.approving(t, name)
	if err := s.client.Patch(t.Context(), &va, client.RawPatch("application/merge-patch+json", patch)); err != nil {
		t.Fatal(err)
	}
}
