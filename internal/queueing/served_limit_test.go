package queueing

import (
	"strings"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// TestReplicasServeNoMoreThanFullOnesStart: each of five replicas starts half a request/s, and the
// profile promises several.
func TestReplicasServeNoMoreThanFullOnesStart(t *testing.T) {
	const starts = 0.5
	look := func(change func(*scaling.Snapshot, *Memory)) scaling.Analysis {
		s := snapshot(10, variant("v", a100, 5))
		for i := range s.Replicas {
			s.Replicas[i].QueueLength, s.Replicas[i].QueueLengthNow = fresh(8), fresh(8)
			s.Replicas[i].Pace = scaling.Pace{Started: starts, Decoding: 20, ITL: 60, TTFT: 900}
		}
		m := Memory{Interval: time.Minute, Backlog: memory.Backlog{Waiting: 40, At: at, StandsSince: at.Add(-time.Minute)}}
		if change != nil {
			change(&s, &m)
		}
		return Analyze(s, objective, Default(), m)
	}
	promised := Analyze(snapshot(10, variant("v", a100, 5)), objective, Default(), Memory{}).Variants[0].PerReplica
	if promised <= 2*starts {
		t.Fatalf("the profile promises %g requests/s, want more than full replicas start", promised)
	}
	full := look(nil)
	if got := full.Variants[0]; got.PerReplica != starts || !strings.Contains(got.Source, "full replicas start no more") {
		t.Errorf("a replica serves %g requests/s (%s), want the %g that full ones start", got.PerReplica, got.Source, starts)
	}
	if full.Signal != scaling.Grow || full.Demand < 10 {
		t.Errorf("%s to %g of %g requests/s, want growth to what arrives at least", full.Signal, full.Demand, full.Anticipated)
	}
	for name, change := range map[string]func(*scaling.Snapshot, *Memory){
		"the queue is new":             func(_ *scaling.Snapshot, m *Memory) { m.Backlog.StandsSince = at },
		"the queue becomes shorter":    func(_ *scaling.Snapshot, m *Memory) { m.Backlog.StandsSince = time.Time{} },
		"fewer wait than replicas are": func(s *scaling.Snapshot, _ *Memory) { waits(s, 5, 0.5) },
		"most replicas have no queue":  func(s *scaling.Snapshot, _ *Memory) { waits(s, 3, 0); s.Replicas[4].QueueLengthNow = fresh(40) },
		"how fast they are is unknown": func(s *scaling.Snapshot, _ *Memory) {
			for i := range s.Replicas {
				s.Replicas[i].Pace = scaling.Pace{}
			}
		},
	} {
		if got := look(change).Variants[0].PerReplica; got < promised {
			t.Errorf("%s: a replica serves %g requests/s, want the %g of its profile", name, got, promised)
		}
	}
}

// waits makes so many requests wait in each of the first replicas.
func waits(s *scaling.Snapshot, replicas int, requests float64) {
	for i := range replicas {
		s.Replicas[i].QueueLength, s.Replicas[i].QueueLengthNow = fresh(requests), fresh(requests)
	}
}
