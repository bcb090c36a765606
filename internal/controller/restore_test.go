package controller

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/ledger"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// listed is a cache that holds VariantAutoscalings.
type listed struct {
	client.Reader // other methods panic
	items         []v1alpha1.VariantAutoscaling
	err           error
}

func (l listed) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*v1alpha1.VariantAutoscalingList).Items = l.items
	return l.err
}

func TestRestoreTakesOverWhatStatusHolds(t *testing.T) {
	const steady, held, overdue, inert = "steady", "held", "overdue", "inert"
	with := func(name string, status v1alpha1.VariantAutoscalingStatus) v1alpha1.VariantAutoscaling {
		return *object(func(va *v1alpha1.VariantAutoscaling) { va.Name, va.Status = name, status })
	}
	late := statusAfter(object(), explanation(deciding(3, scaling.ReasonSaturated)))
	meta.SetStatusCondition(&late.Conditions, metav1.Condition{
		Type: string(v1alpha1.ConditionScalerFollowing), Status: metav1.ConditionFalse, Reason: string(v1alpha1.ReasonPodsUnschedulable),
	})
	latent := statusAfter(object(), explanation()) // its target has the decided replicas
	meta.SetStatusCondition(&latent.Conditions, metav1.Condition{
		Type: string(v1alpha1.ConditionScalerFollowing), Status: metav1.ConditionFalse, Reason: string(v1alpha1.ReasonNoScaler),
	})
	suppressed := statusAfter(object(), explanation(deciding(3, scaling.ReasonSaturated)))
	meta.SetStatusCondition(&suppressed.Conditions, metav1.Condition{
		Type: string(v1alpha1.ConditionDeploymentTargetConflict), Status: metav1.ConditionTrue, Reason: string(v1alpha1.ReasonSuppressedDueToConflict),
	})
	advised := statusAfter(object(), explanation(deciding(3, scaling.ReasonSaturated), advisory))
	undated := statusAfter(object(), explanation())
	undated.DesiredOptimizedAlloc.LastUpdate.UpdateTime = nil
	none := statusAfter(object(), explanation(unreadable, undecided))
	reader := listed{items: []v1alpha1.VariantAutoscaling{
		with(steady, statusAfter(object(), explanation(deciding(3, scaling.ReasonSaturated)))),
		with(held, statusAfter(object(), explanation(), explanation(later(200), fallback(2)))),
		with(overdue, late), with(inert, latent), with("suppressed", suppressed), with("advised", advised), with("undated", undated), with("none", none), with("new", v1alpha1.VariantAutoscalingStatus{}),
	}}
	book := ledger.New()
	if err := Restore(t.Context(), reader, book); err != nil {
		t.Fatal(err)
	}
	key := func(name string) scaling.VariantKey { return scaling.VariantKey{Namespace: "n", Name: name} }
	want := memory.History{
		key(steady):  {Desired: 3, Change: 1, DecidedAt: at(100)},
		key(held):    {Desired: 2, DecidedAt: at(200)},
		key(overdue): {Desired: 3, Change: 1, DecidedAt: at(100), ProgressAt: at(100)},
		key(inert):   {Desired: 2, DecidedAt: at(40)},
	}
	if diff := cmp.Diff(book.History(), want); diff != "" {
		t.Errorf("-got +want:\n%s", diff)
	}
	for name, want := range map[string]time.Time{steady: at(100), held: at(200)} {
		if got := book.AgesFrom(key(name)); !got.Equal(want) {
			t.Errorf("%s: as old as %v, want %v", name, got, want)
		}
	}
}

func TestRestoreFailsWhenNothingCanBeRead(t *testing.T) {
	if err := Restore(t.Context(), listed{err: errors.New("boom")}, ledger.New()); err == nil {
		t.Error("no error")
	}
}

// TestRestartCausesNoWrite restores a decision into a new process, whose first
// cycle confirms it.
func TestRestartCausesNoWrite(t *testing.T) {
	before := newFixture()
	before.cycle(10, 1, 2, scaling.ReasonSaturated)
	before.reconcile(t)

	after := newFixture()
	after.objects.objects = before.objects.objects
	if err := Restore(t.Context(), listed{items: []v1alpha1.VariantAutoscaling{*before.objects.objects[requestV().NamespacedName]}}, after.ledger); err != nil {
		t.Fatal(err)
	}
	after.cycle(20, 1, 2, scaling.ReasonInTransition)
	after.reconcile(t)
	if after.objects.writes != 0 || len(after.events.told) != 0 {
		t.Errorf("got %d writes and events %v, want none", after.objects.writes, after.events.told)
	}
}
