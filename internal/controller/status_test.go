package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/budget"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/ledger"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// fakeObjects holds objects and counts the writes.
type fakeObjects struct {
	objects map[client.ObjectKey]*v1alpha1.VariantAutoscaling
	writes  int
	fail    error // of the next write
	older   bool  // the definition in the cluster drops newer fields of a status
	alone   []v1alpha1.VariantAutoscaling
}

func (f *fakeObjects) Variant(_ context.Context, key client.ObjectKey) (*v1alpha1.VariantAutoscaling, error) {
	va, ok := f.objects[key]
	if !ok {
		return nil, apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	return va.DeepCopy(), nil
}

func (f *fakeObjects) Variants(context.Context) ([]client.ObjectKey, error) {
	var keys []client.ObjectKey
	for key := range f.objects {
		keys = append(keys, key)
	}
	return keys, nil
}

func (f *fakeObjects) LeftAlone(context.Context) ([]v1alpha1.VariantAutoscaling, error) {
	return f.alone, nil
}

func (f *fakeObjects) WriteStatus(_ context.Context, va *v1alpha1.VariantAutoscaling) error {
	if err := f.fail; err != nil {
		f.fail = nil
		return err
	}
	f.writes++
	if f.older {
		va.Status.Facts, va.Status.Actuation = nil, &v1alpha1.Actuation{Applied: true}
	}
	f.objects[client.ObjectKeyFromObject(va)] = va.DeepCopy()
	return nil
}

// fakeEvents records the events.
type fakeEvents struct{ told []string }

func (f *fakeEvents) Eventf(_, _ runtime.Object, kind, reason, _, note string, args ...any) {
	f.told = append(f.told, kind+" "+reason+" "+fmt.Sprintf(note, args...))
}

// noConflicts knows of no shared target.
type noConflicts struct{}

func (noConflicts) Contenders(scaling.VariantKey) []scaling.VariantKey { return nil }

// fixedScalers returns the same for every target; the zero value knows nothing.
type fixedScalers struct {
	all     scaling.Scalers
	failure scaling.Trouble
	grace   time.Duration
}

func (f *fixedScalers) Scalers(scaling.VariantKey) scaling.Scalers    { return f.all }
func (f *fixedScalers) PodFailure(scaling.VariantKey) scaling.Trouble { return f.failure }
func (f *fixedScalers) GracePeriod(scaling.VariantKey) time.Duration  { return f.grace }

// fakeHand returns the same for every target; the zero value has not acted.
type fakeHand struct {
	scaleOutcome
	watchers chan struct{}
}

func (f *fakeHand) Trouble(scaling.VariantKey) (trouble scaling.Trouble, known bool) {
	return f.trouble, f.acted
}
func (f *fakeHand) Watch() <-chan struct{} { return f.watchers }

// fixedClasses are the classes that the variants of every model name.
type fixedClasses []config.ClassRef

func (f fixedClasses) ClassRefs(scaling.ModelKey) []config.ClassRef { return f }

// fixedFindings returns the same for every variant; the zero value accepts all.
type fixedFindings struct {
	zero     bool // models may go to zero
	all      []config.Finding
	engine   string
	classes  map[string]config.Objective // by the key of a reference, "" for none
	watchers chan struct{}
}

func (f *fixedFindings) FindingsFor(scaling.ModelKey, string) []config.Finding { return f.all }
func (f *fixedFindings) Policy(_ scaling.ModelKey, refs ...config.ClassRef) config.ModelSettings {
	p := config.ModelSettings{Engine: f.engine, Objective: f.classes[""]}
	p.ScaleToZero.Enabled = f.zero
	if len(refs) > 0 {
		p.Objective = f.classes[refs[0].Key]
	}
	return p
}
func (f *fixedFindings) Watch() <-chan struct{} { return f.watchers }

// fixture is a Status for n/v with a real ledger.
type fixture struct {
	*Status
	objects *fakeObjects
	events  *fakeEvents
	ledger  *ledger.Ledger
	found   *fixedFindings
	hand    *fakeHand
	gauge   *fakeGauge

	allotted fixedAllotted
	over     *budget.LeftOut
}

// fixedAllotted holds, by object, the budget for which it is left out.
type fixedAllotted map[scaling.VariantKey]budget.What

func (f fixedAllotted) LeftOut(key scaling.VariantKey) (budget.What, bool) {
	w, out := f[key]
	return w, out
}

// fakeGauge records the exported values.
type fakeGauge struct{ exported []string }

func (f *fakeGauge) Following(key scaling.VariantKey, follows bool, reason scaling.Reason) {
	f.exported = append(f.exported, fmt.Sprintf("%s %t %s", key, follows, reason))
}

func newFixture() fixture {
	va := object()
	f := fixture{
		objects: &fakeObjects{objects: map[client.ObjectKey]*v1alpha1.VariantAutoscaling{client.ObjectKeyFromObject(va): va}},
		events:  &fakeEvents{}, ledger: ledger.New(), found: &fixedFindings{watchers: make(chan struct{}, 1)},
		hand: &fakeHand{watchers: make(chan struct{}, 1)}, gauge: &fakeGauge{},
		allotted: fixedAllotted{}, over: budget.NewLeftOut(nil),
	}
	f.Status = NewStatus(StatusOptions{
		Objects: f.objects, Ledger: f.ledger, Conflicts: noConflicts{}, Scalers: &fixedScalers{}, TargetScaler: f.hand, Configured: f.found, Classes: fixedClasses(nil), Events: f.events, Gauge: f.gauge,
		Allotted: f.allotted, Over: f.over,
	})
	return f
}

// cycle records a cycle that ends at a number of seconds, with current replicas of the target and a
// decision for to.
func (f fixture) cycle(seconds int, current, to scaling.Replicas, reason scaling.Reason) {
	e := explanation(later(seconds), running(current, current, 0), deciding(to, reason), measured(float64(seconds), 5))
	history := f.ledger.History()
	history[keyV] = history[keyV].Decide(to, at(seconds))
	f.ledger.Record(memory.Record{
		Cycle: scaling.CycleID(strconv.Itoa(seconds)), Fleet: scaling.Fleet{Variants: []scaling.Variant{e.Variant}},
		Snapshots: []scaling.Snapshot{e.Snapshot}, History: history,
		Plan: scaling.Plan{At: at(seconds), Decisions: []scaling.Decision{e.Decision}},
	})
}

func (f fixture) reconcile(t *testing.T) reconcile.Result {
	t.Helper()
	result, err := f.Reconcile(t.Context(), requestV())
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func requestV() reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKey{Namespace: "n", Name: "v"}}
}

