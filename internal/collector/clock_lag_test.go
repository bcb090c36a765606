package collector

import (
	"testing"
	"time"
)

func TestClocksThatDifferByAMinuteAreNamed(t *testing.T) {
	manager := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct{ source, want time.Duration }{
		"they agree":                        {0, 0},
		"within what a fetch and NTP leave": {59 * time.Second, 0},
		"the source is behind":              {-10*time.Minute - 3*time.Second, 10 * time.Minute},
		"the source is ahead":               {10*time.Minute + 3*time.Second, -10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (&survey{at: manager.Add(tt.source), asked: manager}).lag(); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
	if got := (&survey{asked: manager}).lag(); got != 0 {
		t.Errorf("without an answer: %s", got)
	}
}
