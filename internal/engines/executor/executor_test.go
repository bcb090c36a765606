package executor

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
)

// start is one pass: when it began after the start of its executor, the planned interval to the
// next one, and the reasons for it.
type start struct {
	At, Interval time.Duration
	Reasons      []string
}

// run runs an executor for a length of virtual time, concurrently with act, and returns the passes.
func run(t *testing.T, mode Mode, interval, length time.Duration, act func(e *Executor)) []start {
	t.Helper()
	var starts []start
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), length)
		defer cancel()
		e := New(clock.RealClock{}, mode, func() time.Duration { return interval })
		began := time.Now()
		go act(e)
		if err := e.Run(ctx, func(_ context.Context, interval time.Duration, reasons []string) {
			starts = append(starts, start{time.Since(began), interval, reasons})
		}); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return starts
}

func TestEachModeRunsWhenItsNameSays(t *testing.T) {
	const interval, length = 10 * time.Second, 25 * time.Second
	act := func(e *Executor) {
		time.Sleep(4 * time.Second)
		e.Trigger("changed")
	}
	none := []string{}
	changed := []string{"changed"}
	tests := map[Mode][]start{
		Hybrid:   {{0, interval, none}, {4 * time.Second, interval, changed}, {10 * time.Second, interval, none}, {20 * time.Second, interval, none}},
		Polling:  {{0, interval, none}, {10 * time.Second, interval, none}, {20 * time.Second, interval, none}},
		Reactive: {{0, 0, none}, {4 * time.Second, 0, changed}},
	}
	for _, mode := range Modes() {
		t.Run(mode.String(), func(t *testing.T) {
			if diff := cmp.Diff(tests[mode], run(t, mode, interval, length, act)); diff != "" {
				t.Errorf("passes (-want +got):\n%s", diff)
			}
		})
	}
}

// TestChangesThatComeTogetherAreOnePass sends many changes at once. Within the second after a start
// they cause one pass. Later, the first of them starts a pass at once, so there may be one more.
func TestChangesThatComeTogetherAreOnePass(t *testing.T) {
	tests := []struct {
		name  string
		after time.Duration
		most  int
	}{
		{"within a second of the last start", 300 * time.Millisecond, 2},
		{"later", 10 * time.Second, 3},
	}
	for _, mode := range []Mode{Hybrid, Reactive} {
		for _, tt := range tests {
			t.Run(mode.String()+" "+tt.name, func(t *testing.T) {
				got := run(t, mode, time.Minute, 30*time.Second, func(e *Executor) {
					time.Sleep(tt.after)
					for range 500 {
						e.Trigger("b changed")
					}
					e.Trigger("a changed")
				})
				if len(got) < 2 || len(got) > tt.most {
					t.Fatalf("%d passes, want from 2 to %d: %v", len(got), tt.most, got)
				}
				reasons := map[string]bool{}
				for _, s := range got {
					for _, reason := range s.Reasons {
						reasons[reason] = true
					}
				}
				if !reasons["a changed"] || !reasons["b changed"] {
					t.Errorf("reasons %v, want both", reasons)
				}
			})
		}
	}
}

func TestAChangeWaitsUntilASecondAfterTheLastStart(t *testing.T) {
	for _, mode := range []Mode{Hybrid, Reactive} {
		t.Run(mode.String(), func(t *testing.T) {
			got := run(t, mode, time.Minute, 30*time.Second, func(e *Executor) {
				time.Sleep(300 * time.Millisecond)
				e.Trigger("changed")
				time.Sleep(300 * time.Millisecond)
				e.Trigger("changed again")
			})
			if len(got) != 2 {
				t.Fatalf("%d passes, want the first and one more: %v", len(got), got)
			}
			if diff := cmp.Diff([]string{"changed", "changed again"}, got[1].Reasons); diff != "" || got[1].At != time.Second {
				t.Errorf("at %s, reasons (-want +got):\n%s", got[1].At, diff)
			}
		})
	}
}

