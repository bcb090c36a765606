package loop

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/prometheus"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/promql/faulty"
)

// The loads, and what is right for them: with four idle replicas, which fill a third
// each, two less, and one less where one of them counts as full; with four full ones
// one more.
var (
	idle = load{Usage: 0.2}
	full = load{Usage: 0.85, Waiting: 4}
)

const (
	fewer = replicas - 2
	least = replicas - 1
	more  = replicas + 1
)

// forBothLoads runs a test with idle and with full replicas, and with what would
// be right to decide.
func forBothLoads(t *testing.T, o options, test func(t *testing.T, l *loop, right scaling.Replicas)) {
	t.Helper()
	t.Parallel()
	for _, c := range []struct {
		name  string
		load  load
		right scaling.Replicas
	}{{"idle", idle, fewer}, {"full", full, more}} {
		o := o
		o.Load = c.load
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			test(t, begin(t, o), c.right)
		})
	}
}

// recovers fails the test unless one of the next two cycles decides what is
// right.
func (l *loop) recovers(right scaling.Replicas) {
	l.t.Helper()
	if l.pass(cycles); l.decide().decision.Target() == right {
		return
	}
	l.pass(cycles)
	l.decide().want(l.t, "two cycles after the fault", right)
}

func TestALoopInWhichAllIsWellDecides(t *testing.T) {
	forBothLoads(t, options{}, func(t *testing.T, l *loop, right scaling.Replicas) {
		l.decide().want(t, "at once", right)
	})
}

// TestAStoreThatGivesNoAnswerHolds has the faults of which nothing is left to
// decide on: the number of replicas stays, the cause is told, and the loop is
// back within two cycles.
func TestAStoreThatGivesNoAnswerHolds(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault faulty.Fault // nil refuses connections
		with  options
		last  int // cycles
		told  string
	}{
		{"refused", nil, options{}, 2, "connection refused"},
		{"401", faulty.Status(http.StatusUnauthorized), options{}, 2, "HTTP 401"},
		{"429", faulty.Status(http.StatusTooManyRequests), options{}, 2, "HTTP 429"},
		{"503", faulty.Status(http.StatusServiceUnavailable), options{}, 2, "HTTP 503"},
		{"half of each answer", faulty.Half, options{}, 2, "unexpected EOF"},
		{"500", faulty.Status(http.StatusInternalServerError), options{}, 2, "HTTP 500"},
		// Long enough for a slow machine to recover in.
		{"slow beyond the budget", faulty.Silence, options{Collector: collector.Options{Budget: 3 * time.Second}}, 1, "no answer in time"},
		// A row for each 256 bytes.
		{"a million series", faulty.Flood(1_000_000), options{Source: prometheus.Config{MaxBytes: 2 << 20}}, 2, "more than 8192 rows"},
	} {
		t.Run(c.name, func(t *testing.T) {
			forBothLoads(t, c.with, func(t *testing.T, l *loop, right scaling.Replicas) {
				l.proxy.Break(c.fault)
				if c.fault == nil {
					l.refuse()
				}
				for n := range c.last {
					got := l.decide()
					got.want(t, fmt.Sprintf("cycle %d of the fault", n), replicas)
					if !strings.Contains(got.snapshot.Fault, c.told) || !got.decision.Fallback {
						t.Errorf("fault %q and fallback %v, want one that says %q", got.snapshot.Fault, got.decision.Fallback, c.told)
					}
					l.pass(cycles)
				}
				l.proxy.Break(nil)
				if err := l.proxy.Accept(); err != nil {
					t.Fatal(err)
				}
				l.recovers(right)
			})
		})
	}
}

// refuse closes the port of the store.
func (l *loop) refuse() {
	l.t.Helper()
	if err := l.proxy.Refuse(); err != nil {
		l.t.Fatal(err)
	}
}

// TestAnEmptyAnswerIsNotAnIdleModel: no rows are an answer, and no reason to
// give up a replica.
func TestAnEmptyAnswerIsNotAnIdleModel(t *testing.T) {
	forBothLoads(t, options{}, func(t *testing.T, l *loop, right scaling.Replicas) {
		l.proxy.Break(faulty.Nothing)
		got := l.decide()
		got.want(t, "nothing is answered", replicas)
		if got.snapshot.Fault != "" || got.known() {
			t.Errorf("fault %q, readings %+v: want none, and none", got.snapshot.Fault, got.snapshot.Replicas)
		}
		l.proxy.Break(nil)
		l.recovers(right)
	})
}

