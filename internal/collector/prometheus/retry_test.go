package prometheus_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/collector/prometheus"
)

// fails returns a handler that fails a number of times before it answers, and
// counts.
func fails(times int, calls *atomic.Int64, failure http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) <= int64(times) {
			failure(w, r)
			return
		}
		answer(http.StatusOK, vector())(w, r)
	}
}

// waitFor returns a handler that asks to be left alone.
func waitFor(status int, retryAfter string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", retryAfter)
		answer(status, "busy")(w, r)
	}
}

func TestWhatMayPassIsTriedAgain(t *testing.T) {
	hangUp := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	for _, tc := range []struct {
		name    string
		failure http.HandlerFunc
		times   int
		calls   int64
		works   bool
	}{
		{"429", answer(429, ""), 2, 3, true},
		{"502", answer(502, ""), 2, 3, true},
		{"503", answer(503, ""), 1, 2, true},
		{"504", answer(504, ""), 1, 2, true},
		{"a hang-up", hangUp, 2, 3, true},
		{"thrice", answer(503, ""), 3, 4, true},
		{"four times", answer(503, ""), 4, 4, false},
		{"400", answer(400, ""), 1, 1, false},
		{"401", answer(401, ""), 1, 1, false},
		{"403", answer(403, ""), 1, 1, false},
		{"422", answer(422, ""), 1, 1, false},
		{"500", answer(500, ""), 1, 1, false},
		{"garbage", answer(200, "<html>"), 1, 1, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var calls atomic.Int64
			server := serve(t, fails(tc.times, &calls, tc.failure))
			_, err := open(t, server.URL).Ask(t.Context(), running)
			if got := calls.Load(); got != tc.calls || (err == nil) != tc.works {
				t.Errorf("got %v after %d calls, want %d", err, got, tc.calls)
			}
		})
	}
}

func TestAQuestionIsTriedAgainAsOftenAsConfigured(t *testing.T) {
	for _, retries := range []int{0, 1, 3, 10} {
		var calls atomic.Int64
		server := serve(t, fails(100, &calls, answer(503, "")))
		source := open(t, server.URL, func(c *prometheus.Config) { c.Retries, c.Timeout = &retries, time.Hour })
		if _, err := source.Ask(t.Context(), running); err == nil || calls.Load() != int64(1+retries) {
			t.Errorf("%d retries: got %v after %d calls, want %d", retries, err, calls.Load(), 1+retries)
		}
	}
}

func TestWaitsDoubleAndVary(t *testing.T) {
	for seed := range uint64(20) {
		clock := &hurry{}
		source := open(t, "http://"+refusing(t), func(c *prometheus.Config) {
			c.Clock, c.Rand = clock, rand.New(rand.NewPCG(seed, 0))
		})
		if _, err := source.Ask(t.Context(), running); err == nil {
			t.Fatal("got an answer")
		}
		if len(clock.waits) != 3 {
			t.Fatalf("got waits %v, want three", clock.waits)
		}
		for i, mean := range []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond} {
			if got := clock.waits[i]; got < mean/2 || got > mean*3/2 {
				t.Errorf("seed %d: wait %d is %s, want %s, give or take half", seed, i, got, mean)
			}
		}
		if seed > 0 {
			continue
		}
		// The first numbers of this seed: chance is what was passed in.
		r := rand.New(rand.NewPCG(seed, 0))
		if want := 50*time.Millisecond + time.Duration(r.Int64N(int64(100*time.Millisecond))); clock.waits[0] != want {
			t.Errorf("got %s, want %s", clock.waits[0], want)
		}
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	for _, tc := range []struct {
		name     string
		after    string
		min, max time.Duration
	}{
		{"seconds", "7", 7 * time.Second, 7 * time.Second},
		{"a date", time.Now().Add(9 * time.Second).UTC().Format(http.TimeFormat), 7 * time.Second, 9 * time.Second},
		{"a date that has passed", "Sun, 01 Mar 2026 12:00:00 GMT", 50 * time.Millisecond, 150 * time.Millisecond},
		{"nothing that can be read", "soon", 50 * time.Millisecond, 150 * time.Millisecond},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var calls atomic.Int64
			clock := &hurry{}
			server := serve(t, fails(1, &calls, waitFor(http.StatusTooManyRequests, tc.after)))
			source := open(t, server.URL, func(c *prometheus.Config) { c.Clock = clock })
			if _, err := source.Ask(t.Context(), running); err != nil || len(clock.waits) != 1 {
				t.Fatalf("got %v after waits of %v, want one", err, clock.waits)
			}
			if clock.waits[0] < tc.min || clock.waits[0] > tc.max {
				t.Errorf("got a wait of %s, want %s to %s", clock.waits[0], tc.min, tc.max)
			}
		})
	}
}

func TestNothingWaitsBeyondItsTime(t *testing.T) {
	for _, after := range []string{"2", "30", "2147483647", "99999999999999999999", "Fri, 31 Dec 9999 23:59:59 GMT"} {
		var calls atomic.Int64
		clock := &hurry{}
		server := serve(t, fails(3, &calls, waitFor(http.StatusServiceUnavailable, after)))
		source := open(t, server.URL, func(c *prometheus.Config) { c.Clock = clock })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err := source.Ask(ctx, running)
		cancel()
		failure, ok := errors.AsType[*prometheus.Error](err)
		if !ok || failure.Status != http.StatusServiceUnavailable || calls.Load() != 1 || len(clock.waits) != 0 {
			t.Errorf("Retry-After %s: got %v after %d calls and waits of %v, want the 503 at once", after, err, calls.Load(), clock.waits)
		}
	}
}

func TestCancellingEndsAWait(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var calls atomic.Int64
	server := serve(t, fails(3, &calls, func(w http.ResponseWriter, r *http.Request) {
		waitFor(http.StatusServiceUnavailable, "20")(w, r)
		time.AfterFunc(20*time.Millisecond, cancel)
	}))
	source := open(t, server.URL, func(c *prometheus.Config) { c.Clock = nil }) // the real one
	start := time.Now()
	if _, err := source.Ask(ctx, running); !errors.Is(err, context.Canceled) || calls.Load() != 1 {
		t.Errorf("got %v after %d calls, want context.Canceled after one", err, calls.Load())
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestConnectionThatWasClosedMeanwhileIsReplacedAtOnce(t *testing.T) {
	var calls atomic.Int64
	clock := &hurry{}
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) == 2 {
			panic(http.ErrAbortHandler) // on a connection that worked before
		}
		answer(http.StatusOK, vector())(w, r)
	})
	source := open(t, server.URL, func(c *prometheus.Config) { c.Clock = clock })
	for range 2 {
		if _, err := source.Ask(t.Context(), running); err != nil {
			t.Error(err)
		}
	}
	if calls.Load() != 3 || len(clock.waits) != 0 {
		t.Errorf("got %d calls and waits of %v, want 3 calls and no wait", calls.Load(), clock.waits)
	}
}
