package dashboard

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/history"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/metrics"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// question is one to a fakeStore.
type question struct {
	expression string
	from, to   time.Time
	step       time.Duration
}

// fakeStore is a Store that answers after a while what a test says.
type fakeStore struct {
	mu     sync.Mutex
	takes  time.Duration
	err    error
	series func(question) []query.Curve
	asked  []question
}

func (s *fakeStore) Range(ctx context.Context, expression string, from, to time.Time, step time.Duration) ([]query.Curve, error) {
	one := question{expression, from, to, step}
	s.mu.Lock()
	s.asked = append(s.asked, one)
	takes := s.takes
	s.mu.Unlock()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(takes):
	}
	if s.err != nil {
		return nil, s.err
	}
	return s.series(one), nil
}

func (s *fakeStore) times() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked)
}

// constant is a series that has one value at each step of a question, from an instant on until another.
func constant(a question, metric, variant string, value float64, from, until time.Time) query.Curve {
	out := query.Curve{Labels: map[string]string{"__name__": metric, "variant_name": variant}}
	for t := a.from.Truncate(a.step); !t.After(a.to); t = t.Add(a.step) {
		if !t.Before(from) && t.Before(until) {
			out.Points = append(out.Points, query.Point{At: t, Value: value})
		}
	}
	return out
}

var (
	midnight = time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)
	chat     = scaling.ModelKey{Namespace: "prod", ID: "org/chat"}
)

// remembered is what a manager that began at some minute after midnight knows at twelve past it, every minute.
func remembered(begins int, variants ...string) history.ModelHistory {
	h := history.ModelHistory{From: history.At(midnight), To: history.At(midnight.Add(12 * time.Minute)), Begins: history.At(midnight.Add(time.Duration(begins) * time.Minute))}
	for i := begins; i <= 12; i++ {
		h.T = append(h.T, history.At(midnight.Add(time.Duration(i)*time.Minute)))
	}
	own := slices.Repeat(history.Column{9}, len(h.T))
	h.Load, h.Utilization, h.Waiting, h.TTFT, h.ITL, h.Missed, h.Cost = slices.Clone(own), slices.Clone(own), slices.Clone(own), slices.Clone(own), slices.Clone(own), slices.Clone(own), slices.Clone(own)
	for _, name := range variants {
		h.Variants = append(h.Variants, history.VariantHistory{Namespace: chat.Namespace, Name: name, Desired: slices.Clone(own), Current: slices.Clone(own), Ready: slices.Clone(own), Serving: slices.Clone(own), Draining: slices.Clone(own)})
	}
	return h
}

// filled returns h with what a store of some series knows of the time from a minute on.
func filled(t *testing.T, h history.ModelHistory, from time.Time, series func(question) []query.Curve) history.ModelHistory {
	t.Helper()
	var out history.ModelHistory
	synctest.Test(t, func(t *testing.T) {
		out = NewPast(&fakeStore{series: series}, "the store", nil).before(t.Context(), h, chat, from)
	})
	for name, c := range columnsOf(out) {
		if len(c) != len(out.T) {
			t.Errorf("%s has %d rows, the times are %d", name, len(c), len(out.T))
		}
	}
	if !slices.IsSortedFunc(out.T, func(a, b history.Time) int { return a.Compare(b.Time) }) {
		t.Errorf("the times are not in order: %v", out.T)
	}
	return out
}

func columnsOf(h history.ModelHistory) map[string]history.Column {
	out := map[string]history.Column{"load": h.Load, "utilization": h.Utilization, "waiting": h.Waiting, "ttft": h.TTFT, "itl": h.ITL, "missed": h.Missed, "cost": h.Cost}
	for _, v := range h.Variants {
		for name, c := range map[string]history.Column{"desired": v.Desired, "current": v.Current, "ready": v.Ready, "serving": v.Serving, "draining": v.Draining} {
			out[v.Name+" "+name] = c
		}
	}
	return out
}

// ends are the first value of a column and the one before the manager's first row, of a manager that began at minute 6.
func ends(c history.Column) string { return fmt.Sprint(c[0], c[len(c)-8], c[len(c)-7]) }

