package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/actuator"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/actuator/external"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/discovery"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/executor"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/ledger"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/store"
)

// oneDecided is a cache with one object, for which 4 replicas were decided on.
type oneDecided struct{ client.Reader }

func (oneDecided) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	at := metav1.NewTime(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	list.(*v1alpha1.VariantAutoscalingList).Items = []v1alpha1.VariantAutoscaling{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "v"},
		Status: v1alpha1.VariantAutoscalingStatus{
			DesiredOptimizedAlloc: &v1alpha1.OptimizedAlloc{NumReplicas: 4, LastUpdate: &v1alpha1.LastUpdate{UpdateTime: &at}},
		},
	}}
	return nil
}

// firstLook is a cluster that cannot be read and tells when it is read.
type firstLook func()

func (f firstLook) Fleet(context.Context, time.Time) (scaling.Fleet, error) {
	f()
	return scaling.Fleet{}, errors.New("no cache")
}

func TestStatusFillsLedgerAndGaugesBeforeTheFirstCycle(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	reg, book := prometheus.NewRegistry(), ledger.New()
	instruments := metrics.New(reg, clock.RealClock{}, metrics.Options{})
	act := actuator.New(actuator.Options{Metrics: instruments, Store: &external.Store{}, Memory: book})
	count := func() int {
		n, err := testutil.GatherAndCount(reg, metrics.DesiredReplicas)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	looked := false
	l := &loop{
		log: logr.Discard(), executor: executor.New(clock.RealClock{}, executor.Polling, func() time.Duration { return time.Minute }),
		instruments: instruments, actuator: act, reader: oneDecided{}, memory: book,
		decisions: store.NewDecisions(store.Options{}, false), fleet: discovery.New(oneDecided{}, nil),
		configured: func(context.Context) error { return nil },
		cycle: &cycle.Cycle{Process: "p", Clock: clock.RealClock{}, Recorder: book, Actuator: act, Cluster: firstLook(func() {
			if n := count(); n != 1 {
				t.Errorf("before the first cycle: %d series of %s, want that of the status", n, metrics.DesiredReplicas)
			}
			if past := book.History()[scaling.VariantKey{Namespace: "ns", Name: "v"}]; past.Desired != 4 {
				t.Errorf("before the first cycle: the ledger holds %d replicas, want 4", past.Desired)
			}
			looked = true
			stop()
		})},
	}
	if err := l.Start(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if !looked {
		t.Error("no cycle ran")
	}
	if n := count(); n != 0 {
		t.Errorf("after the end: %d series of %s, want none", n, metrics.DesiredReplicas)
	}
}
