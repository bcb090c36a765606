package controller

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/budget"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

func TestAnObjectThatIsLeftOutSaysSoUntilItIsServed(t *testing.T) {
	f := newFixture()
	f.cycle(100, 2, 2, scaling.ReasonSteady)
	f.reconcile(t)
	f.events.told = nil
	f.allotted[keyV] = budget.Variants
	f.cycle(200, 2, 2, scaling.ReasonSteady)
	f.reconcile(t)
	f.reconcile(t)
	of := func(kind v1alpha1.ConditionType) *metav1.Condition {
		return meta.FindStatusCondition(f.objects.objects[requestV().NamespacedName].Status.Conditions, string(kind))
	}
	for _, kind := range []v1alpha1.ConditionType{v1alpha1.ConditionWithinBudget, v1alpha1.ConditionReady} {
		c := of(kind)
		if c == nil || c.Status != metav1.ConditionFalse || c.Reason != string(v1alpha1.ReasonBudgetExceeded) ||
			!strings.Contains(c.Message, "more than 1000 VariantAutoscalings") || !strings.Contains(c.Message, "WVA_NAMESPACE_VARIANTS") {
			t.Errorf("%s is %+v, want False with the limit and its setting", kind, c)
		}
	}
	if len(f.events.told) != 1 || !strings.HasPrefix(f.events.told[0], "Warning BudgetExceeded Not served: ") {
		t.Errorf("told %q, want one event that it is not served", f.events.told)
	}
	if last := f.gauge.exported[len(f.gauge.exported)-1]; last != "n/v false " {
		t.Errorf("exported %q, want that whether it is followed is not known", last)
	}
	delete(f.allotted, keyV)
	f.reconcile(t)
	if of(v1alpha1.ConditionWithinBudget) != nil || of(v1alpha1.ConditionReady).Reason == string(v1alpha1.ReasonBudgetExceeded) {
		t.Errorf("served again, its conditions are %+v", f.objects.objects[requestV().NamespacedName].Status.Conditions)
	}
}

// TestObjectsThatAreLeftOutDelayNoOther: twenty left-out objects of a namespace are updated at a
// time, after the objects of all other namespaces.
func TestObjectsThatAreLeftOutDelayNoOther(t *testing.T) {
	f := newFixture()
	var keys []client.ObjectKey
	for i := range 50 {
		key := client.ObjectKey{Namespace: "evil", Name: fmt.Sprint("v", i)}
		keys = append(keys, key)
		f.allotted[scaling.VariantKey{Namespace: key.Namespace, Name: key.Name}] = budget.ObjectBytes
	}
	good := client.ObjectKey{Namespace: "good", Name: "v"}
	keys = append(keys, good)
	var lengths []int
	for range 4 {
		got := f.order(keys)
		if got[0] != good {
			t.Errorf("%s comes first, want %s", got[0], good)
		}
		lengths = append(lengths, len(got))
	}
	if diff := cmp.Diff([]int{21, 21, 11, 1}, lengths); diff != "" {
		t.Errorf("objects after each cycle (-want +got):\n%s", diff)
	}
}

func TestPagesThatAreLeftOutAreToldOnceOfANamespace(t *testing.T) {
	f := newFixture()
	keys := []client.ObjectKey{requestV().NamespacedName, {Namespace: "n", Name: "gone"}}
	for _, over := range []int{2, 3, 0, 1} {
		f.over.Note(budget.Series, map[string]int{"n": over, "other": 1})
		for range 2 {
			f.tellOver(t.Context(), keys)
			slices.Reverse(keys)
		}
	}
	if len(f.events.told) != 2 || !strings.Contains(f.events.told[0], "more than 8192 series together") || !strings.Contains(f.events.told[0], "WVA_NAMESPACE_SERIES") {
		t.Errorf("told %q, want one event each time that it begins, with the limit", f.events.told)
	}
}

// TestEventsOfOneNamespaceLeaveRoomForThoseOfOthers: a tenant that edits objects in a loop causes
// an event for each edit, and uses up the budget of its own namespace only.
func TestEventsOfOneNamespaceLeaveRoomForThoseOfOthers(t *testing.T) {
	sent, clk := &fakeEvents{}, testingclock.NewFakePassiveClock(at(0))
	left := budget.NewLeftOut(nil)
	r := Budgeted(sent, clk, budget.Limits{Events: 60}, left)
	tell := func(namespace string, n int) (told int) {
		before := len(sent.told)
		for range n {
			r.Eventf(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}}, nil, corev1.EventTypeNormal, "Decided", "a", "%s", "b")
		}
		return len(sent.told) - before
	}
	if got := tell("evil", 6220); got != 61 || !strings.Contains(sent.told[60], "BudgetExceeded Events about objects of this namespace are more than 60 within an hour") {
		t.Errorf("%d of 6,220 events are sent, the last %q; want 60 and one that says so", got, sent.told[len(sent.told)-1])
	}
	if got := tell("good", 60); got != 60 {
		t.Errorf("%d of 60 events of another namespace are sent", got)
	}
	if diff := cmp.Diff([]budget.What{budget.Events}, left.Of("evil")); diff != "" || left.Of("good") != nil {
		t.Errorf("left out of evil (-want +got):\n%s, and of good %v", diff, left.Of("good"))
	}
	clk.SetTime(at(0).Add(2 * time.Hour))
	if got := tell("evil", 1); got != 1 || left.Of("evil") != nil {
		t.Errorf("hours later %d events are sent and %v left out", got, left.Of("evil"))
	}
}