func TestSteadyFleetCausesNoWrites(t *testing.T) {
	f := newFixture()
	for i := range 100 {
		f.cycle(10*(i+1), 2, 2, scaling.ReasonSteady)
		f.reconcile(t)
	}
	if f.objects.writes != 1 {
		t.Errorf("got %d writes in 100 cycles, want the first one", f.objects.writes)
	}
	if len(f.events.told) != 0 {
		t.Errorf("got events %v", f.events.told)
	}
}

func TestStatusFollowsTheDecision(t *testing.T) {
	f := newFixture()
	f.reconcile(t) // before the first cycle
	if f.objects.writes != 0 {
		t.Fatal("a status was written before the first cycle")
	}
	for i, c := range []struct {
		current, to scaling.Replicas
		reason      scaling.Reason
		writes      int
	}{
		{1, 1, scaling.ReasonSteady, 1},
		{1, 2, scaling.ReasonSaturated, 2},    // the order
		{1, 2, scaling.ReasonInTransition, 2}, // nothing has changed
		{2, 2, scaling.ReasonInTransition, 3}, // the target has followed
		{2, 2, scaling.ReasonSteady, 3},
	} {
		f.cycle(10*(i+1), c.current, c.to, c.reason)
		f.reconcile(t)
		if f.objects.writes != c.writes {
			t.Errorf("cycle %d: got %d writes, want %d", i, f.objects.writes, c.writes)
		}
	}
	got := f.objects.objects[requestV().NamespacedName].Status
	want := &v1alpha1.OptimizedAlloc{
		LastRunTime: stamp(40), Accelerator: "A100", NumReplicas: 2,
		LastUpdate: &v1alpha1.LastUpdate{UpdateTime: stamp(20), NumReplicasChanged: 1, Reason: "Saturated"},
	}
	if diff := cmp.Diff(got.DesiredOptimizedAlloc, want); diff != "" {
		t.Errorf("-got +want:\n%s", diff)
	}
	if got.CurrentAlloc.TTFTAverage != "40.00" {
		t.Errorf("ttft is %s, want that of the last write", got.CurrentAlloc.TTFTAverage)
	}
	told := []string{
		"Normal Decided from 1 to 2 replicas; the target asks for 1: Saturated (why); cycle 20",
		"Normal ScaledUp from 1 to 2 replicas: Saturated (why); cycle 20",
	}
	if diff := cmp.Diff(f.events.told, told); diff != "" {
		t.Errorf("events, -got +want:\n%s", diff)
	}
}

