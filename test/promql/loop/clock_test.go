package loop

import (
	"fmt"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// TestAClockThatIsSetBackHoldsNothingBack: the manager's clock goes back by an hour
// between two cycles, so that all that it remembers lies in the future.
func TestAClockThatIsSetBackHoldsNothingBack(t *testing.T) {
	for _, cached := range []bool{false, true} {
		t.Run(fmt.Sprintf("with a cache: %t", cached), func(t *testing.T) {
			forBothLoads(t, options{Cached: cached}, func(t *testing.T, l *loop, right scaling.Replicas) {
				l.decide().want(t, "before", right)
				l.manager.SetTime(l.manager.Now().Add(-time.Hour))
				l.pass(cycles)
				l.decide().want(t, "an hour back", right)
				// What is measured is of now, and not what was kept before.
				other := idle
				if right == fewer {
					other = full
				}
				for _, p := range l.pods {
					p.Ranks[0].Usage, p.Ranks[0].Waiting = other.Usage, other.Waiting
				}
				l.pass(10 * time.Minute)
				l.decide().want(t, "the load has changed", fewer+more-right)
			})
		})
	}
}

// TestAClockThatIsSetForwardMakesNothingOld: the manager's clock goes forward by an
// hour, so that all that it remembers is of long ago. Readings are as old as before.
func TestAClockThatIsSetForwardMakesNothingOld(t *testing.T) {
	for _, cached := range []bool{false, true} {
		t.Run(fmt.Sprintf("with a cache: %t", cached), func(t *testing.T) {
			forBothLoads(t, options{Cached: cached}, func(t *testing.T, l *loop, right scaling.Replicas) {
				l.decide().want(t, "before", right)
				l.manager.SetTime(l.manager.Now().Add(time.Hour))
				l.pass(cycles)
				got := l.decide()
				got.want(t, "an hour forward", right)
				if !got.known() {
					t.Errorf("readings are not Fresh: %+v", got.snapshot.Replicas)
				}
				// Nor does it shrink on what it has not seen.
				l.silence(true)
				l.pass(10 * time.Minute)
				l.manager.SetTime(l.manager.Now().Add(time.Hour))
				l.decide().want(t, "an hour forward, and no pod answers", replicas)
			})
		})
	}
}

// TestAClockThatJumpsToAndFroDecidesTheSame: between two cycles the manager's clock goes
// up to 20s back or forward, as one does that is set again and again.
func TestAClockThatJumpsToAndFroDecidesTheSame(t *testing.T) {
	forBothLoads(t, options{}, func(t *testing.T, l *loop, right scaling.Replicas) {
		for n, seconds := range []float64{20, -20, 13, -7, -20, 18, -4, 20} {
			l.manager.SetTime(l.manager.Now().Add(time.Duration(seconds * float64(time.Second))))
			l.pass(cycles)
			l.decide().want(t, "jump "+string(rune('1'+n)), right)
		}
	})
}
