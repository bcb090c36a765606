package executor

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
)

// run starts an executor in a bubble of virtual time and returns the seconds
// since its start at which cycles began, with what asked for each.
type start struct {
	At      time.Duration
	Reasons []string
}

func run(t *testing.T, interval, length time.Duration, act func(h *Hybrid)) []start {
	t.Helper()
	var starts []start
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), length)
		defer cancel()
		h := New(clock.RealClock{}, func() time.Duration { return interval })
		began := time.Now()
		go act(h)
		if err := h.Run(ctx, func(_ context.Context, _ time.Duration, reasons []string) {
			starts = append(starts, start{time.Since(began), reasons})
		}); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return starts
}

func TestCyclesRunAtTheInterval(t *testing.T) {
	got := run(t, 10*time.Second, 35*time.Second, func(*Hybrid) {})
	want := []start{{0, []string{}}, {10 * time.Second, []string{}}, {20 * time.Second, []string{}}, {30 * time.Second, []string{}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("cycles (-want +got):\n%s", diff)
	}
}

func TestChangesThatComeTogetherAreOneCycle(t *testing.T) {
	got := run(t, time.Minute, 30*time.Second, func(h *Hybrid) {
		time.Sleep(10 * time.Second)
		for range 500 {
			h.Trigger("b changed")
		}
		h.Trigger("a changed")
	})
	want := []start{{0, []string{}}, {10 * time.Second, []string{"a changed", "b changed"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("cycles (-want +got):\n%s", diff)
	}
}

func TestAChangeWaitsUntilASecondAfterTheLastStart(t *testing.T) {
	got := run(t, time.Minute, 30*time.Second, func(h *Hybrid) {
		time.Sleep(300 * time.Millisecond)
		h.Trigger("changed")
		time.Sleep(300 * time.Millisecond)
		h.Trigger("changed again")
	})
	want := []start{{0, []string{}}, {time.Second, []string{"changed", "changed again"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("cycles (-want +got):\n%s", diff)
	}
}

func TestAChangeMovesTheNextRegularCycle(t *testing.T) {
	got := run(t, 10*time.Second, 19*time.Second, func(h *Hybrid) {
		time.Sleep(8 * time.Second)
		h.Trigger("changed")
	})
	want := []start{{0, []string{}}, {8 * time.Second, []string{"changed"}}, {18 * time.Second, []string{}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("cycles (-want +got):\n%s", diff)
	}
}
