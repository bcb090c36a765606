package actuator_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/actuator"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/actuator/external"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// listed is a cache that holds objects.
type listed struct {
	client.Reader // what is not needed here panics
	items         []v1alpha1.VariantAutoscaling
	err           error
}

func (l listed) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*v1alpha1.VariantAutoscalingList).Items = l.items
	return l.err
}

// decided returns an object with a decision for 4 replicas while 2 ran.
func decided(name string, change ...func(*v1alpha1.VariantAutoscaling)) v1alpha1.VariantAutoscaling {
	updated := metav1.NewTime(start)
	va := v1alpha1.VariantAutoscaling{
		ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: name},
		Spec: v1alpha1.VariantAutoscalingSpec{
			ModelID: "llama", ScaleTargetRef: &v1alpha1.ScaleTargetRef{Kind: "Deployment", Name: name + "-decode"},
		},
		Status: v1alpha1.VariantAutoscalingStatus{
			CurrentAlloc: &v1alpha1.CurrentAlloc{VariantID: "llama-A100-1", NumReplicas: 2},
			DesiredOptimizedAlloc: &v1alpha1.OptimizedAlloc{
				NumReplicas: 4, Accelerator: "A100", LastUpdate: &v1alpha1.LastUpdate{UpdateTime: &updated, NumReplicasChanged: 2, Reason: "Saturated"},
			},
		},
	}
	for _, f := range change {
		f(&va)
	}
	return va
}

// withoutDecision are objects that publish no decision.
func withoutDecision() []v1alpha1.VariantAutoscaling {
	return []v1alpha1.VariantAutoscaling{
		decided("new", func(va *v1alpha1.VariantAutoscaling) { va.Status = v1alpha1.VariantAutoscalingStatus{} }),
		decided("undated", func(va *v1alpha1.VariantAutoscaling) { va.Status.DesiredOptimizedAlloc.LastUpdate = nil }),
		decided("deleted", func(va *v1alpha1.VariantAutoscaling) { va.DeletionTimestamp = &metav1.Time{Time: start} }),
		decided("suppressed", func(va *v1alpha1.VariantAutoscaling) {
			va.Status.Conditions = []metav1.Condition{{
				Type: string(v1alpha1.ConditionDeploymentTargetConflict), Status: metav1.ConditionTrue, Reason: string(v1alpha1.ReasonSuppressedDueToConflict),
			}}
		}),
	}
}

