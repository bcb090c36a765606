package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/clock"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/collectortest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/discovery"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/executor"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/ledger"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
)

func TestSleepersAreThoseThatHaveNoReplicaOrShallHaveNone(t *testing.T) {
	fleet := collectortest.Fleet(time.Time{}, 4, 1)
	fleet.Variants[1].Replicas = scaling.ReplicaCounts{Observed: true, Current: 1}
	fleet.Variants[2].Replicas = scaling.ReplicaCounts{Observed: true}
	r := memory.Record{Fleet: fleet}
	for i, to := range []int{1, 1, 0, 0} {
		v := fleet.Variants[i]
		r.Plan.Decisions = append(r.Plan.Decisions, scaling.Decision{Variant: v.Key, Model: v.Model}.Then(scaling.StageOptimize, scaling.Replicas(to), "", ""))
	}
	model := func(i int) scaling.ModelKey { return fleet.Variants[i].Model }
	want := []collector.Sleeper{
		{Model: model(0), Ordered: true},
		{Model: model(1), Idle: true, Ordered: true},
		{Model: model(2), Idle: true},
		{Model: model(3), Idle: true},
	}
	if diff := cmp.Diff(want, sleepers(r)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestADeletedTargetIsNoReadyReplica: nor is what was decided for it an order. One
// that cannot be read for now is both.
func TestADeletedTargetIsNoReadyReplica(t *testing.T) {
	fleet := collectortest.Fleet(time.Time{}, 1, 0)
	first, other := fleet.Variants[0], fleet.Variants[0]
	first.Replicas, other.Key.Name = scaling.ReplicaCounts{}, "other"
	for _, tt := range []struct {
		gone   bool
		starts int // replicas of the other variant, of which none is Ready yet
		want   collector.Sleeper
	}{
		{true, 0, collector.Sleeper{Model: first.Model, Idle: true}},
		{false, 0, collector.Sleeper{Model: first.Model, Ordered: true}},
		{true, 1, collector.Sleeper{Model: first.Model, Idle: true, Ordered: true}},
		{false, 1, collector.Sleeper{Model: first.Model, Ordered: true}},
	} {
		first.Gone = tt.gone
		other.Replicas = scaling.ReplicaCounts{Observed: true, Current: scaling.Replicas(tt.starts), Pending: scaling.Replicas(tt.starts)}
		r := memory.Record{History: memory.History{first.Key: {Desired: 1}}}
		r.Fleet.Variants = []scaling.Variant{first, other}
		for i, to := range []int{1, tt.starts} {
			v := r.Fleet.Variants[i]
			r.Plan.Decisions = append(r.Plan.Decisions, scaling.Decision{Variant: v.Key, Model: v.Model}.Then(scaling.StageOptimize, scaling.Replicas(to), "", ""))
		}
		if diff := cmp.Diff([]collector.Sleeper{tt.want}, sleepers(r)); diff != "" {
			t.Errorf("gone %t, %d start (-want +got):\n%s", tt.gone, tt.starts, diff)
		}
	}
}

// oneGateway is a cluster with one endpoint picker.
type oneGateway struct {
	*bench
	url string
}

// Pickers implements cluster.
func (g oneGateway) Pickers(context.Context, labels.Selector) ([]discovery.MetricsEndpoint, error) {
	return []discovery.MetricsEndpoint{{Namespace: collectortest.Namespace, Pod: "epp", URL: g.url}, {Namespace: "elsewhere", Pod: "epp", URL: "http://127.0.0.1:1/not-asked"}}, nil
}

// TestAQueuedRequestChangesTheReplicasWithinASecond runs a manager's loop over a
// model at zero, in real time: from the request at the endpoint picker to the
// decided replica. The other source of metrics sees nothing of it.
func TestAQueuedRequestChangesTheReplicasWithinASecond(t *testing.T) {
	const rounds = 2
	var queue atomic.Int64
	var asked atomic.Int64
	picker := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		fmt.Fprintf(w, "# TYPE inference_extension_flow_control_queue_size gauge\n"+
			"inference_extension_flow_control_queue_size{model_name=\"m000\",target_model_name=\"m000\"} %d\n", queue.Load())
	}))
	defer picker.Close()
	b := newBench(t)
	b.fleet = collectortest.Fleet(b.fleet.At, 1, 0)
	book := ledger.New()
	book.Restore(b.fleet.Variants[0].Key, memory.Past{DecidedAt: b.fleet.At.Add(-time.Hour)}, time.Time{})
	exec := executor.New(clock.RealClock{}, executor.Hybrid, func() time.Duration { return time.Hour })
	gate, err := newGate(gateOptions{
		operator: func() *config.Operator { return b.operator }, cluster: oneGateway{b, picker.URL}, memory: book, wake: exec.Hurry,
		observe: func(time.Duration, error) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	b.waiting = gate.Waiting
	woken := make(chan int, 10)
	pass := &cycle.Cycle{
		Clock: clock.RealClock{}, Cluster: b, Collector: newCollector(b.measuring), Recorder: book, Actuator: b,
		Policy: func(scaling.ModelKey) settings.Model {
			p := config.ModelSettings{}.Resolved()
			p.Pacing.Zero.Enabled, p.Pacing.Zero.Retention = true, time.Hour
			return p
		},
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() { ended <- gate.run(ctx) }()
	go func() {
		ended <- exec.Run(ctx, func(ctx context.Context, interval time.Duration, _ []string) {
			if err := pass.Run(ctx, interval); err != nil {
				t.Errorf("cycle: %v", err)
			}
			record, _ := book.Latest()
			woken <- int(record.Plan.Decisions[0].Target())
		})
	}()
	if n := <-woken; n != 0 {
		t.Fatalf("%d replicas before anybody asked", n)
	}
	var took []time.Duration
	for range rounds {
		time.Sleep(600 * time.Millisecond) // the picker is seen to hold nothing
		sent := time.Now()
		queue.Store(1)
		for n := 0; n == 0; {
			select {
			case n = <-woken:
			case <-time.After(10 * time.Second):
				t.Fatal("the model was not woken")
			}
		}
		took = append(took, time.Since(sent))
		// Asleep again.
		queue.Store(0)
		b.mu.Lock()
		b.fleet = collectortest.Fleet(b.fleet.At, 1, 0)
		b.mu.Unlock()
		book.Record(memory.Record{Cycle: scaling.CycleID(fmt.Sprint(len(took))), Fleet: b.fleet, History: memory.History{b.fleet.Variants[0].Key: {DecidedAt: b.fleet.At}}})
	}
	cancel()
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	t.Logf("replicas decided %s after the request, %d pages scraped", strings.Trim(fmt.Sprint(took), "[]"), asked.Load())
	if slow := slices.Max(took); slow > time.Second {
		t.Errorf("took %s, want less than a second", slow)
	}
}
