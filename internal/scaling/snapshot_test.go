package scaling

import (
	"testing"
	"time"
)

func TestOnlyWhatBecameReadyLatelyIsYoung(t *testing.T) {
	at := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name  string
		ready time.Time
		want  bool
	}{
		{"no replica is Ready", time.Time{}, false},
		{"within the window", at.Add(-59 * time.Second), true},
		{"before it", at.Add(-time.Minute), false},
		{"the clock of the API server is a little ahead", at.Add(2 * time.Minute), true},
		{"the clock was set back by hours", at.Add(5 * time.Hour), false},
	} {
		s := Snapshot{At: at, Window: time.Minute, Variants: []Variant{{}, {Replicas: ReplicaCounts{NewestReady: tt.ready}}}}
		if got := s.Young(); got != tt.want {
			t.Errorf("%s: young %t, want %t", tt.name, got, tt.want)
		}
	}
}
