package collector_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/collectortest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// unused is a page of a replica that has nothing to do.
var unused = collectortest.Page{Age: 10 * time.Second, Interval: 15 * time.Second, CacheTokens: 16000, WithoutRequests: true, WithoutGateway: true}

// resting is a fleet that has nothing to do, measured over and over.
type resting struct {
	t       *testing.T
	options collector.Options
	source  *collectortest.Source
	fleet   scaling.Fleet
	collect *collector.Collector
	page    collectortest.Page
	hidden  string // a pod that is not scraped
}

// newResting returns a fleet with a retention period for every model.
func newResting(t *testing.T, models, pods int, retention time.Duration, options collector.Options) *resting {
	t.Helper()
	now := time.Now()
	r := &resting{t: t, options: options, source: collectortest.New(now), fleet: collectortest.Fleet(now, models, pods), page: unused}
	for i := range r.fleet.Variants {
		r.fleet.Variants[i].Replicas.NewestReady = now.Add(-100 * time.Hour)
	}
	r.options.Idle = r.begin(func(scaling.ModelKey) time.Duration { return retention })
	r.use(r.source)
	return r
}

// begin returns an IdleTracker that knows nothing and asks until the test ends.
func (r *resting) begin(retention func(scaling.ModelKey) time.Duration) *collector.IdleTracker {
	quiet := collector.NewIdleTracker(retention)
	ctx, cancel := context.WithCancel(r.t.Context())
	done := make(chan error)
	go func() { done <- quiet.Run(ctx) }()
	r.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			r.t.Error(err)
		}
	})
	return quiet
}

// use measures through a source from now on.
func (r *resting) use(source collector.Source) {
	r.collect = collector.New(source, clock.RealClock{}, r.options)
}

// tells makes the source say since when the first model has been without a request.
func (r *resting) tells(since time.Time) {
	r.source.Answer(query.AskRecent, collectortest.ModelRow(query.NoRequestSince, collectortest.Namespace, "m000", collectortest.Unix(since)))
}

// after measures the fleet once more after a time, and lets what is asked beside it
// be answered.
func (r *resting) after(t *testing.T, d time.Duration) []scaling.Snapshot {
	t.Helper()
	time.Sleep(d)
	synctest.Wait()
	now, recent := time.Now(), r.source.Rows(query.AskRecent)
	r.source.Clear()
	r.source.SetNow(now)
	r.source.Serve(r.fleet, r.page)
	r.source.Answer(query.AskRecent, recent...)
	for _, ask := range query.Questions() {
		r.source.Replace(ask, slices.DeleteFunc(r.source.Rows(ask), func(row query.Row) bool { return r.hidden != "" && row.Pod == r.hidden })...)
	}
	r.fleet.At = now
	return r.collect.Collect(t.Context(), r.fleet)
}

// recent returns the questions about the time before, and forgets all.
func (r *resting) recent() []query.Request {
	calls := slices.DeleteFunc(r.source.Calls(), func(c query.Request) bool { return c.Ask != query.AskRecent })
	r.source.Forget()
	return calls
}

// known is what a snapshot says of the quiet of its model.
func known(since, until time.Time) scaling.Recent {
	return scaling.Recent{Requests: fresh(0), Since: since.UTC(), Until: until.UTC()}
}

func TestTheSourceSaysSinceWhenAModelIsIdle(t *testing.T) {
	for name, tt := range map[string]struct {
		change    func(r *resting, began time.Time)
		retention time.Duration
		want      time.Duration // before the first fetch, 0 where the source told nothing
	}{
		"as it says": {func(r *resting, began time.Time) { r.tells(began.Add(-11 * time.Minute)) }, 10 * time.Minute, 11 * time.Minute},
		"of two answers the later": {func(r *resting, began time.Time) {
			r.tells(began.Add(-11 * time.Minute))
			r.tells(began.Add(-3 * time.Minute))
		}, 10 * time.Minute, 3 * time.Minute},
		"it does not matter":    {func(r *resting, began time.Time) { r.tells(began.Add(-11 * time.Minute)) }, 0, 0},
		"the question fails":    {func(r *resting, _ time.Time) { r.source.Fail(query.AskRecent, errors.New("no")) }, 10 * time.Minute, 0},
		"the answer has no row": {func(*resting, time.Time) {}, 10 * time.Minute, 0},
		"the answer is no time": {func(r *resting, _ time.Time) {
			r.source.Answer(query.AskRecent, collectortest.ModelRow(query.NoRequestSince, collectortest.Namespace, "m000", math.NaN()))
		}, 10 * time.Minute, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var faults []error
				r := newResting(t, 1, 2, tt.retention, collector.Options{
					ObserveFetch: func(_ time.Duration, err error) { faults = append(faults, err) },
				})
				began := time.Now()
				tt.change(r, began)
				for range 2 {
					r.after(t, 15*time.Second)
				}
				got := r.after(t, 15*time.Second)[0].Load.Recent
				// The first fetch, after 15s, tells of three quarters of its window before
				// the scrape of 10s earlier.
				want := known(began.Add(5*time.Second-45*time.Second), began.Add(35*time.Second))
				if tt.want > 0 {
					want.Since = began.Add(-tt.want).UTC()
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if err := errors.Join(faults...); err != nil {
					t.Errorf("a fetch is not complete: %v", err)
				}
			})
		})
	}
}