func TestFailedWriteIsTriedAgainAndTellsNothing(t *testing.T) {
	f := newFixture()
	f.cycle(10, 1, 2, scaling.ReasonSaturated)

	f.objects.fail = apierrors.NewConflict(schema.GroupResource{}, "v", errors.New("changed"))
	if result := f.reconcile(t); result.RequeueAfter <= 0 {
		t.Error("a conflict is not tried again")
	}
	f.objects.fail = errors.New("boom")
	if _, err := f.Reconcile(t.Context(), requestV()); err == nil {
		t.Error("an error is swallowed")
	}
	if len(f.events.told) != 0 {
		t.Errorf("told before it was written: %v", f.events.told)
	}
	f.reconcile(t)
	if len(f.events.told) != 1 || f.objects.writes != 1 {
		t.Errorf("got %d writes and events %v, want one of each", f.objects.writes, f.events.told)
	}
}

func TestAStatusThatMayNotBeWrittenIsToldAsAnEventOnce(t *testing.T) {
	f := newFixture()
	f.cycle(10, 1, 2, scaling.ReasonSaturated)
	refused := apierrors.NewForbidden(schema.GroupResource{Resource: "variantautoscalings"}, "v", errors.New("cannot update"))
	for range 3 {
		f.objects.fail = refused
		if _, err := f.Reconcile(t.Context(), requestV()); !apierrors.IsForbidden(err) {
			t.Errorf("got %v, want the refusal", err)
		}
	}
	f.reconcile(t)
	f.cycle(20, 2, 3, scaling.ReasonSaturated)
	f.objects.fail = refused
	if _, err := f.Reconcile(t.Context(), requestV()); err == nil {
		t.Error("an error is swallowed")
	}
	refusal := "Warning StatusNotWritten the status is not written and is that of an earlier cycle: " + refused.Error() + "; cycle "
	want := []string{refusal + "10", "Normal Decided from 1 to 2 replicas; the target asks for 1: Saturated (why); cycle 10", refusal + "20"}
	if diff := cmp.Diff(f.events.told, want); diff != "" {
		t.Errorf("events, -got +want:\n%s", diff)
	}
}