// TestHalfOfTheAnswersNeverShrink lets every second query fail, then a random
// half of them, and so on: whatever is missing, what is decided is right or
// nothing. That nothing shrinks on what is not Fresh is checked by every cycle.
func TestHalfOfTheAnswersNeverShrink(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 7))
	halves := []func(int64) bool{
		func(n int64) bool { return n%2 == 0 },
		func(n int64) bool { return n%2 == 1 },
	}
	for range 10 {
		bits := r.Uint64()
		halves = append(halves, func(n int64) bool { return bits>>(n%64)&1 == 1 })
	}
	forBothLoads(t, options{}, func(t *testing.T, l *loop, right scaling.Replicas) {
		held := 0
		for n, half := range halves {
			l.proxy.Break(faulty.Some(http.StatusInternalServerError, half))
			got := l.decide()
			switch got.decision.Target() {
			case replicas:
				held++
			case right:
			default:
				got.want(t, fmt.Sprintf("half %d", n), right)
			}
			l.pass(scrapes)
		}
		if held == 0 {
			t.Error("half of the queries fail, and no cycle has missed anything")
		}
		l.proxy.Break(nil)
		l.recovers(right)
	})
}

// TestAStoreThatStumblesIsAskedAgain: what is unavailable for a moment is tried
// again within the cycle, so that it is no fault.
func TestAStoreThatStumblesIsAskedAgain(t *testing.T) {
	forBothLoads(t, options{}, func(t *testing.T, l *loop, right scaling.Replicas) {
		// The two questions of the first round, then some of the others.
		l.proxy.Break(faulty.Some(http.StatusServiceUnavailable, func(n int64) bool { return n < 2 || n%8 == 5 }))
		got := l.decide()
		got.want(t, "some answers came at the second attempt", right)
		if !got.known() {
			t.Errorf("fault %q", got.snapshot.Fault)
		}
	})
}

// TestAClockThatIsWrongChangesNothing has a manager whose clock is a minute
// before or behind that of the store. Ages are a matter of one clock.
func TestAClockThatIsWrongChangesNothing(t *testing.T) {
	for _, skew := range []time.Duration{-time.Minute, time.Minute} {
		t.Run(skew.String(), func(t *testing.T) {
			t.Parallel()
			l := begin(t, options{Skew: skew, Load: idle})
			got := l.decide()
			got.want(t, "with a skewed clock", fewer)
			// 30 requests end in each pod between two scrapes.
			if rate := got.snapshot.Load.ArrivalRate; rate.State != scaling.Fresh || math.Abs(rate.Value-replicas*30/scrapes.Seconds()) > 1e-9 {
				t.Errorf("requests arrive at a rate of %v, want %v/s", rate, replicas*30/scrapes.Seconds())
			}
			for _, r := range got.snapshot.Replicas {
				if !r.At.Equal(l.manager.Now()) {
					t.Errorf("%s was scraped at %v, want the manager's now %v", r.Pod, r.At, l.manager.Now())
				}
			}
			// Nor does it make young what is old: 90s are Aging, 10m are Stale.
			l.history = memory.History{}
			for _, c := range []struct {
				passes time.Duration
				state  scaling.Freshness
			}{{90 * time.Second, scaling.Aging}, {8*time.Minute + 30*time.Second, scaling.Stale}} {
				l.standStill(c.passes)
				got := l.decide()
				got.want(t, "nothing was scraped for "+c.passes.String(), replicas)
				if state := got.snapshot.Replicas[0].QueueLength.State; state != c.state {
					t.Errorf("after %v the queue is %s, want %s", c.passes, state, c.state)
				}
			}
			l.recovers(fewer)
		})
	}
}