// TestWhatIsNotIdleIsNotQuiet: what the source told before does not count while the
// model shows a request, or cannot be seen.
func TestWhatIsNotIdleIsNotQuiet(t *testing.T) {
	for name, change := range map[string]func(*resting){
		"a request runs":          func(r *resting) { r.page = busy },
		"a Ready pod has no page": func(r *resting) { r.hidden = "m000-1" },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newResting(t, 1, 2, 10*time.Minute, collector.Options{})
				r.tells(time.Now().Add(-11 * time.Minute))
				for range 3 {
					r.after(t, 15*time.Second)
				}
				change(r)
				if got := r.after(t, 15*time.Second)[0].Load.Recent; got != (scaling.Recent{}) {
					t.Errorf("quiet since %s", got.Since)
				}
			})
		})
	}
}

// TestACollectionDoesNotWaitForTheTimeBefore: the question takes as long as it may,
// and until it is answered the time before is not known.
func TestACollectionDoesNotWaitForTheTimeBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newResting(t, 1, 2, 10*time.Minute, collector.Options{})
		r.source.Hang(query.AskRecent)
		for range 4 {
			r.after(t, 15*time.Second)
			began := time.Now()
			recent := r.collect.Collect(t.Context(), r.fleet)[0].Load.Recent
			if took := time.Since(began); took > 0 {
				t.Errorf("a collection took %s", took)
			}
			if recent.Since.Before(began.Add(-5 * time.Minute)) {
				t.Errorf("quiet since %s without an answer", recent.Since)
			}
		}
		if n := len(r.recent()); n == 0 {
			t.Error("nothing was asked")
		}
	})
}

// TestAQuietModelIsAskedAboutOnce: what is watched need not be asked for, and a gap
// that the looks do not span has to be.
func TestAQuietModelIsAskedAboutOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newResting(t, 1, 2, 10*time.Minute, collector.Options{})
		began := time.Now()
		r.tells(began.Add(-4 * time.Minute))
		for range 60 {
			r.after(t, 15*time.Second)
		}
		if got := r.recent(); len(got) != 1 || got[0].Span != 12*time.Minute {
			t.Errorf("asked %d times in 15 minutes, want once about 12 minutes: %v", len(got), got)
		}
		// A minute between two fetches is more than a look spans.
		r.after(t, time.Minute)
		synctest.Wait()
		if got := r.recent(); len(got) != 1 || got[0].Span != 4*time.Minute {
			t.Errorf("after a gap of a minute asked %v, want once about 4 minutes", got)
		}
	})
}

// store answers about the time before what it was asked, as a metrics store does.
type store struct {
	*collectortest.Source
	since time.Time // of every model
}

func (s store) Ask(ctx context.Context, r query.Request) (query.Answer, error) {
	answer, err := s.Source.Ask(ctx, r)
	if r.Ask != query.AskRecent || err != nil {
		return answer, err
	}
	since := s.since
	if from := r.At.Add(-r.Span); !since.After(from) {
		since = from
	} else if r.Whole {
		return query.Answer{}, nil
	}
	answer.At = r.At
	for _, model := range r.Models {
		answer.Rows = append(answer.Rows, collectortest.ModelRow(query.NoRequestSince, collectortest.Namespace, model, collectortest.Unix(since)))
	}
	return answer, nil
}

