package memory

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

func TestUnplacedRestartsWhereMoreAreWithoutANode(t *testing.T) {
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	minute := func(n int) time.Time { return start.Add(time.Duration(n) * time.Minute) }
	tests := []struct {
		name  string
		looks []scaling.Replicas // a minute apart
		want  Unplaced
	}{
		{"none", []scaling.Replicas{0, 0}, Unplaced{}},
		{"one, seen once", []scaling.Replicas{0, 1}, Unplaced{1, minute(1), 1}},
		{"one for three cycles", []scaling.Replicas{1, 1, 1}, Unplaced{1, start, 3}},
		{"one more is new", []scaling.Replicas{1, 1, 2}, Unplaced{2, minute(2), 1}},
		{"one fewer is as old", []scaling.Replicas{2, 2, 1}, Unplaced{1, start, 3}},
		{"a gap begins anew", []scaling.Replicas{1, 0, 1}, Unplaced{1, minute(2), 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var p Past
			for i, n := range tt.looks {
				p = p.Observe(scaling.ReplicaCounts{Observed: true, Current: 3, Ready: 3 - n, Pending: n, Unschedulable: n}, minute(i))
				p = p.Observe(scaling.ReplicaCounts{}, minute(i)) // a look without counts says nothing
			}
			if diff := cmp.Diff(tt.want, p.Unplaced); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