func TestWhatAClientWaitsForWaitsForATenthOfASecondAtMost(t *testing.T) {
	const ms = time.Millisecond
	tests := []struct {
		name            string
		changed, hurry  time.Duration // after the first pass; 0: never
		interval        time.Duration
		hybrid, polling []time.Duration // when passes begin
	}{
		{"at once after the last pass", 0, 30 * ms, time.Minute, []time.Duration{0, 100 * ms}, []time.Duration{0}},
		{"a while after it", 0, 300 * ms, time.Minute, []time.Duration{0, 300 * ms}, []time.Duration{0}},
		{"while a change waits", 200 * ms, 500 * ms, time.Minute, []time.Duration{0, 500 * ms}, []time.Duration{0}},
		{"long after it", 0, 5 * time.Second, time.Minute, []time.Duration{0, 5 * time.Second}, []time.Duration{0}},
		{"between passes that are closer", 0, 10 * ms, 50 * ms, []time.Duration{0, 50 * ms}, []time.Duration{0, 50 * ms}},
	}
	for _, tt := range tests {
		for mode, want := range map[Mode][]time.Duration{Hybrid: tt.hybrid, Polling: tt.polling} {
			t.Run(tt.name+", "+mode.String(), func(t *testing.T) {
				got := run(t, mode, tt.interval, min(tt.interval+20*ms, 10*time.Second), func(e *Executor) {
					if tt.changed > 0 {
						time.Sleep(tt.changed)
						e.Trigger("changed")
					}
					time.Sleep(tt.hurry - tt.changed)
					e.Hurry("a request waits")
				})
				var at []time.Duration
				for _, s := range got {
					at = append(at, s.At)
				}
				if diff := cmp.Diff(want, at); diff != "" {
					t.Fatalf("passes (-want +got):\n%s", diff)
				}
				if mode == Hybrid && tt.changed > 0 {
					if diff := cmp.Diff([]string{"a request waits", "changed"}, got[1].Reasons); diff != "" {
						t.Errorf("reasons (-want +got):\n%s", diff)
					}
				}
			})
		}
	}
}

func TestAWokenPassTakesUpAnotherModeAndInterval(t *testing.T) {
	const second = time.Second
	woken := []string{"configured"}
	tests := map[Mode][]start{
		// The interval changes from an hour to ten seconds, and the mode from polling to
		// hybrid.
		Polling:  {{0, time.Hour, []string{}}, {4 * second, 10 * second, woken}, {9 * second, 10 * second, []string{"changed"}}, {14 * second, 10 * second, []string{}}, {24 * second, 10 * second, []string{}}},
		Hybrid:   {{0, time.Hour, []string{}}, {4 * second, 10 * second, woken}, {9 * second, 10 * second, []string{"changed"}}, {14 * second, 10 * second, []string{}}, {24 * second, 10 * second, []string{}}},
		Reactive: {{0, 0, []string{}}, {4 * second, 10 * second, woken}, {9 * second, 10 * second, []string{"changed"}}, {14 * second, 10 * second, []string{}}, {24 * second, 10 * second, []string{}}},
	}
	for _, mode := range Modes() {
		t.Run(mode.String(), func(t *testing.T) {
			var got []start
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 25*second)
				defer cancel()
				var interval atomic.Int64
				interval.Store(int64(time.Hour))
				e := New(clock.RealClock{}, mode, func() time.Duration { return time.Duration(interval.Load()) })
				began := time.Now()
				go func() {
					time.Sleep(4 * second)
					interval.Store(int64(10 * second))
					e.SetMode(Hybrid)
					e.Wake("configured")
					time.Sleep(5 * second)
					e.Trigger("changed")
				}()
				if err := e.Run(ctx, func(_ context.Context, interval time.Duration, reasons []string) {
					got = append(got, start{time.Since(began), interval, reasons})
				}); err != nil {
					t.Errorf("Run: %v", err)
				}
			})
			if diff := cmp.Diff(tests[mode], got); diff != "" {
				t.Errorf("passes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAPassThatOutlastsItsIntervalIsFollowedAtOnceAndNotOverlapped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 35*time.Second)
		defer cancel()
		e := New(clock.RealClock{}, Polling, func() time.Duration { return 10 * time.Second })
		began := time.Now()
		var got []time.Duration
		if err := e.Run(ctx, func(context.Context, time.Duration, []string) {
			got = append(got, time.Since(began))
			time.Sleep(15 * time.Second)
		}); err != nil {
			t.Errorf("Run: %v", err)
		}
		if diff := cmp.Diff([]time.Duration{0, 15 * time.Second, 30 * time.Second}, got); diff != "" {
			t.Errorf("passes (-want +got):\n%s", diff)
		}
	})
}

func TestEveryModeIsFoundByItsNameAndNothingElseIs(t *testing.T) {
	for _, mode := range Modes() {
		if got, err := ParseMode(mode.String()); err != nil || got != mode {
			t.Errorf("%s: got %s, %v", mode, got, err)
		}
	}
	for _, name := range []string{"", "Hybrid", "eager"} {
		if _, err := ParseMode(name); err == nil || !strings.Contains(err.Error(), "hybrid, polling, reactive") {
			t.Errorf("%q: error %v does not list the modes", name, err)
		}
	}
}
