package main

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

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

// oneConfigMap is an API server with one ConfigMap, if any.
type oneConfigMap struct{ held *corev1.ConfigMap }

func (o *oneConfigMap) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if o.held == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, key.Name)
	}
	o.held.DeepCopyInto(into.(*corev1.ConfigMap))
	return nil
}

func (o *oneConfigMap) Create(_ context.Context, m client.Object, _ ...client.CreateOption) error {
	o.held = m.(*corev1.ConfigMap).DeepCopy()
	return nil
}

func (o *oneConfigMap) Update(ctx context.Context, m client.Object, _ ...client.UpdateOption) error {
	return o.Create(ctx, m)
}

// noEvents tells nothing.
type noEvents struct{}

func (noEvents) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}

// learnedIn returns what a process learns that keeps it in an API server.
func learnedIn(api store.Objects) *learned {
	s := store.New(store.Options{Namespace: "wva", Objects: api, Events: noEvents{}, Log: logr.Discard(), Clock: clock.RealClock{}})
	return &learned{store: s, startUps: store.Add(s, store.StartUps()), fleet: discovery.New(nil, nil)}
}

func TestStartUpsOutliveTheProcess(t *testing.T) {
	model := scaling.ModelKey{Namespace: "ns", ID: "m"}
	seen := scaling.StartUps{{Pod: "0a1b2c3d", Created: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), Took: 6 * time.Minute}}
	synctest.Test(t, func(t *testing.T) {
		api := &oneConfigMap{}
		last := learnedIn(api)
		last.fleet.RestoreStartUps(map[scaling.ModelKey]scaling.VariantStartUps{model: {"v": seen}}, time.Now()) // as if it had seen the pod
		running, stop := context.WithCancel(t.Context())
		go func() {
			if err := last.store.Run(running); err != nil {
				t.Error(err)
			}
		}()
		last.keep()
		synctest.Wait()
		stop()

		ctx, cancel := context.WithCancel(t.Context())
		instruments, book := metrics.New(prometheus.NewRegistry(), clock.RealClock{}, metrics.Options{}), ledger.New()
		act := actuator.New(actuator.Options{Metrics: instruments, Store: &external.Store{}, Memory: book})
		next := learnedIn(api)
		l := &loop{
			log: logr.Discard(), executor: executor.New(clock.RealClock{}, executor.Polling, func() time.Duration { return time.Minute }),
			instruments: instruments, actuator: act, reader: oneDecided{}, memory: book, learned: next,
			configured: func(context.Context) error { return nil },
			cycle: &cycle.Cycle{Process: "p", Clock: clock.RealClock{}, Recorder: book, Actuator: act, Cluster: firstLook(func() {
				want := scaling.StartUps{{Pod: "0a1b2c3d", Created: seen[0].Created, Took: 6 * time.Minute, Restored: true}}
				if diff := cmp.Diff(next.fleet.StartUps(model, "v"), want); diff != "" {
					t.Errorf("before the first cycle, -got +want:\n%s", diff)
				}
				cancel()
			})},
		}
		if err := l.Start(ctx); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	})
}

func TestWithoutAStoreNothingIsKept(t *testing.T) {
	var none *learned
	none.restore(t.Context())
	none.keep()
}
