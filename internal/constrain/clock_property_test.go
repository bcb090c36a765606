package constrain

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/race"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// wrong is a clock that is set forward and back by up to six hours while time passes.
type wrong struct {
	passed, off time.Duration
	stepped     time.Duration // when it was set last
}

func (c *wrong) pass(r *rand.Rand, d time.Duration) {
	c.passed += d
	if r.IntN(15) == 0 {
		c.off += time.Duration((r.Float64()*2 - 1) * float64(6*time.Hour)).Truncate(time.Second)
		c.stepped = c.passed
	}
}

// TestAStepOfTheClockHoldsNoDecisionForLongerThanItsPeriod: a number takes effect once it has been
// wanted without a break for the period and a cycle. The wait counts real time since the last clock
// step, whatever the clock shows.
func TestAStepOfTheClockHoldsNoDecisionForLongerThanItsPeriod(t *testing.T) {
	const cycle = 30 * time.Second
	grew, shrank := 0, 0
	for seed := range uint64(race.Cases(400)) {
		rnd := rand.New(rand.NewPCG(seed, 6))
		p := Pacing{
			ScaleUpStabilization:   []time.Duration{0, time.Minute, 5 * time.Minute}[rnd.IntN(3)],
			ScaleDownStabilization: []time.Duration{0, 2 * time.Minute, 10 * time.Minute}[rnd.IntN(3)],
		}
		r := newRun(4, p)
		clock, asked, since := wrong{}, scaling.Replicas(4), time.Duration(0)
		for range 120 {
			if rnd.IntN(12) == 0 {
				asked, since = scaling.Replicas(1+rnd.IntN(8)), clock.passed
			}
			stood := r.counts.Current
			after := clock.passed + clock.off
			for k, past := range r.history {
				r.history[k] = past.At(start.Add(after))
			}
			d := r.ask(after, asked)
			r.has(d.Target(), d.Target())
			calm := clock.passed - clock.stepped
			lasted := min(clock.passed-since, calm)
			for _, s := range d.Steps {
				if s.Reason == scaling.ReasonStabilizing && strings.Contains(s.Detail, "for -") {
					t.Fatalf("seed %d: %s", seed, s.Detail)
				}
			}
			switch got := d.Target(); {
			case asked > stood && lasted >= p.ScaleUpStabilization+cycle && got < asked, asked < stood && lasted >= p.ScaleDownStabilization+cycle && got > asked:
				t.Fatalf("seed %d, %+v: %d asked for the last %s, the clock was set %s ago, and %d stay: %+v", seed, p, asked, lasted, calm, got, d.Steps)
			case got > stood:
				grew++
			case got < stood:
				shrank++
			}
			clock.pass(rnd, cycle)
		}
	}
	if grew < race.Cases(100) || shrank < race.Cases(100) {
		t.Errorf("grew %d times and shrank %d times, which shows little", grew, shrank)
	}
}