func TestTheTimeBeforeAManagerIsThatOfTheStore(t *testing.T) {
	until := midnight.Add(6*time.Minute + time.Second) // one scrape after the manager began
	h := filled(t, remembered(6, "a", "b"), midnight, func(a question) []query.Curve {
		one := func(metric, variant string, v float64) query.Curve {
			return constant(a, metric, variant, v, midnight, until)
		}
		return []query.Curve{
			one(metrics.DesiredReplicas, "a", 4), one(metrics.CurrentReplicas, "a", 3), one(metrics.Replicas, "a", 2), one(metrics.ReplicaCost, "a", 10),
			one(metrics.CurrentLoad, "a", 7.5), one(metrics.MeasuredITL, "a", 0.02),
			one(metrics.AdvisedReplicas, "b", 1), one(metrics.CurrentReplicas, "b", 1), one(metrics.Replicas, "b", 1), one(metrics.ReplicaCost, "b", 4),
			one(metrics.CurrentLoad, "b", 7.5), one(metrics.MeasuredITL, "b", 0.05),
		}
	})
	got := map[string]string{}
	for name, c := range columnsOf(h) {
		got[name] = ends(c)
	}
	want := map[string]string{
		"load": "7.5 7.5 9", "cost": "34 34 9", "itl": "30 30 9", // (2 of 20 ms and one of 50) / 3
		"ttft": "NaN NaN 9", "utilization": "NaN NaN 9", "waiting": "NaN NaN 9", "missed": "NaN NaN 9", //nolint:dupword // numbers
		"a desired": "4 4 9", "a current": "3 3 9", "a ready": "2 2 9", "a serving": "NaN NaN 9", "a draining": "NaN NaN 9", //nolint:dupword // numbers
		"b desired": "1 1 9", "b current": "1 1 9", "b ready": "1 1 9", "b serving": "NaN NaN 9", "b draining": "NaN NaN 9", //nolint:dupword // numbers
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("first, last before the manager, first of the manager (-want +got):\n%s", d)
	}
	if h.Before.Until != h.T[len(h.T)-7] || !h.Before.From.Equal(midnight) || h.Begins != h.Before.From || !h.Complete || h.Before.Trouble != "" {
		t.Errorf("it says %+v, complete %v since %s", h.Before, h.Complete, h.Begins)
	}
	if h.Before.Step != 15 || len(h.T) != 4*6+7 {
		t.Errorf("there are %d rows, those of the store every %.0f s", len(h.T), h.Before.Step)
	}
}

func TestAVariantThatEndedHasReplicasOnlyThen(t *testing.T) {
	half := midnight.Add(3 * time.Minute)
	h := filled(t, remembered(6, "new"), midnight, func(a question) []query.Curve {
		return []query.Curve{constant(a, metrics.DesiredReplicas, "old", 2, midnight, half), constant(a, metrics.DesiredReplicas, "new", 5, half, midnight.Add(time.Hour))}
	})
	if len(h.Variants) != 2 || h.Variants[0].Name != "new" || h.Variants[1].Name != "old" {
		t.Fatalf("the variants are %+v", h.Variants)
	}
	if got := ends(h.Variants[0].Desired) + ", " + ends(h.Variants[1].Desired); got != "0 5 9, 2 0 0" {
		t.Errorf("new and old have %s", got)
	}
}

func TestATimeWithoutAManagerIsNotKnown(t *testing.T) {
	h := filled(t, remembered(6, "a"), midnight, func(a question) []query.Curve {
		return []query.Curve{constant(a, metrics.DesiredReplicas, "a", 2, midnight.Add(time.Minute), midnight.Add(3*time.Minute))}
	})
	if got := ends(h.Variants[0].Desired); got != "2 NaN 9" || !h.T[0].Equal(midnight.Add(time.Minute)) {
		t.Errorf("the replicas are %s from %s on, want what the store knows and not what is between", got, h.T[0])
	}
	if h.Complete {
		t.Error("it is said to be complete, and its first minute is not known")
	}
}

func TestAStoreThatDoesNotHelpIsSaid(t *testing.T) {
	curve := func(metric string, points ...query.Point) []query.Curve {
		return []query.Curve{{Labels: map[string]string{"__name__": metric, "variant_name": "a"}, Points: points}}
	}
	for name, c := range map[string]struct {
		series []query.Curve
		err    error
		want   string
	}{
		"it has nothing":                       {want: "it has no series of the model from 2026-11-25T00:00:00Z to 2026-11-25T00:06:00Z"},
		"it has series of other metrics":       {series: curve("up", query.Point{At: midnight.Add(time.Minute), Value: 1}), want: "it has no series"},
		"it has numbers that are none":         {series: curve(metrics.DesiredReplicas, query.Point{At: midnight.Add(time.Minute), Value: math.Inf(1)}), want: "it has no series"},
		"it has times that were not asked for": {series: curve(metrics.DesiredReplicas, query.Point{At: midnight.Add(-time.Hour), Value: 1}, query.Point{At: midnight.Add(time.Hour), Value: 1}), want: "it has no series"},
		"it refuses":                           {err: errors.New("prometheus: 403 Forbidden"), want: "prometheus: 403 Forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				before := remembered(6, "a")
				h := NewPast(&fakeStore{series: func(question) []query.Curve { return c.series }, err: c.err}, "the store", nil).before(t.Context(), before, chat, midnight)
				if !strings.HasPrefix(h.Before.Trouble, c.want) || !h.Before.Until.IsZero() || h.Before.Source != "the store" {
					t.Errorf("it says %+v, want %q", h.Before, c.want)
				}
				if len(h.T) != len(before.T) || h.Complete != before.Complete || h.Begins != before.Begins {
					t.Error("what the manager remembers is not as it was")
				}
			})
		})
	}
}