// TestOneFetchHasSoMuchAskedAndNoMore: whatever the fleet and its retention periods.
// A store reads some 800,000 samples in a second; a look that has to tell when
// something happened takes it as long as five.
func TestOneFetchHasSoMuchAskedAndNoMore(t *testing.T) {
	for name, tt := range map[string]struct {
		models, pods int
		retention    time.Duration
		quiet        time.Duration // before the first fetch
		fetches      int           // until all are known
		want         time.Duration // what is known then of the time before the first fetch
	}{
		"a thousand models":                {1000, 10, 10 * time.Minute, time.Hour, 3, 10 * time.Minute},
		"that were busy before":            {1000, 10, 10 * time.Minute, 3 * time.Minute, 9, 3 * time.Minute},
		"a retention of a day":             {20, 10, 24 * time.Hour, 48 * time.Hour, 5, 22 * time.Hour},
		"a thousand pods of one for a day": {1, 1000, 24 * time.Hour, 48 * time.Hour, 3, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newResting(t, tt.models, tt.pods, tt.retention, collector.Options{})
				began := time.Now()
				r.use(store{r.source, began.Add(-tt.quiet)})
				var last []scaling.Snapshot
				for fetch := range tt.fetches + 2 {
					last = r.after(t, 15*time.Second)
					samples := 0
					for _, call := range r.recent() {
						perPod := int((call.Span + call.Window) / (15 * time.Second))
						if !call.Whole {
							perPod = 5 * int(call.Span/query.IdleStep(call.Span))
						}
						samples += len(call.Models) * tt.pods * perPod
						if n := len(call.Models); n == 0 || n > 500 {
							t.Fatalf("a question names %d models", n)
						}
					}
					if samples > 800_000 {
						t.Errorf("fetch %d has %d samples read", fetch, samples)
					}
				}
				unknown := 0
				for _, s := range last {
					if s.Load.Recent.Since.After(began.Add(-tt.want + time.Minute)) {
						unknown++
					}
				}
				if unknown > 0 {
					t.Errorf("of %d of %d models it is not known that they were quiet for %s before", unknown, tt.models, tt.want)
				}
			})
		})
	}
}

// TestSpansAreAskedAboutOneByOne: models with the same retention period share a
// question, which names no others.
func TestSpansAreAskedAboutOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newResting(t, 3, 1, 0, collector.Options{})
		r.options.Idle = r.begin(func(m scaling.ModelKey) time.Duration {
			return map[string]time.Duration{"m000": 28 * time.Minute, "m001": 10 * time.Minute, "m002": 28 * time.Minute}[m.ID]
		})
		r.use(store{r.source, time.Now().Add(-time.Hour)})
		for range 3 {
			r.after(t, 15*time.Second)
		}
		got := map[time.Duration][]string{}
		for _, call := range r.recent() {
			got[call.Span] = call.Models
		}
		want := map[time.Duration][]string{12 * time.Minute: {"m001"}, 30 * time.Minute: {"m000", "m002"}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("asked (-want +got):\n%s", diff)
		}
	})
}

// TestASlowStoreIsAskedLess: by half with each answer that takes longer than a
// second, or fails.
func TestASlowStoreIsAskedLess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newResting(t, 200, 10, 10*time.Minute, collector.Options{})
		r.source.Fail(query.AskRecent, errors.New("no"))
		last := 200
		for range 8 {
			r.after(t, 15*time.Second)
			synctest.Wait()
			models := 0
			for _, call := range r.recent() {
				models = max(models, len(call.Models))
			}
			if models == 0 {
				continue // the first fetch has nothing to ask
			}
			if models > last {
				t.Errorf("asked about %d models at once after %d failed", models, last)
			}
			last = models
		}
		if last > 50 {
			t.Errorf("asked about %d models at once after seven failures", last)
		}
	})
}

// TestAModelIDAsLongAsAnObjectLeavesTheOthersAlone: its owner may write any text,
// and an expression that repeats it is one that a store refuses for every model.
func TestAModelIDAsLongAsAnObjectLeavesTheOthersAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newResting(t, 2, 1, 10*time.Minute, collector.Options{Percentiles: func(scaling.ModelKey) bool { return true }})
		long := strings.Repeat("x", 1<<20)
		r.fleet.Variants[1].Model.ID = long
		began := time.Now()
		r.tells(began.Add(-11 * time.Minute))
		var got []scaling.Snapshot
		for range 3 {
			got = r.after(t, 15*time.Second)
		}
		for _, call := range r.source.Calls() {
			if slices.Contains(call.Models, long) {
				t.Errorf("%s names it: an expression of %d bytes", call.Ask, len(call.PromQL()))
			}
		}
		if want := began.Add(-11 * time.Minute); !got[0].Load.Recent.Since.Equal(want) {
			t.Errorf("the other model is quiet since %s, want %s", got[0].Load.Recent.Since, want)
		}
	})
}
