package scaling

import (
	"testing"
	"time"
)

func TestGrowthAtTheLoadOfTheReductionIsATurn(t *testing.T) {
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	known := func(rate float64) Load {
		return Load{ArrivalRate: Measured(rate, Fresh), InputTokens: Measured(500, Fresh), OutputTokens: Measured(100, Fresh)}
	}
	tests := []struct {
		name  string
		after time.Duration // from the reduction at 20 requests/s to growth
		load  Load
		want  int
	}{
		{"at the same load", 20 * time.Minute, known(20), 1},
		{"at hardly more", 20 * time.Minute, known(20.5), 1},
		{"at more", 20 * time.Minute, known(26), 0},
		{"a day later", 24 * time.Hour, known(20), 0},
		{"at a load that is not known", 20 * time.Minute, Load{}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Turns{}.Then(-1, known(20), start).Then(1, tt.load, start.Add(tt.after))
			if got.Undone != tt.want {
				t.Errorf("%d turns, want %d", got.Undone, tt.want)
			}
		})
	}
}

func TestEachTurnDoublesTheWaitUpToEightHours(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	load := func(rate float64) Load {
		return Load{ArrivalRate: Measured(rate, Fresh), InputTokens: Measured(500, Fresh), OutputTokens: Measured(100, Fresh)}
	}
	same := load(20)
	var turns Turns
	for i, want := range []time.Duration{time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 8 * time.Hour} {
		turns = turns.Then(-1, same, now).Then(1, same, now)
		if got := turns.Wait(same, now); got != want {
			t.Errorf("after %d turns: %s, want %s", i+1, got, want)
		}
		if got := turns.Wait(same, now.Add(want)); got != 0 {
			t.Errorf("after %d turns, %s later: %s", i+1, want, got)
		}
	}
	if got := turns.Wait(same, now.Add(-time.Hour)); got > 8*time.Hour {
		t.Errorf("with a clock that was set back: %s", got)
	}
	if got := turns.Wait(load(10), now); got != 0 {
		t.Errorf("at half of the load: %s", got)
	}
	for day := range 5 {
		now = now.Add(24 * time.Hour)
		turns = turns.Then(0, same, now)
		if want := max(0, 3-day); turns.Undone != want {
			t.Errorf("after %d days: %d turns, want %d", day+1, turns.Undone, want)
		}
	}
}

// TestATurnAfterALongRestIsTheLast: nothing changed for hours, the load is constant, and
// the fleet was no larger than it has to be.
func TestATurnAfterALongRestIsTheLast(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	same := Load{ArrivalRate: Measured(20, Fresh), InputTokens: Measured(500, Fresh), OutputTokens: Measured(100, Fresh)}
	grown := Turns{}.Then(1, same, now)
	for _, tc := range []struct {
		name string
		rest time.Duration
		want time.Duration
	}{{"five hours", 5 * time.Hour, time.Hour}, {"six hours", 6 * time.Hour, 8 * time.Hour}} {
		at := now.Add(tc.rest)
		turns := grown.Then(-1, same, at).Then(-1, same, at.Add(time.Minute)).Then(1, same, at.Add(2*time.Minute))
		if got := turns.Wait(same, at.Add(2*time.Minute)); got != tc.want {
			t.Errorf("after a rest of %s: waits for %s, want %s", tc.name, got, tc.want)
		}
	}
}
