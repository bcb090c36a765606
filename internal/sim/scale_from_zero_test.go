package sim

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/executor"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/simtest"
)

// roused is a scripted policy that pays attention, and keeps when it was asked.
type roused struct {
	scripted
	attention Attention
	alarms    []time.Duration // of the looks that ask for a decision
	start     time.Time
	asked     []time.Duration
}

func (r *roused) Attention() Attention { return r.attention }

func (r *roused) Look(v View) bool { return slices.Contains(r.alarms, v.Now.Sub(r.start)) }

func (r *roused) Decide(v View) ([]Target, error) {
	r.asked = append(r.asked, v.Now.Sub(r.start))
	return r.scripted.Decide(v)
}

func TestAPolicyIsAskedWhenSomethingHappens(t *testing.T) {
	seconds := func(all ...float64) []time.Duration {
		out := make([]time.Duration, len(all))
		for i, s := range all {
			out[i] = time.Duration(s * float64(time.Second))
		}
		return out
	}
	two := [][]Target{want(1), want(2)}
	for _, tt := range []struct {
		name      string
		attention Attention
		alarms    []time.Duration
		targets   [][]Target
		want      []time.Duration
	}{
		{"nothing but the interval", Attention{}, nil, two, seconds(0, 60, 120, 180)},
		{
			"a look that shows a change puts off nothing",
			Attention{Looks: 20 * time.Second, Rest: time.Second},
			seconds(20, 100), nil, seconds(0, 20, 60, 100, 120, 180),
		},
		{"a look right after a decision", Attention{Looks: 20 * time.Second, Rest: time.Second}, seconds(60), nil, seconds(0, 60, 61, 120, 180)},
		{"a look too soon after", Attention{Looks: 10 * time.Second, Rest: 25 * time.Second}, seconds(10), nil, seconds(0, 25, 60, 120, 180)},
		{
			// A second replica is ordered at 60s, and ready 30s later.
			"replicas change",
			Attention{Changes: true, Rest: time.Second},
			nil, two, seconds(0, 60, 61, 90, 120, 180),
		},
		{"nothing but changes", Attention{Looks: 20 * time.Second, Rest: time.Second, Alone: true}, seconds(100), nil, seconds(0, 100)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := testConfig(trace(10, 1, 0))
			c.Duration, c.Tail = 199*time.Second, time.Second
			c = c.withDefaults()
			policy := &roused{scripted: scripted{every: time.Minute, targets: tt.targets}, attention: tt.attention, alarms: tt.alarms, start: c.Start}
			if _, err := Run(t.Context(), c, policy); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, policy.asked); diff != "" {
				t.Errorf("asked at (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTheEngineNoticesBetweenCyclesWhatTheManagerNotices begins a load that one
// replica cannot carry just after a cycle, and looks every 15s.
func TestTheEngineNoticesBetweenCyclesWhatTheManagerNotices(t *testing.T) {
	grows := func(mode executor.Mode, fetch time.Duration) time.Duration {
		c := testConfig(simtest.Chat(t, "constant(0.1,605s),constant(40,5m)", 1))
		first := time.Duration(0)
		c.OnDecision = func(at time.Duration, target Target) {
			if first == 0 && target.Replicas > 1 {
				first = at
			}
		}
		engine := NewEngine(EngineOptions{Name: "engine", Interval: 2 * time.Minute, Executor: mode, Fetch: fetch})
		if _, err := Run(t.Context(), c, engine); err != nil {
			t.Fatal(err)
		}
		return first
	}
	const cycle = 12 * time.Minute // the first after the load began
	if at := grows(executor.Polling, 0); at != cycle {
		t.Errorf("by polling it grows at %s, want %s", at, cycle)
	}
	if at := grows(executor.Hybrid, 0); at != cycle {
		t.Errorf("without looks it grows at %s, want %s", at, cycle)
	}
	for _, mode := range []executor.Mode{executor.Hybrid, executor.Reactive} {
		if at := grows(mode, 15*time.Second); at <= 605*time.Second || at > 650*time.Second || at%(15*time.Second) != 0 {
			t.Errorf("%s: it grows at %s, want at a look within three scrapes of 10m5s", mode, at)
		}
	}
}
