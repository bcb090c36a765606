package day

import (
	"strings"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
)

// machinery is about that of the local cluster.
func machinery() Machinery {
	return Machinery{
		Interval: 5 * time.Second, Scrape: 3 * time.Second, Sync: 5 * time.Second,
		StartUp: sim.StartUp{Mean: 20 * time.Second}, Drain: 30 * time.Second,
	}
}

func simulated(t *testing.T, seeds uint64) []Outcome {
	t.Helper()
	var out []Outcome
	for seed := range seeds {
		o, err := Day{Length: 24 * time.Minute}.Simulate(t.Context(), machinery(), seed+1)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, o)
	}
	return out
}

// TestTheDayMovesReplicas: a comparison of a fleet that stays as it is would show
// nothing.
func TestTheDayMovesReplicas(t *testing.T) {
	for _, o := range simulated(t, 2) {
		if o.Replicas[0] != 1 || o.Most < 4 || o.Most == Most || o.Replicas[len(o.Replicas)-1] > 3 {
			t.Errorf("%d replicas at first, %d at the most, %d at last, want 1, 4 to %d, and 3 or fewer",
				o.Replicas[0], o.Most, o.Replicas[len(o.Replicas)-1], Most-1)
		}
		if o.Attained < Share {
			t.Errorf("%.3f attained, want %g", o.Attained, Share)
		}
		if len(o.Replicas) != 24*60 {
			t.Errorf("replicas were counted %d times, want once in each of %d seconds", len(o.Replicas), 24*60)
		}
	}
}

// TestTheSameRequestsAreSentAndSimulated: what the load generator sends is what the
// simulator is given.
func TestTheSameRequestsAreSentAndSimulated(t *testing.T) {
	d := Day{Length: 3 * time.Minute}
	requests, err := d.Requests(7)
	if err != nil {
		t.Fatal(err)
	}
	same, err := d.SimulateRequests(t.Context(), machinery(), 7, requests)
	if err != nil {
		t.Fatal(err)
	}
	drawn, err := d.Simulate(t.Context(), machinery(), 7)
	if err != nil {
		t.Fatal(err)
	}
	if same.Requests != drawn.Requests || same.Attained != drawn.Attained || same.Cost != drawn.Cost {
		t.Errorf("given requests come to %+v, the seed that draws them to %+v", same, drawn)
	}
}

func TestComparisonNamesWhatIsOutsideTheBars(t *testing.T) {
	runs := simulated(t, 3)
	c := Comparison{Day: Day{Length: 24 * time.Minute}, Machinery: machinery(), Measured: runs[0], Curve: runs, Same: runs}
	if out := c.Outside(); len(out) > 0 {
		t.Errorf("one of three runs is outside of their bars: %q", out)
	}
	c.Measured.Cost *= 1.5
	if out := c.Outside(); len(out) != 1 || !strings.HasPrefix(out[0], "cost: ") {
		t.Errorf("with one and a half of the cost %q is outside, want the cost", out)
	}
	c.Measured.Attained -= 0.2
	if out := c.Outside(); len(out) != 2 {
		t.Errorf("with less attained as well %q is outside, want both", out)
	}
	if text := c.String(); !strings.Contains(text, "replica-hours") || !strings.Contains(text, "\n  23") {
		t.Errorf("the table lacks replica-hours or the last hour:\n%s", text)
	}
}