// TestARotatedTokenIsReadAgain: what the store refuses holds, and the new file is
// used without a restart.
func TestARotatedTokenIsReadAgain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "token")
	l := begin(t, options{Load: idle, Source: prometheus.Config{TokenPath: path}})
	write := func(token string) {
		if err := os.WriteFile(path, []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var accepted atomic.Value
	l.proxy.Break(faulty.Bearer(func() string { return accepted.Load().(string) }))
	write("one")
	accepted.Store("two")
	got := l.decide()
	got.want(t, "the token is refused", replicas)
	if !strings.Contains(got.snapshot.Fault, "HTTP 401") {
		t.Errorf("fault %q, want one that says HTTP 401", got.snapshot.Fault)
	}
	write("two")
	l.pass(cycles)
	l.decide().want(t, "the file was rotated", fewer)
	// Both at once, between two cycles: no cycle notices.
	write("three")
	accepted.Store("three")
	l.pass(cycles)
	l.decide().want(t, "both were rotated", fewer)
}

// TestAStoreThatBeginsAgainIsNotIdle restarts the store with an empty database.
// Its first pages are Fresh and its rates and peaks of nothing are not.
func TestAStoreThatBeginsAgainIsNotIdle(t *testing.T) {
	forBothLoads(t, options{}, func(t *testing.T, l *loop, right scaling.Replicas) {
		l.restart()
		l.decide().want(t, "the database is empty", replicas)
		l.pass(scrapes)
		got := l.decide()
		if right == fewer {
			got.want(t, "every pod was scraped once", replicas)
		}
		if got.snapshot.Load.ArrivalRate.State == scaling.Fresh {
			t.Errorf("after one scrape the arrival rate is %v, want one that is not Fresh", got.snapshot.Load.ArrivalRate)
		}
		l.recovers(right)
	})
}

// TestPagesThatAgeGrowAndDoNotShrink has pods that do not answer while the store
// is well.
func TestPagesThatAgeGrowAndDoNotShrink(t *testing.T) {
	forBothLoads(t, options{}, func(t *testing.T, l *loop, right scaling.Replicas) {
		l.silence(true)
		l.pass(75 * time.Second)
		// What was seen a minute ago may justify growth.
		l.decide().want(t, "no pod has answered for 75s", max(right, replicas))
		l.history = memory.History{}
		l.pass(10 * time.Minute)
		l.decide().want(t, "no pod has answered for 11m15s", replicas)
		l.silence(false)
		l.recovers(right)
	})
}

// TestOneReplicaWithoutAPageCountsAsFull: what it holds is not known. A single scrape that failed is nothing.
func TestOneReplicaWithoutAPageCountsAsFull(t *testing.T) {
	t.Parallel()
	l := begin(t, options{Load: idle})
	l.pods[2].silent = true
	l.pass(scrapes)
	l.decide().want(t, "one scrape of one pod failed", fewer)
	l.history = memory.History{}
	for _, d := range []time.Duration{cycles, 10 * time.Minute} {
		l.pass(d)
		l.decide().want(t, "one pod does not answer for another "+d.String(), least)
	}
	l.pods[2].silent = false
	l.recovers(fewer)
}

// silence lets no pod answer, or all of them again.
func (l *loop) silence(silent bool) {
	for _, p := range l.pods {
		p.silent = silent
	}
}

// TestAReplicaThatIsStuckIsNoSurvivor: what it shows is no load and no help, so
// that it counts as one without data, and is named.
func TestAReplicaThatIsStuckIsNoSurvivor(t *testing.T) {
	for _, c := range []struct {
		stuck   scaling.Stuckness
		waiting float64
		before  scaling.Replicas // what is right while it passes for one that works
	}{{scaling.Frozen, 0, fewer}, {scaling.Sick, 2, least}} {
		t.Run(string(c.stuck), func(t *testing.T) {
			t.Parallel()
			l := begin(t, options{Load: idle})
			l.pods[1].hangs, l.pods[1].Ranks[0].Waiting = true, c.waiting
			l.pass(time.Minute)
			l.decide().want(t, "one pod has not moved for a minute", c.before)
			l.history = memory.History{}
			l.pass(4 * time.Minute)
			got := l.decide()
			got.want(t, "one pod has not moved for 5m", least)
			if stuck := got.snapshot.Replicas[1].Stuck; stuck != c.stuck {
				t.Errorf("the pod is %q, want %q", stuck, c.stuck)
			}
			l.pods[1].hangs, l.pods[1].Ranks[0].Waiting = false, 0
			l.recovers(fewer)
		})
	}
}
