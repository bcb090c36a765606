package actuator_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/actuator"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/actuator/external"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/actuator/subresource"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/ledger"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// bench is an Actuator with what it publishes to.
type bench struct {
	*actuator.Actuator
	store *external.Store
	reg   *prometheus.Registry
	now   time.Time
	book  *ledger.Ledger
	// agesFrom is what the memory says of every variant, the book while it is zero.
	agesFrom time.Time
}

func (b *bench) Now() time.Time { return b.now }

func (b *bench) AgesFrom(key scaling.VariantKey) time.Time {
	if !b.agesFrom.IsZero() {
		return b.agesFrom
	}
	return b.book.AgesFrom(key)
}

// record records a cycle and publishes it.
func (b *bench) record(t *testing.T, r memory.Record) {
	t.Helper()
	b.book.Record(r)
	if err := b.Apply(t.Context(), r); err != nil {
		t.Fatalf("Apply: %v", err)
	}
}

func newBench() *bench {
	b := &bench{store: &external.Store{}, reg: prometheus.NewRegistry(), now: start, book: ledger.New()}
	b.Actuator = actuator.New(actuator.Options{Metrics: metrics.New(b.reg, b, metrics.Options{}), Store: b.store, Memory: b})
	return b
}

// gauge returns the value of a family that has one series, and whether it has.
func (b *bench) gauge(t *testing.T, name string) (float64, bool) {
	t.Helper()
	families, err := b.reg.Gather()
	if err != nil {
		t.Fatalf("Gather: %v", err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetGauge().GetValue(), true
		}
	}
	return 0, false
}

// series returns how many series a family has.
func (b *bench) series(t *testing.T, name string) int {
	t.Helper()
	n, err := testutil.GatherAndCount(b.reg, name)
	if err != nil {
		t.Fatalf("Gather: %v", err)
	}
	return n
}

func newVariant(name string) scaling.Variant {
	return scaling.Variant{
		Key:         scaling.VariantKey{Namespace: "prod", Name: name},
		Target:      scaling.TargetRef{APIVersion: "apps/v1", Kind: "Deployment", Name: name + "-decode"},
		Accelerator: "A100",
		Replicas:    scaling.ReplicaCounts{Observed: true, Current: 2, Ready: 2},
	}
}

// newRecord returns a cycle that wants 4 replicas of each variant.
func newRecord(at time.Time, variants ...scaling.Variant) memory.Record {
	r := memory.Record{Cycle: "7", Fleet: scaling.Fleet{At: at, Variants: variants}, Plan: scaling.Plan{At: at}}
	for _, v := range variants {
		d := scaling.Decision{Variant: v.Key, Current: 2}
		r.Plan.Decisions = append(r.Plan.Decisions, d.Then(scaling.StageOptimize, 4, scaling.ReasonSaturated, ""))
	}
	return r
}

func TestApplyPublishesToBoth(t *testing.T) {
	b := newBench()
	v := newVariant("v")
	if err := b.Apply(t.Context(), newRecord(start, v)); err != nil {
		t.Fatalf("Apply: %v", err)
	}
	want := []external.Value{{
		Variant: v.Key, Target: v.Target, Accelerator: "A100",
		Desired: 4, Current: 2, Observed: true, At: start, Cycle: "7",
	}}
	got, ok := b.store.Values("prod")
	if diff := cmp.Diff(want, got); !ok || diff != "" {
		t.Errorf("store: filled %v (-want +got):\n%s", ok, diff)
	}
	if got, _ := b.gauge(t, metrics.DesiredReplicas); got != 4 {
		t.Errorf("%s: got %g, want 4", metrics.DesiredReplicas, got)
	}
}

func TestApplyNamesVariantsOutsideTheFleet(t *testing.T) {
	b := newBench()
	known, gone := newVariant("known"), newVariant("gone")
	record := newRecord(start, known, gone)
	record.Fleet.Variants = record.Fleet.Variants[:1]
	err := b.Apply(t.Context(), record)
	if err == nil || !strings.Contains(err.Error(), "prod/gone") || strings.Contains(err.Error(), "prod/known") {
		t.Errorf("Apply: got error %v, want one that names prod/gone", err)
	}
	if got, _ := b.store.Values("prod"); len(got) != 1 {
		t.Errorf("store: got %d values, want the one of the fleet", len(got))
	}
}

func TestDeletedVariantIsWithdrawn(t *testing.T) {
	b := newBench()
	for _, record := range []memory.Record{newRecord(start, newVariant("v")), newRecord(start)} {
		if err := b.Apply(t.Context(), record); err != nil {
			t.Fatalf("Apply: %v", err)
		}
	}
	if got, ok := b.store.Values("prod"); len(got) != 0 || !ok {
		t.Errorf("store: got %d values, filled %v; want none and filled", len(got), ok)
	}
	if _, ok := b.gauge(t, metrics.DesiredReplicas); ok {
		t.Errorf("%s: the series remains", metrics.DesiredReplicas)
	}
}