func TestAStoreIsAskedOnceForATimeThatMovesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeStore{series: func(a question) []query.Curve {
			return []query.Curve{constant(a, metrics.DesiredReplicas, "a", 2, midnight, midnight.Add(time.Hour))}
		}}
		p := NewPast(s, "the store", nil)
		for i := range 20 {
			p.before(t.Context(), remembered(6, "a"), chat, midnight.Add(time.Duration(i)*15*time.Second))
		}
		if n := s.times(); n != 1 {
			t.Errorf("for 20 cycles of a page it was asked %d times", n)
		}
		p.before(t.Context(), remembered(8, "a"), chat, midnight) // another manager leads
		if n := s.times(); n != 2 {
			t.Errorf("after another manager began to lead it was asked %d times, want once more", n)
		}
		p.before(t.Context(), remembered(6, "a"), chat, midnight.Add(6*time.Minute))
		p.before(t.Context(), remembered(6, "a"), chat, time.Time{})
		if n := s.times(); n != 2 {
			t.Error("it was asked for a time that the manager remembers")
		}
		for i := range 2 * mostStretches {
			p.before(t.Context(), remembered(6, "a"), scaling.ModelKey{Namespace: "prod", ID: fmt.Sprint(i)}, midnight)
		}
		if n := len(p.kept); n != mostStretches {
			t.Errorf("%d answers are kept, want %d", n, mostStretches)
		}
	})
}

func TestAStoreThatFailsIsAskedAgainAfterAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeStore{err: errors.New("connection refused")}
		p := NewPast(s, "the store", nil)
		for range 5 {
			p.before(t.Context(), remembered(6, "a"), chat, midnight)
		}
		if n := s.times(); n != 1 {
			t.Errorf("it was asked %d times at once", n)
		}
		after(storePause)
		p.before(t.Context(), remembered(6, "a"), chat, midnight)
		if n := s.times(); n != 2 {
			t.Errorf("after %s it was asked %d times, want 2", storePause, n)
		}
	})
}

func TestAPageDoesNotWaitForASlowStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeStore{takes: 5 * time.Second, series: func(a question) []query.Curve {
			return []query.Curve{constant(a, metrics.DesiredReplicas, "a", 2, midnight, midnight.Add(time.Hour))}
		}}
		p := NewPast(s, "the store", nil)
		told := 0
		p.tell(func() { told++ })
		began := time.Now()
		h := p.before(t.Context(), remembered(6, "a"), chat, midnight)
		if waited := time.Since(began); waited > storeWait || !h.Before.Pending || len(h.T) != 7 {
			t.Errorf("after %s the page has %d rows and is told %+v", waited, len(h.T), h.Before)
		}
		after(5 * time.Second)
		if told != 1 {
			t.Errorf("the pages were told %d times of the answer", told)
		}
		if h = p.before(t.Context(), remembered(6, "a"), chat, midnight); h.Before.Pending || h.Before.Until.IsZero() || s.times() != 1 {
			t.Errorf("then the page has %d rows and is told %+v", len(h.T), h.Before)
		}
		s.mu.Lock()
		s.takes = time.Hour
		s.mu.Unlock()
		p.before(t.Context(), remembered(6, "b"), scaling.ModelKey{Namespace: "prod", ID: "other"}, midnight)
		after(storeLimit)
		if h = p.before(t.Context(), remembered(6, "b"), scaling.ModelKey{Namespace: "prod", ID: "other"}, midnight); !strings.Contains(h.Before.Trouble, "deadline") {
			t.Errorf("a store that does not answer is told as %+v", h.Before)
		}
	})
}

func TestRowsAreFewWhateverTheTimeAndTheVariants(t *testing.T) {
	for _, width := range []time.Duration{time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour, 30 * 24 * time.Hour, 3000 * 24 * time.Hour} {
		for _, variants := range []int{0, 1, 20, 1000} {
			step := stepOf(width, variants)
			rows := int(width / step)
			if rows > mostRows || variants > 100 && rows*variants*len(storedMetrics) > max(mostValues, fewestRows*variants*len(storedMetrics)) {
				t.Errorf("%s of %d variants are %d rows", width, variants, rows)
			}
		}
	}
	for width, want := range map[time.Duration]time.Duration{time.Hour: 15 * time.Second, 6 * time.Hour: time.Minute, 24 * time.Hour: 5 * time.Minute} {
		if got := stepOf(width, 3); got != want {
			t.Errorf("%s are in steps of %s, want %s", width, got, want)
		}
	}
}

func TestWhoMayNotReadAModelSeesNothingOfTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{}
		m := refusing(http.StatusForbidden)
		l := NewLive(LiveOptions{Past: NewPast(store, "the store", nil)})
		l.connect(m)
		if _, err := l.Model(t.Context(), chat, midnight, time.Time{}); statusOf(err) != http.StatusForbidden {
			t.Errorf("the page gets %v", err)
		}
		if store.times() != 0 {
			t.Error("the store was asked")
		}
	})
}
