package sim

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/simtest"
)

// TestAReportIsOfWhatIsJudged runs the same run three times: as a whole, from ten
// minutes on, and for the first ten minutes. The second is the first without the third.
func TestAReportIsOfWhatIsJudged(t *testing.T) {
	const from = 10 * time.Minute
	run := func(change func(*Config)) Report {
		c := testConfig(simtest.Chat(t, "sine(1->12,5m,25m)", 3))
		c.Models[0].SLO = SLO{TTFT: 500, ITL: 30, Attainment: 0.9}
		c.Duration, c.Bin = 25*time.Minute, 5*time.Minute
		change(&c)
		r, err := Run(t.Context(), c, NewEngine(EngineOptions{Name: "engine"}))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	whole := run(func(*Config) {})
	rest := run(func(c *Config) { c.From = from })
	first := run(func(c *Config) { c.Duration = from })
	a, b, c := whole.Models[0], rest.Models[0], first.Models[0]
	if len(a.Bins) != 5 || len(b.Bins) != 3 || rest.Horizon != 15*time.Minute {
		t.Fatalf("%d and %d bins over %s, want 5 and 3 over 15m", len(a.Bins), len(b.Bins), rest.Horizon)
	}
	if diff := cmp.Diff(a.Bins[2:], b.Bins); diff != "" {
		t.Errorf("the bins from ten minutes on (-whole +judged):\n%s", diff)
	}
	var sum Bin
	for _, one := range b.Bins {
		sum.Arrived, sum.Met = sum.Arrived+one.Arrived, sum.Met+one.Met
	}
	if sum.Arrived != b.Counts.Arrived || sum.Met != b.Counts.Met || sum.Met == sum.Arrived {
		t.Errorf("the bins have %+v, the counts %+v: want the same, with misses", sum, b.Counts)
	}
	if got := c.Counts.Arrived + b.Counts.Arrived; got != a.Counts.Arrived {
		t.Errorf("%d requests in the parts, %d in the whole", got, a.Counts.Arrived)
	}
	if math.Abs(a.Cost-b.Cost-c.Cost) > 1e-9 || b.Cost == 0 {
		t.Errorf("the parts cost %g and %g, the whole %g", c.Cost, b.Cost, a.Cost)
	}
	if before := b.Before; math.Abs(before.Cost-c.Cost) > 1e-9 || before.Arrived != c.Counts.Arrived || before.Met > c.Counts.Met || before.Met+b.Counts.Met != a.Counts.Met {
		t.Errorf("before ten minutes %+v, want a cost of %g, %d requests and %d met", before, c.Cost, c.Counts.Arrived, a.Counts.Met-b.Counts.Met)
	}
	if b.Violation >= a.Violation || b.Violation == 0 {
		t.Errorf("in violation for %s of the rest and %s of the whole, want less and some", b.Violation, a.Violation)
	}
}
