package memory

import (
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// TestWhatRunsIsTheMostThatWasReady: a replica that fails for a moment still counts; one that was
// never Ready does not.
func TestWhatRunsIsTheMostThatWasReady(t *testing.T) {
	v := scaling.Variant{Approval: scaling.Approval{Required: true}}
	var r Reductions
	for i, step := range []struct {
		observed             bool
		current, ready, want scaling.Replicas
	}{
		{true, 4, 3, 4},  // first seen: as many as there are
		{true, 6, 4, 4},  // two ordered
		{true, 6, 5, 5},  // one arrived
		{true, 6, 2, 5},  // three fail for a moment
		{false, 0, 0, 5}, // unknown
		{true, 3, 3, 3},  // the target has fewer
		{true, 6, 3, 3},
	} {
		v.Replicas = scaling.ReplicaCounts{Observed: step.observed, Current: step.current, Ready: step.ready}
		if r = r.Then(v); r.Ran != step.want {
			t.Errorf("step %d: %d run, want %d", i, r.Ran, step.want)
		}
	}
	v.Approval.Required = false
	if r = r.Then(v); r != (Reductions{}) {
		t.Errorf("remembered without approval: %+v", r)
	}
}
