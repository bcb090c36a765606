//go:build !race

package clairvoyant

// Searches and comparisons of minutes under the race detector, whose runs race where smaller tests run
// them side by side.

import (
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// TestTheScheduleKeepsWhatEveryPolicyMust: the bounds of its variants, and a replica while
// there are requests, also where missing them all would be cheaper.
func TestTheScheduleKeepsWhatEveryPolicyMust(t *testing.T) {
	for _, tt := range []struct {
		name        string
		least, most scaling.Replicas
		load        string
		want, idle  int32 // replicas at least, always and while requests are due
	}{
		{"two at least", 2, 9, "constant(1,20m)", 2, 2},
		{"none at least, and few requests", 0, 9, "constant(1,9m),constant(0.02,2m),constant(1,9m)", 0, 1},
		{"three at most", 1, 3, "constant(30,20m)", 1, 1},
	} {
		v := variant("a", 1, 2)
		v.Spec.Bounds = scaling.Bounds{Min: tt.least, Max: tt.most}
		v.Replicas = max(1, tt.least)
		c := config(20*time.Minute, v)
		got, err := Find(t.Context(), c, chat(t, tt.load, 1), Options{Runs: 40})
		if err != nil {
			t.Fatal(err)
		}
		d, err := demandOf(t.Context(), c, c.Models[0], 15*time.Second, chat(t, tt.load, 1))
		if err != nil {
			t.Fatal(err)
		}
		for tick, n := range got.Script.Lines[0].Replicas {
			if n < tt.want || n > int32(tt.most) || d.at(0, tick) > 0 && n < tt.idle {
				t.Errorf("%s: %d replicas at tick %d, want %d to %d, and %d while requests are due", tt.name, n, tick, tt.want, tt.most, tt.idle)
				break
			}
		}
	}
}

// TestTheScheduleIsJudgedAsPoliciesAre: what comes before Config.From costs nothing and
// misses nothing.
func TestTheScheduleIsJudgedAsPoliciesAre(t *testing.T) {
	c := config(20*time.Minute, variant("a", 1, 2))
	c.From = 10 * time.Minute
	fresh := chat(t, "constant(9,10m),constant(2,10m)", 1)
	got, err := Find(t.Context(), c, fresh, Options{Runs: 30})
	if err != nil {
		t.Fatal(err)
	}
	// One replica of 10 minutes costs a third; the first ten minutes need more.
	if cost := costOf(got.Report); !got.Reached || cost > 2*2.0/6 || got.Report.Horizon != 10*time.Minute {
		t.Errorf("reached %v at %.3f over %s, want true, two replicas or fewer, 10m", got.Reached, cost, got.Report.Horizon)
	}
}