func TestStatusAnswersWithTheLastDecision(t *testing.T) {
	unseen := decided("v", func(va *v1alpha1.VariantAutoscaling) {
		va.Spec.ScaleTargetRef, va.Status.CurrentAlloc = nil, nil
	})
	value := external.Value{
		Variant:     scaling.VariantKey{Namespace: "prod", Name: "v"},
		Target:      scaling.TargetRef{APIVersion: "apps/v1", Kind: "Deployment", Name: "v-decode"},
		Accelerator: "A100", Desired: 4, Current: 2, Observed: true, At: start,
	}
	own := value
	own.Target.Name, own.Current, own.Observed = "v", 0, false
	tests := map[string]struct {
		items []v1alpha1.VariantAutoscaling
		want  []external.Value
	}{
		"decided":                              {[]v1alpha1.VariantAutoscaling{decided("v")}, []external.Value{value}},
		"target by default, replicas not seen": {[]v1alpha1.VariantAutoscaling{unseen}, []external.Value{own}},
		"nothing to publish":                   {withoutDecision(), []external.Value{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := actuator.NewStatusValues(listed{items: tt.items}, byNoOtherName).Values(t.Context(), "prod")
			if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestStatusThatCannotBeReadIsAnError(t *testing.T) {
	status := actuator.NewStatusValues(listed{err: errors.New("cache not synced")}, byNoOtherName)
	if _, err := status.Values(t.Context(), "prod"); err == nil {
		t.Error("Values: no error")
	}
	if _, err := status.Record(t.Context(), start); err == nil {
		t.Error("Record: no error")
	}
}

func TestGaugesAreFilledFromStatusBeforeTheFirstCycle(t *testing.T) {
	b := newBench()
	b.agesFrom, b.now = start, start.Add(5*time.Minute)
	items := append(withoutDecision(), decided("v"))
	record, err := actuator.NewStatusValues(listed{items: items}, byNoOtherName).Record(t.Context(), b.now)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Restore(record); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{
		metrics.DesiredReplicas: 4, metrics.CurrentReplicas: 2, metrics.DesiredRatio: 2, metrics.DecisionAge: 300,
	} {
		if got, ok := b.gauge(t, name); !ok || got != want {
			t.Errorf("%s: got %g, exported %t; want %g", name, got, ok, want)
		}
	}
	if got := b.series(t, metrics.DesiredReplicas); got != 1 {
		t.Errorf("%s: got %d series, want that of the one variant with a decision", metrics.DesiredReplicas, got)
	}
	if _, filled := b.store.Values("prod"); filled {
		t.Error("the External Metrics no longer follow the status")
	}
}

// TestAFallbackIsPublishedWithAnAgeThatGrows goes through a loss of metrics with
// a real ledger, and through a restart in the middle of it.
func TestAFallbackIsPublishedWithAnAgeThatGrows(t *testing.T) {
	v := newVariant("v")
	b := newBench()
	held := func(at time.Time) {
		t.Helper()
		r := newRecord(at, v)
		r.Plan.Decisions[0].Fallback = true
		b.record(t, r)
	}
	b.record(t, newRecord(start, v))
	for _, minutes := range []int{1, 2, 5} {
		b.now = start.Add(time.Duration(minutes) * time.Minute)
		held(b.now)
		if desired, _ := b.gauge(t, metrics.DesiredReplicas); desired != 4 {
			t.Errorf("after %d minutes without data: %g replicas, want the 4 of the fallback", minutes, desired)
		}
		if age, _ := b.gauge(t, metrics.DecisionAge); age != float64(60*minutes) {
			t.Errorf("after %d minutes without data: age %g s, want %d", minutes, age, 60*minutes)
		}
	}
	fell := start.Add(time.Minute) // the status says that the fallback began then
	now := b.now.Add(time.Minute)
	b = newBench()
	b.now = now
	b.book.Restore(v.Key, memory.Past{Desired: 4, DecidedAt: fell}, time.Time{})
	held(now)
	if age, ok := b.gauge(t, metrics.DecisionAge); !ok || age != 5*60 {
		t.Errorf("after a restart: age %g s, exported %t; want the 300 since the fallback began", age, ok)
	}
}

// byNoOtherName says that scalers read every decision by the variant's name.
func byNoOtherName(_ context.Context, variants []scaling.Variant) []scaling.Variant { return variants }

func TestWhatIsWithheldIsNotPublishedFromStatusEither(t *testing.T) {
	b := newBench()
	withheld := func(_ context.Context, variants []scaling.Variant) []scaling.Variant {
		variants[0].Withheld = true
		return variants
	}
	status := actuator.NewStatusValues(listed{items: []v1alpha1.VariantAutoscaling{decided("v"), decided("w")}}, withheld)
	values, err := status.Values(t.Context(), "prod")
	if err != nil || len(values) != 1 || values[0].Variant.Name != "w" {
		t.Errorf("got %+v, %v, want the decision on w alone", values, err)
	}
	record, err := status.Record(t.Context(), start)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Restore(record); err != nil {
		t.Fatal(err)
	}
	if got := b.series(t, metrics.DesiredReplicas); got != 1 {
		t.Errorf("%s: got %d series, want that of w alone", metrics.DesiredReplicas, got)
	}
}

// TestAdviceIsNotPublishedFromStatus covers what a process that does not lead, or has just begun, could
// publish by mistake: of models that are advisory now, and of those that were at their last decision.
func TestAdviceIsNotPublishedFromStatus(t *testing.T) {
	asks := decided("asks", func(va *v1alpha1.VariantAutoscaling) {
		va.Annotations = map[string]string{v1alpha1.AnnotationActuation: "advisory"}
	})
	undecided := asks
	undecided.Name, undecided.Status = "asks", v1alpha1.VariantAutoscalingStatus{}
	was := decided("was", func(va *v1alpha1.VariantAutoscaling) {
		va.Spec.ModelID = "another"
		va.Status.Conditions = []metav1.Condition{{
			Type: string(v1alpha1.ConditionScalerFollowing), Status: metav1.ConditionUnknown, Reason: string(v1alpha1.ReasonAdvisory),
		}}
	})
	carried := decided("carried", func(va *v1alpha1.VariantAutoscaling) { va.Spec.ModelID = "third" })
	for name, items := range map[string][]v1alpha1.VariantAutoscaling{
		"a variant of the model asks for it":                {asks, decided("beside"), carried},
		"a variant without a decision asks for it":          {undecided, decided("beside"), carried},
		"the last decision was advice, the next one is not": {was, carried},
	} {
		t.Run(name, func(t *testing.T) {
			status := actuator.NewStatusValues(listed{items: items}, byNoOtherName)
			values, err := status.Values(t.Context(), "prod")
			if err != nil || len(values) != 1 || values[0].Variant.Name != "carried" {
				t.Errorf("got %+v, %v, want the decision that is carried out alone", values, err)
			}
			record, err := status.Record(t.Context(), start)
			if err != nil {
				t.Fatal(err)
			}
			b := newBench()
			if err := b.Restore(record); err != nil {
				t.Fatal(err)
			}
			if got := b.series(t, metrics.DesiredReplicas); got != 1 {
				t.Errorf("%s: got %d series, want that of the decision that is carried out alone", metrics.DesiredReplicas, got)
			}
		})
	}
}
