package cycle

import (
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
)

// groupOf returns a variant whose replica is a group of pods with 8 H100 each, fast times as fast
// as the published profile.
func groupOf(name string, pods int, fast float64, replicas scaling.Replicas) scaling.Variant {
	v := siteVariant(name, 10*float64(pods), fast, replicas)
	v.Accelerator, v.GPUsPerReplica = "H100", scaling.Accelerators(8*pods)
	v.Workers, v.GPUsPerWorker = pods-1, 8
	return v
}

// TestOfTwoSizesOfGroupsTheCheaperPerTokenGrows: two LeaderWorkerSets of a model have groups of two
// and of four pods. The one whose tokens cost less within the objective takes the load.
func TestOfTwoSizesOfGroupsTheCheaperPerTokenGrows(t *testing.T) {
	for name, tc := range map[string]struct {
		two, four float64          // how fast
		fours     scaling.Replicas // at the start, beside one group of two
		grows     string
	}{
		"four pods are more than twice as fast as two": {1, 2.4, 1, "four"},
		"four pods are not twice as fast as two":       {1, 1.5, 0, "two"},
		"two pods never meet the objective":            {0.4, 0.75, 1, "four"}, // ITL of 51 and 27 ms with one request; the objective is 40
	} {
		t.Run(name, func(t *testing.T) {
			forEngines(t, func(t *testing.T, how settings.Model) {
				if tc.two < 0.5 && how.Engine == settings.Saturation {
					return // it knows no objective
				}
				s := site{
					variants: []scaling.Variant{groupOf("four", 4, tc.four, tc.fours), groupOf("two", 2, tc.two, 1)}, settings: how,
					rate: steady(100), startUp: time.Minute, tick: 15 * time.Second, policy: documented,
				}
				s.run(time.Hour)
				last := map[string]scaling.Replicas{}
				for i, v := range s.variants {
					last[v.Key.Name] = s.targets[len(s.targets)-1][i]
				}
				other := map[string]string{"two": "four", "four": "two"}[tc.grows]
				if last[tc.grows] < 4 || last[other] > 1 {
					t.Errorf("ended with %v, want groups of %s", last, tc.grows)
				}
			})
		})
	}
}

// TestTheGroupThatHasRoomGrows: groups of four pods are cheaper per token, but only three nodes are
// free.
func TestTheGroupThatHasRoomGrows(t *testing.T) {
	s := site{
		variants: []scaling.Variant{groupOf("four", 4, 2.4, 0), groupOf("two", 2, 1, 1)}, settings: covering["model"],
		rate: steady(140), tick: 15 * time.Second, created: [][]time.Duration{nil, {-time.Hour}}, ready: []float64{10},
	}
	s.settings.Limited = true
	e := Setup{Models: map[scaling.ModelKey]settings.Model{siteModel: s.settings}, Inventory: scaling.Inventory{Known: true, Groups: []scaling.NodeGroup{
		{Accelerator: "H100", Total: 40, Free: []scaling.FreeNodes{{GPUs: 8, Nodes: 3}}},
	}}}
	for _, d := range e.Decide(Case{Now: now, Snapshots: []scaling.Snapshot{s.observe(0)}}).Plan.Decisions {
		if want := map[string]scaling.Replicas{"four": 0, "two": 2}[d.Variant.Name]; d.Target() != want {
			t.Errorf("%s gets %d replicas, want %d: %v", d.Variant.Name, d.Target(), want, d.Steps)
		}
	}
}
