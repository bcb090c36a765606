package collector_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/collectortest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// door is a gate over pickers in memory, of a model at zero and one that serves.
type door struct {
	*collector.Gate
	source *collectortest.Source
	clock  *testingclock.FakePassiveClock
	models []collector.Sleeper
	woken  []string
}

func inServing(id string) scaling.ModelKey {
	return scaling.ModelKey{Namespace: collectortest.Namespace, ID: id}
}

func newDoor() *door {
	d := &door{source: collectortest.New(t0), clock: testingclock.NewFakePassiveClock(t0)}
	d.models = []collector.Sleeper{{Model: inServing("asleep"), Idle: true}, {Model: inServing("serves"), Ordered: true}}
	d.Gate = &collector.Gate{
		Source: d.source, Clock: d.clock,
		Models: func() []collector.Sleeper { return d.models },
		Wake:   func(reason string) { d.woken = append(d.woken, reason) },
	}
	return d
}

// queued lets so many requests wait for a model.
func (d *door) queued(model string, requests float64) {
	d.source.Replace(query.AskGateway,
		collectortest.ModelRow(query.GatewaySeen, collectortest.Namespace, "", collectortest.Unix(d.source.Now())),
		collectortest.ModelRow(query.GatewayQueue, collectortest.Namespace, model, requests))
}

// after lets time pass and looks.
func (d *door) after(t *testing.T, passed time.Duration) {
	t.Helper()
	now := d.clock.Now().Add(passed)
	d.clock.SetTime(now)
	d.source.SetNow(now)
	rows := d.source.Rows(query.AskGateway)
	for i := range rows {
		if rows[i].Quantity == query.GatewaySeen {
			rows[i].Value = collectortest.Unix(now)
		}
	}
	d.source.Replace(query.AskGateway, rows...)
	d.Look(t.Context())
}

func TestARequestAtTheGatewayWakesACycleOnce(t *testing.T) {
	d := newDoor()
	d.queued("asleep", 0)
	d.after(t, 0)
	if len(d.woken) > 0 || d.Waiting(inServing("asleep")) != 0 {
		t.Fatalf("woken by an empty queue: %q", d.woken)
	}
	d.queued("asleep", 3)
	for range 5 {
		d.after(t, 200*time.Millisecond)
	}
	if len(d.woken) != 1 || !strings.Contains(d.woken[0], "serving/asleep: 3 requests wait") || d.Waiting(inServing("asleep")) != 3 {
		t.Errorf("woken by %q, %g wait", d.woken, d.Waiting(inServing("asleep")))
	}
	if d.after(t, 20*time.Second); len(d.woken) != 2 {
		t.Errorf("woken %d times, want once more: it still has none ordered", len(d.woken))
	}
	d.models[0].Ordered = true
	if d.after(t, 20*time.Second); len(d.woken) != 2 {
		t.Errorf("woken %d times, although replicas are ordered", len(d.woken))
	}
	d.queued("asleep", 0)
	if d.after(t, time.Second); d.Waiting(inServing("asleep")) != 0 {
		t.Error("a queue that is empty is remembered")
	}
}

func TestTheGateLooksForModelsWithoutAReplicaAlone(t *testing.T) {
	d := newDoor()
	d.queued("serves", 5)
	d.after(t, time.Second)
	if len(d.woken) > 0 || d.Waiting(inServing("serves")) > 0 {
		t.Errorf("woken by %q", d.woken)
	}
	d.models, d.woken = d.models[1:], nil
	d.source.Forget()
	if d.after(t, time.Second); len(d.source.Calls()) > 0 {
		t.Error("asks while every model has a replica")
	}
}

// TestWhatWaitedIsForgottenWhereAReplicaIsReady: it is there, and would be counted
// twice.
func TestWhatWaitedIsForgottenWhereAReplicaIsReady(t *testing.T) {
	d := newDoor()
	d.queued("asleep", 50)
	d.after(t, 0)
	d.models[0].Idle = false
	if d.after(t, time.Second); d.Waiting(inServing("asleep")) != 0 {
		t.Errorf("%g requests wait at the gateway, and a replica is Ready", d.Waiting(inServing("asleep")))
	}
	d.models[0].Idle = true
	if d.after(t, time.Second); len(d.woken) != 2 {
		t.Errorf("woken %d times, want once more: it is at zero again", len(d.woken))
	}
}

// TestWhatWasSeenAtTheGateCountsForAWhile: until the source of everything else has
// seen it, and no longer.
func TestWhatWasSeenAtTheGateCountsForAWhile(t *testing.T) {
	d := newDoor()
	d.queued("asleep", 3)
	d.after(t, 0)
	d.source.Fail(query.AskGateway, errors.New("no page"))
	if d.after(t, 10*time.Second); d.Waiting(inServing("asleep")) != 3 {
		t.Error("a look that failed made it forgotten")
	}
	if d.after(t, 20*time.Second); d.Waiting(inServing("asleep")) != 0 {
		t.Error("it counts for longer than 30 s")
	}
}

func TestASnapshotHasTheLargerOfTwoQueues(t *testing.T) {
	for name, tt := range map[string]struct {
		seen float64
		fail bool
		want float64
	}{
		"seen at the gate alone":        {9, false, 9},
		"more where all else is":        {1, false, busy.GatewayQueue},
		"nothing at the gate":           {0, false, busy.GatewayQueue},
		"the source of all else failed": {9, true, 9},
	} {
		t.Run(name, func(t *testing.T) {
			source, fleet := serving(1, 1, busy)
			if tt.fail {
				source.FailAll(errors.New("no answer"))
			}
			got := collector.New(source, testingclock.NewFakePassiveClock(t0), collector.Options{
				Waiting: func(scaling.ModelKey) float64 { return tt.seen },
			}).Collect(t.Context(), fleet)[0].Load.GatewayQueue
			if got != scaling.Measured(tt.want, scaling.Fresh) {
				t.Errorf("got %s, want %g", got, tt.want)
			}
		})
	}
}
