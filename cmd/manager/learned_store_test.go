package main

import (
	"context"
	"errors"
	"strings"
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
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/store"
)

// heldConfigMaps is an API server with ConfigMaps, by name.
type heldConfigMaps map[string]*corev1.ConfigMap

func (o heldConfigMaps) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if o[key.Name] == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, key.Name)
	}
	o[key.Name].DeepCopyInto(into.(*corev1.ConfigMap))
	return nil
}

func (o heldConfigMaps) Create(_ context.Context, m client.Object, _ ...client.CreateOption) error {
	o[m.GetName()] = m.(*corev1.ConfigMap).DeepCopy()
	return nil
}

func (o heldConfigMaps) Update(ctx context.Context, m client.Object, _ ...client.UpdateOption) error {
	return o.Create(ctx, m)
}

// noEvents tells nothing.
type noEvents struct{}

func (noEvents) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}

// learnedIn returns what a process learns that keeps it in an API server.
func learnedIn(api store.Objects) *learned {
	s := store.New(store.Options{Namespace: "wva", Objects: api, Events: noEvents{}, Log: logr.Discard(), Clock: clock.RealClock{}})
	return learned{fleet: discovery.New(nil, nil), memory: ledger.New()}.in(s)
}

// keptBy runs a process that has learned something until that is written: a minute for each
// ConfigMap.
func keptBy(t *testing.T, last *learned) {
	t.Helper()
	running, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		if err := last.store.Run(running); err != nil {
			t.Error(err)
		}
	}()
	last.keep()
	time.Sleep(2 * time.Minute) // of the bubble
	synctest.Wait()
}

// begin starts the next process and has it look at what it knows before its first cycle.
func begin(t *testing.T, next *learned, look func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	instruments, book := metrics.New(prometheus.NewRegistry(), clock.RealClock{}, metrics.Options{}), next.memory
	act := actuator.New(actuator.Options{Metrics: instruments, Store: &external.Store{}, Memory: book})
	looked := false
	l := &loop{
		log: logr.Discard(), executor: executor.New(clock.RealClock{}, executor.Polling, func() time.Duration { return time.Minute }),
		instruments: instruments, actuator: act, reader: oneDecided{}, memory: book, learned: next,
		decisions: store.NewDecisions(store.Options{}, false), fleet: discovery.New(oneDecided{}, nil),
		configured: func(context.Context) error { return nil },
		cycle: &cycle.Cycle{Process: "p", Clock: clock.RealClock{}, Recorder: book, Actuator: act, Cluster: firstLook(func() {
			looked = true
			look()
			cancel()
		})},
	}
	if err := l.Start(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if !looked {
		t.Error("no cycle ran")
	}
}

func TestStartUpsOutliveTheProcess(t *testing.T) {
	model := scaling.ModelKey{Namespace: "ns", ID: "m"}
	seen := memory.StartUps{{Pod: "0a1b2c3d", Created: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), Took: 6 * time.Minute}}
	synctest.Test(t, func(t *testing.T) {
		api := heldConfigMaps{}
		last := learnedIn(api)
		last.fleet.RestoreStartUps(map[scaling.ModelKey]memory.VariantStartUps{model: {"v": seen}}, time.Now()) // as if it had seen the pod
		keptBy(t, last)
		next := learnedIn(api)
		begin(t, next, func() {
			want := memory.StartUps{{Pod: "0a1b2c3d", Created: seen[0].Created, Took: 6 * time.Minute, Restored: true}}
			if diff := cmp.Diff(next.fleet.StartUps(model, "v"), want); diff != "" {
				t.Errorf("before the first cycle, -got +want:\n%s", diff)
			}
		})
	})
}

// TestFitsOutliveTheProcess: the next leader has them beside what the status says was decided,
// whether it is a new process or one that stood by. An entry that cannot be read costs no other.
func TestFitsOutliveTheProcess(t *testing.T) {
	model, other := scaling.ModelKey{Namespace: "ns", ID: "m"}, scaling.ModelKey{Namespace: "ns", ID: "other"}
	fit := memory.Fit{
		Of: memory.Subject{Accelerator: "H100", GPUs: 1, Template: "0123456789abcdef"}, At: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC),
		Bands: []memory.Band{{Of: 2, ITL: memory.Sums{Samples: 8, X0: 0.5, X1: 2.5}}},
	}
	key, second := scaling.VariantKey{Namespace: "ns", Name: "v"}, scaling.VariantKey{Namespace: "ns", Name: "w"}
	synctest.Test(t, func(t *testing.T) {
		api := heldConfigMaps{}
		standby := learnedIn(api) // which reads the store once it leads
		last := learnedIn(api)
		last.memory.Record(memory.Record{History: memory.History{key: {Model: model, Fit: fit}, second: {Model: other, Fit: fit}}})
		keptBy(t, last)
		expect := func(who string, book *ledger.Ledger, want map[scaling.VariantKey]memory.Fit) {
			t.Helper()
			got := map[scaling.VariantKey]memory.Fit{}
			for key, past := range book.History() {
				got[key] = past.Fit
			}
			if diff := cmp.Diff(got, want); diff != "" {
				t.Errorf("%s before its first cycle, -got +want:\n%s", who, diff)
			}
			if past := book.History()[key]; past.Desired != 4 {
				t.Errorf("%s: %d replicas were decided on, want the 4 of the status", who, past.Desired)
			}
		}
		both := map[scaling.VariantKey]memory.Fit{key: fit, second: fit}
		next := learnedIn(api)
		begin(t, next, func() { expect("the next process", next.memory, both) })
		begin(t, standby, func() { expect("one that stood by", standby.memory, both) })

		data := api["wva-store-fits"].Data
		for name, text := range data {
			if strings.Contains(text, `"other"`) {
				data[name] = strings.Replace(text, "H100", "L40S", 1)
			}
		}
		third := learnedIn(api)
		begin(t, third, func() {
			expect("one that finds an edited entry", third.memory, map[scaling.VariantKey]memory.Fit{key: fit})
		})
	})
}

func TestWithoutAStoreNothingIsKept(t *testing.T) {
	var none *learned
	none.restore(t.Context())
	none.keep()
}