// TestAnOlderDefinitionIsTold: the API server accepts a status and drops a part of it.
func TestAnOlderDefinitionIsTold(t *testing.T) {
	f := newFixture()
	f.scalers, f.objects.older = &fixedScalers{all: by()}, true
	for i := range 3 {
		f.cycle(10*(i+1), 1, scaling.Replicas(2+i), scaling.ReasonSaturated)
		f.reconcile(t)
	}
	told := slices.DeleteFunc(slices.Clone(f.events.told), func(e string) bool { return !strings.Contains(e, "OlderDefinition") })
	if len(told) != 1 || !strings.Contains(told[0], "Warning OlderDefinition the CustomResourceDefinition in the cluster is of an older version and drops parts of the status") {
		t.Errorf("got events %q, want one OlderDefinition", f.events.told)
	}
}

// TestObjectsOfNamespacesThatAreLeftAloneAreTold once, and once more when the exclusion begins
// again.
func TestObjectsOfNamespacesThatAreLeftAloneAreTold(t *testing.T) {
	f := newFixture()
	alone := []v1alpha1.VariantAutoscaling{*object(func(va *v1alpha1.VariantAutoscaling) { va.Namespace = "alone" })}
	for _, now := range [][]v1alpha1.VariantAutoscaling{alone, alone, nil, alone} {
		f.objects.alone = now
		f.tellAlone(t.Context())
	}
	const want = "Normal NotServed not served: namespace alone has the annotation wva.llmd.ai/exclude; remove it to have its variants scaled"
	if diff := cmp.Diff(f.events.told, []string{want, want}); diff != "" {
		t.Errorf("events, -got +want:\n%s", diff)
	}
}

func TestDeletedObjectIsLeftAlone(t *testing.T) {
	f := newFixture()
	f.cycle(10, 1, 2, scaling.ReasonSaturated)
	f.objects.objects[requestV().NamespacedName].DeletionTimestamp = stamp(5)
	f.reconcile(t)
	delete(f.objects.objects, requestV().NamespacedName)
	f.reconcile(t)
	if f.objects.writes != 0 {
		t.Error("the status of a deleted object was written")
	}
}

func TestEveryObjectIsEnqueuedAfterACycle(t *testing.T) {
	f := newFixture()
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer q.ShutDown()
	if err := f.afterCycles(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		q.Done(mustGet(t, q))
		f.cycle(10, 1, 1, scaling.ReasonSteady)
	}
	q.Done(mustGet(t, q))
	f.found.watchers <- struct{}{} // a new configuration without a cycle
	q.Done(mustGet(t, q))
	f.hand.watchers <- struct{}{} // replicas could not be set
	q.Done(mustGet(t, q))
}

// TestAWriteThatFailedIsTriedAgainLessAndLess: while the API server is down, retries back off and
// cycles add none. After a success, the next cycle enqueues at once.
func TestAWriteThatFailedIsTriedAgainLessAndLess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		q := workqueue.NewTypedRateLimitingQueue(retries())
		defer time.Sleep(time.Second) // the queue's own goroutines end
		defer q.ShutDown()
		begun := time.Now()
		var tried []time.Duration
		f.enqueue(t.Context(), q)
		for range 7 {
			req := mustGet(t, q)
			tried = append(tried, time.Since(begun))
			q.AddRateLimited(req) // what the controller does after an error
			q.Done(req)
			f.enqueue(t.Context(), q) // another cycle
			if q.Len() > 0 {
				t.Errorf("a cycle does not wait for the retry after %s", tried[len(tried)-1])
			}
		}
		want := []time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second, 15 * time.Second, 30 * time.Second, 45 * time.Second}
		if diff := cmp.Diff(tried, want); diff != "" {
			t.Errorf("tried after, -got +want:\n%s", diff)
		}
		req := mustGet(t, q)
		q.Forget(req) // it succeeded
		q.Done(req)
		f.enqueue(t.Context(), q)
		if q.Len() != 1 {
			t.Error("a cycle after it went well enqueues nothing")
		}
	})
}

func mustGet(t *testing.T, q queue) reconcile.Request {
	t.Helper()
	got, shutDown := q.Get() // waits
	if shutDown || got != requestV() {
		t.Fatalf("got %v", got)
	}
	return got
}