func TestAgeIsThatOfTheAnalysis(t *testing.T) {
	b := newBench()
	b.agesFrom, b.now = start, start.Add(5*time.Minute)
	if err := b.Apply(t.Context(), newRecord(b.now, newVariant("v"))); err != nil {
		t.Fatalf("Apply: %v", err)
	}
	if got, _ := b.gauge(t, metrics.DecisionAge); got != 300 {
		t.Errorf("age: got %g s, want 300", got)
	}
	if got, _ := b.store.Values("prod"); len(got) != 1 || !got[0].At.Equal(start) {
		t.Errorf("store: got %+v, want the time of the analysis, %s", got, start)
	}
}

func TestDecisionOfUnknownAgeHasNone(t *testing.T) {
	b := newBench()
	if err := b.Apply(t.Context(), newRecord(start, newVariant("v"))); err != nil {
		t.Fatalf("Apply: %v", err)
	}
	if got, ok := b.gauge(t, metrics.DecisionAge); ok {
		t.Errorf("age: got %g s, want no series", got)
	}
	if got, _ := b.store.Values("prod"); len(got) != 1 || !got[0].At.Equal(start) {
		t.Errorf("store: got %+v, want the time of the plan, %s", got, start)
	}
}

func TestNothingIsPublishedOnceTheContextEnded(t *testing.T) {
	b := newBench()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Apply(ctx, newRecord(start, newVariant("v"))); !errors.Is(err, context.Canceled) {
		t.Errorf("Apply: got %v, want %v", err, context.Canceled)
	}
	if _, ok := b.store.Values("prod"); ok {
		t.Error("the store was filled")
	}
}

func TestClearWithdrawsEverything(t *testing.T) {
	b := newBench()
	if err := b.Apply(t.Context(), newRecord(start, newVariant("v"))); err != nil {
		t.Fatalf("Apply: %v", err)
	}
	b.Clear()
	if _, ok := b.store.Values("prod"); ok {
		t.Error("the store is still filled")
	}
	if _, ok := b.gauge(t, metrics.DesiredReplicas); ok {
		t.Errorf("%s: the series remains", metrics.DesiredReplicas)
	}
}

// target is a scale target and the only VariantAutoscaling that asks for it to be
// set.
type target struct {
	client.Reader // pods are not looked for
	set           func(replicas int32)
}

func (target) Scalers(scaling.VariantKey) scaling.Scalers {
	return scaling.Scalers{Own: scaling.ActuationScale, Known: true}
}

func (target) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	into.SetAnnotations(map[string]string{v1alpha1.AnnotationActuation: "scale"})
	into.(*v1alpha1.VariantAutoscaling).Spec.ScaleTargetRef = &v1alpha1.ScaleTargetRef{Kind: "Deployment", Name: key.Name + "-decode"}
	return nil
}

func (target) Scale(context.Context, string, scaling.TargetRef) (*autoscalingv1.Scale, error) {
	return &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 2}}, nil
}

func (s target) SetScale(_ context.Context, _ scaling.TargetRef, scale *autoscalingv1.Scale) error {
	s.set(scale.Spec.Replicas)
	return nil
}

func TestTheDecisionIsPublishedBeforeItIsCarriedOut(t *testing.T) {
	b := newBench()
	var sets []int32
	by := target{set: func(replicas int32) {
		sets = append(sets, replicas)
		if got, _ := b.gauge(t, metrics.DesiredReplicas); got != 4 {
			t.Errorf("%s is %g when the scale is set, want 4", metrics.DesiredReplicas, got)
		}
		if got, _ := b.store.Values("prod"); len(got) != 1 || got[0].Desired != 4 {
			t.Errorf("the External Metrics say %+v when the scale is set, want 4", got)
		}
	}}
	b.reg = prometheus.NewRegistry()
	hand := subresource.New(subresource.Options{Objects: by, Scalers: by, Scales: by, Count: func(metrics.Outcome) {}})
	b.Actuator = actuator.New(actuator.Options{
		Metrics: metrics.New(b.reg, b, metrics.Options{}), Store: b.store, Memory: b, Scaler: hand,
	})
	if err := b.Apply(t.Context(), newRecord(start, newVariant("v"))); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int32{4}, sets); diff != "" {
		t.Errorf("scales set (-want +got):\n%s", diff)
	}
	key := newVariant("v").Key
	if _, known := hand.Trouble(key); !known {
		t.Error("it is not known how the scale was set")
	}
	b.Clear()
	if _, known := hand.Trouble(key); known {
		t.Error("it is known how the scale was set, though another process leads")
	}
}
