package scaling

import (
	"testing"
	"time"
)

func TestBacklogFallsWhereFewerWaitThanASpanAgo(t *testing.T) {
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	var b Backlog
	for _, step := range []struct {
		after   time.Duration
		waiting float64
		want    Backlog
	}{
		{0, 10, Backlog{Waiting: 10, At: start}},
		{10 * time.Second, 5, Backlog{Waiting: 10, At: start}}, // too soon to tell
		{30 * time.Second, 12, Backlog{Waiting: 12, At: start.Add(30 * time.Second)}},
		{time.Minute, 11, Backlog{Waiting: 11, At: start.Add(time.Minute), Falling: true}},
		{70 * time.Second, 99, Backlog{Waiting: 11, At: start.Add(time.Minute), Falling: true}},
		{90 * time.Second, 11, Backlog{Waiting: 11, At: start.Add(90 * time.Second)}},
	} {
		if b = b.Then(step.waiting, start.Add(step.after), 30*time.Second); b != step.want {
			t.Errorf("after %s: got %+v, want %+v", step.after, b, step.want)
		}
	}
}

func TestModelsWithoutAClassComeLast(t *testing.T) {
	for _, tc := range []struct {
		o    Objective
		rank int
		set  bool
	}{
		{Objective{}, 100, false},
		{Objective{Class: "c"}, 100, false},
		{Objective{Class: "c", Priority: 3, TTFT: 100}, 3, true},
		{Objective{Class: "c", Priority: 1, ITL: 10}, 1, true},
	} {
		if tc.o.Rank() != tc.rank || tc.o.Set() != tc.set {
			t.Errorf("%+v: rank %d, set %v, want %d, %v", tc.o, tc.o.Rank(), tc.o.Set(), tc.rank, tc.set)
		}
	}
}

func TestSortedLeavesTheSnapshotAlone(t *testing.T) {
	sample := func(variant, pod string) ReplicaSample {
		return ReplicaSample{Variant: VariantKey{Namespace: "ns", Name: variant}, Pod: pod}
	}
	s := Snapshot{Replicas: []ReplicaSample{sample("w", "a"), sample("v", "b"), sample("v", "a")}}
	got := s.Sorted()
	if got[0] != sample("v", "a") || got[1] != sample("v", "b") || got[2] != sample("w", "a") {
		t.Errorf("sorted: %+v", got)
	}
	if s.Replicas[0] != sample("w", "a") {
		t.Error("the snapshot was changed")
	}
}
