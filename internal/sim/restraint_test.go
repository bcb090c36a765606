package sim

import (
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/schedule"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/simtest"
)

// TestARunKeepsToApprovalAndFreezeWindows: four replicas of which one would do. Runs begin at midnight
// in UTC.
func TestARunKeepsToApprovalAndFreezeWindows(t *testing.T) {
	window := func(allow scaling.Allow) schedule.Schedule {
		r, err := schedule.Parse(schedule.Window{Name: "night", Allow: allow, To: "00:20", TimeZone: "UTC"})
		if err != nil {
			t.Fatal(err)
		}
		return schedule.Schedule{r}
	}
	tests := map[string]struct {
		approval scaling.Approval
		schedule schedule.Schedule
		first    time.Duration // of the first reduction at the earliest, 0 for none
	}{
		"neither":                {scaling.Approval{}, nil, time.Minute},
		"approval":               {scaling.Approval{Required: true}, nil, 0},
		"approval for a time":    {scaling.Approval{Required: true, After: 10 * time.Minute}, nil, 11 * time.Minute},
		"no change until 00:20":  {scaling.Approval{}, window(scaling.AllowNone), 20 * time.Minute},
		"growth only until then": {scaling.Approval{}, window(scaling.AllowGrowth), 20 * time.Minute},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := testConfig(simtest.Chat(t, "constant(1,40m)", 1))
			v := &c.Models[0].Variants[0]
			v.Replicas, v.Spec.Bounds.Max, v.Spec.Approval = 4, 10, tt.approval
			first := time.Duration(0)
			c.OnDecision = func(at time.Duration, to Target) {
				if to.Replicas < 4 && first == 0 {
					first = at
				}
			}
			if _, err := Run(t.Context(), c, NewEngine(EngineOptions{Name: "engine", Schedule: tt.schedule})); err != nil {
				t.Fatal(err)
			}
			if (first == 0) != (tt.first == 0) || first < tt.first || first > tt.first+5*time.Minute {
				t.Errorf("first reduction at %s, want it at %s or soon after; 0s for none", first, tt.first)
			}
		})
	}
}
