package constrain

import (
	"strings"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// TestALoadThatComesBackHasItsFleetAgain: at once, within the pace and the bounds that the user
// set.
func TestALoadThatComesBackHasItsFleetAgain(t *testing.T) {
	retained := func(d *scaling.Decision) {
		*d = d.Then(scaling.StageRetention, d.Target(), scaling.ReasonRequestsWaiting, "requests wait")
	}
	for name, tt := range map[string]struct {
		policy Pacing
		most   scaling.Replicas
		size   scaling.Replicas
		change func(*scaling.Decision)
		paused bool
		want   scaling.Replicas
	}{
		"at once":                             {Pacing{ScaleDownStabilization: 2 * time.Minute, MaxScaleDownStep: 1}, 100, 49, nil, false, 49},
		"no more than are asked for anyway":   {Pacing{}, 100, 5, nil, false, 9},
		"within maxReplicas":                  {Pacing{}, 30, 49, nil, false, 30},
		"by maxScaleUpStep":                   {Pacing{MaxScaleUpStep: 10}, 100, 49, nil, false, 18},
		"after scaleUpStabilization":          {Pacing{ScaleUpStabilization: time.Minute}, 100, 49, nil, false, 8},
		"not without an analysis":             {Pacing{}, 100, 49, fallback, false, 9},
		"not where it wakes from zero":        {Pacing{}, 100, 49, retained, false, 9},
		"not of a variant that is paused":     {Pacing{}, 100, 49, nil, true, 9},
		"not where the load is not back":      {Pacing{}, 100, 0, nil, false, 9},
		"also what is withheld for the while": {Pacing{}, 100, 49, withheld, false, 49},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRun(8, tt.policy)
			r.bounds.Max = tt.most
			in := r.input(0)
			in.Resumed = map[scaling.VariantKey]scaling.Replicas{key: tt.size}
			v := in.Variants[key]
			v.Paused = tt.paused
			in.Variants[key] = v
			d := scaling.Decision{Variant: key, Model: model, Current: 8}.Then(scaling.StageOptimize, 9, "Asked", "")
			if tt.change != nil {
				tt.change(&d)
			}
			got := Apply(in, scaling.Plan{Decisions: []scaling.Decision{d}}).Decisions[0]
			if got.Target() != tt.want {
				t.Errorf("got %d replicas, want %d: %+v", got.Target(), tt.want, got.Steps)
			}
		})
	}
}

func TestALoadThatComesBackIsSaidWithItsNumbers(t *testing.T) {
	in := newRun(8, Pacing{}).input(0)
	in.Resumed = map[scaling.VariantKey]scaling.Replicas{key: 20}
	in.History[key] = memory.Past{Desired: 8, DecidedAt: start, Busy: memory.Busy{Replicas: 49, Rate: 120, Lull: start.Add(-13 * time.Minute)}}
	d := Apply(in, scaling.Plan{Decisions: []scaling.Decision{{Variant: key, Model: model, Current: 8}}}).Decisions[0]
	want := "requests come back after none arrived since 11:47:00: 49 replicas of this variant served 120 requests/s of the model before"
	if cause := d.Cause(); cause.Reason != scaling.ReasonLoadReturned || !strings.Contains(cause.Detail, want) {
		t.Errorf("got %+v, want %q", cause, want)
	}
}
