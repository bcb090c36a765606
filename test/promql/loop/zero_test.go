package loop

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/constrain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/cycle"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/test/promql/faulty"
)

// retention is the period after which the model of these tests goes to zero.
const retention = 6 * time.Minute

// late is by how much a model may go to zero later: the last scrape that shows a
// request counts for the window and two looks of 15s, a scrape is 15s old, and a
// cycle comes every minute.
const late = 90*time.Second + scrapes + cycles

// sleeper is a loop whose model may go to zero. Its decisions are not carried
// out, so that it may be decided to go there again.
type sleeper struct {
	*loop
	past  memory.History
	quiet *collector.IdleTracker
}

func beginSleeper(t *testing.T) *sleeper {
	s := &sleeper{past: memory.History{}, loop: begin(t, options{})}
	s.startManager()
	s.cycles(3)
	return s
}

// startManager starts a process that knows nothing.
func (s *sleeper) startManager() {
	for key, p := range s.past {
		s.past[key] = memory.Past{Desired: p.Desired, DecidedAt: p.DecidedAt}
	}
	s.quiet = collector.NewIdleTracker(func(scaling.ModelKey) time.Duration { return retention })
	s.collect = collector.New(s.source, s.manager, collector.Options{Idle: s.quiet})
	ctx, cancel := context.WithCancel(s.t.Context())
	done := make(chan error)
	go func() { done <- s.quiet.Run(ctx) }()
	s.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			s.t.Error(err)
		}
	})
}

// fetches lets a time pass in which the manager fetches every 15 seconds.
func (s *sleeper) fetches(d time.Duration, pass func(time.Duration)) {
	for range d / scrapes {
		pass(scrapes)
		_ = s.collect.Refresh(s.t.Context(), s.fleet()) // a store that fails is one of the cases
		s.quiet.Wait()
	}
}

// zero runs a cycle and reports whether it decides for no replica.
func (s *sleeper) zero() bool {
	s.t.Helper()
	snapshots := s.collect.Collect(s.t.Context(), s.fleet())
	how := settings.Default()
	how.Pacing.Zero = constrain.Zero{Enabled: true, Retention: retention}
	setup := cycle.Setup{Models: map[scaling.ModelKey]settings.Model{snapshots[0].Model: how}}
	verdict := setup.Decide(cycle.Case{Now: s.manager.Now(), Snapshots: snapshots, History: s.past})
	s.past = verdict.History
	for key, p := range s.past {
		p.Desired = replicas // no scaler carries it out
		s.past[key] = p
	}
	return verdict.Plan.Decisions[0].Target() == 0
}

// cycles lets so many minutes pass, with a cycle at the end of each, and returns
// after how long the model is decided to be at zero, 0 if it never is.
func (s *sleeper) cycles(n int) time.Duration {
	s.t.Helper()
	for i := range n {
		s.fetches(cycles, s.pass)
		if s.zero() {
			return time.Duration(i+1) * cycles
		}
	}
	return 0
}

// rest leaves the pods without a request.
func (s *sleeper) rest() {
	for _, p := range s.pods {
		p.hangs = true
		p.Ranks[0].Running, p.Ranks[0].Waiting, p.Ranks[0].Usage = 0, 0, 0
	}
}

func TestAModelAtRestGoesToZeroAfterItsRetentionPeriod(t *testing.T) {
	t.Parallel()
	s := beginSleeper(t)
	s.rest()
	if got := s.cycles(12); got < retention || got > retention+late {
		t.Errorf("at zero after %s, want %s to %s", got, retention, retention+late)
	}
}

func TestARestartOfTheManagerDoesNotBeginThePeriodAnew(t *testing.T) {
	t.Parallel()
	s := beginSleeper(t)
	s.rest()
	for range 5 {
		s.cycles(1)
		s.startManager()
	}
	if got := 5*cycles + s.cycles(7); got < retention || got > retention+late {
		t.Errorf("at zero after %s, want %s to %s", got, retention, retention+late)
	}
}

func TestAModelIsNotAtRest(t *testing.T) {
	t.Parallel()
	for name, keep := range map[string]func(s *sleeper){
		"while a generation outlasts the period": func(s *sleeper) { s.pods[0].Ranks[0].Running = 1 },
		"while half of its pods do not report":   func(s *sleeper) { s.pods[0].silent, s.pods[1].silent = true, true },
		"while the store does not answer":        func(s *sleeper) { s.proxy.Break(faulty.Status(http.StatusServiceUnavailable)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := beginSleeper(t)
			s.rest()
			keep(s)
			if got := s.cycles(15); got > 0 {
				t.Errorf("at zero after %s", got)
			}
		})
	}
}

// TestWhatIsNotScrapedIsNotIdle: the store was stopped for longer than the
// period, and the period begins when it scrapes again.
func TestWhatIsNotScrapedIsNotIdle(t *testing.T) {
	t.Parallel()
	s := beginSleeper(t)
	s.rest()
	s.cycles(2)
	for range 12 {
		s.fetches(cycles, s.standStill)
		if s.zero() {
			t.Fatal("at zero while nothing was scraped")
		}
	}
	if got := s.cycles(12); got < retention || got > retention+late {
		t.Errorf("at zero %s after the store began again, want %s to %s", got, retention, retention+late)
	}
}
