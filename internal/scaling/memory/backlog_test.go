package memory

import (
	"math"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

func TestBacklogFallsWhereFewerWaitThanASpanAgo(t *testing.T) {
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	after := start.Add
	var b Backlog
	for _, step := range []struct {
		after   time.Duration
		waiting float64
		want    Backlog
	}{
		{0, 10, Backlog{Waiting: 10, At: start, StandsSince: start}},
		{10 * time.Second, 5, Backlog{Waiting: 10, At: start, StandsSince: start}}, // too soon to tell
		{30 * time.Second, 12, Backlog{Waiting: 12, At: after(30 * time.Second), StandsSince: start}},
		{time.Minute, 11, Backlog{Waiting: 11, At: after(time.Minute), Falling: true}},
		{70 * time.Second, 99, Backlog{Waiting: 11, At: after(time.Minute), Falling: true}},
		{90 * time.Second, 11, Backlog{Waiting: 11, At: after(90 * time.Second), StandsSince: after(90 * time.Second)}},
		{2 * time.Minute, 0, Backlog{At: after(2 * time.Minute), Falling: true}},
		{150 * time.Second, 0, Backlog{At: after(150 * time.Second)}},
	} {
		if b = b.Then(step.waiting, after(step.after), 30*time.Second); b != step.want {
			t.Errorf("after %s: got %+v, want %+v", step.after, b, step.want)
		}
	}
}

func TestABacklogAsksForWhatClearsIt(t *testing.T) {
	for _, tt := range []struct {
		name string
		q    Queue
		want float64 // requests/s
	}{
		{"nothing waits", Queue{Arrive: 5, Fill: 1}, 5},
		{"600 in ten minutes", Queue{Waiting: 600, Arrive: 5, Served: 5, Fill: 1}, 6},
		{"what serves less than arrives clears nothing", Queue{Waiting: 600, Arrive: 5, Served: 3, Fill: 1, Lead: time.Hour}, 6},
		{"half is gone when a replica is Ready", Queue{Waiting: 600, Arrive: 5, Served: 6, Fill: 1, Lead: 5 * time.Minute}, 5.5},
		{"all is gone before", Queue{Waiting: 600, Arrive: 5, Served: 8, Fill: 1, Lead: 5 * time.Minute}, 5},
		{"the room that sizing leaves clears it", Queue{Waiting: 600, Arrive: 4, Fill: 0.8}, 4},
		{"and is not enough for more", Queue{Waiting: 1200, Arrive: 4, Fill: 0.8}, 4.8}, // 0.8 (4 + 2)
	} {
		if got := tt.q.Rate(); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%s: %g requests/s, want %g", tt.name, got, tt.want)
		}
	}
}

func TestALeadIsTheLongestStartUpAndHowLongItTakesToBeTold(t *testing.T) {
	variants := []scaling.Variant{{StartUp: time.Minute}, {StartUp: 5 * time.Minute}, {}}
	if got, want := Lead(variants, time.Minute), 6*time.Minute+15*time.Second; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := Lead([]scaling.Variant{{}}, time.Minute); got != 0 {
		t.Errorf("no start-up is known: %s", got)
	}
}

func TestModelsWithoutAClassComeLast(t *testing.T) {
	for _, tc := range []struct {
		o    scaling.Objective
		rank int
		set  bool
	}{
		{scaling.Objective{}, 100, false},
		{scaling.Objective{Class: "c"}, 100, false},
		{scaling.Objective{Class: "c", Priority: 3, TTFT: 100}, 3, true},
		{scaling.Objective{Class: "c", Priority: 1, ITL: 10}, 1, true},
	} {
		if tc.o.Rank() != tc.rank || tc.o.Set() != tc.set {
			t.Errorf("%+v: rank %d, set %v, want %d, %v", tc.o, tc.o.Rank(), tc.o.Set(), tc.rank, tc.set)
		}
	}
}

func TestSortedLeavesTheSnapshotAlone(t *testing.T) {
	sample := func(variant, pod string) scaling.ReplicaSample {
		return scaling.ReplicaSample{Variant: scaling.VariantKey{Namespace: "ns", Name: variant}, Pod: pod}
	}
	s := scaling.Snapshot{Replicas: []scaling.ReplicaSample{sample("w", "a"), sample("v", "b"), sample("v", "a")}}
	got := s.Sorted()
	if got[0] != sample("v", "a") || got[1] != sample("v", "b") || got[2] != sample("w", "a") {
		t.Errorf("sorted: %+v", got)
	}
	if s.Replicas[0] != sample("w", "a") {
		t.Error("the snapshot was changed")
	}
}
