package memory

import (
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// TestPeaksKnowTheLargestDemandOfAnHour: a demand of a hundred in minute 3, of one in every other.
func TestPeaksKnowTheLargestDemandOfAnHour(t *testing.T) {
	start := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	var p Peaks
	for minute := range 120 {
		demand := 1.0
		if minute == 3 {
			demand = 100
		}
		p = p.Then(demand, scaling.UnitRequestRate, start.Add(time.Duration(minute)*time.Minute))
		most, known := p.Most()
		if want := minute >= 10; known != want {
			t.Fatalf("minute %d: known is %t, want %t: ten minutes must have been seen", minute, known, want)
		}
		switch {
		case minute >= 3 && minute <= 63 && most != 100:
			t.Fatalf("minute %d: the largest demand is %g, want 100", minute, most)
		case minute > 73 && most != 1:
			t.Fatalf("minute %d: the largest demand is %g, want 1: the hour of the hundred has passed", minute, most)
		}
		if len(p.Of) > 7 {
			t.Fatalf("minute %d: %d peaks are remembered, want 7 at most", minute, len(p.Of))
		}
	}
	at := start.Add(2 * time.Hour)
	if again := p.Then(1e6, scaling.UnitRequestRate, p.At); !again.At.Equal(p.At) || again.Of[len(again.Of)-1].Demand != 1 {
		t.Errorf("a look that is not later than the last changes the peaks: %v", again)
	}
	if most, known := p.Then(5, scaling.UnitTokens, at).Most(); known || most != 5 {
		t.Errorf("in another unit the largest demand is %g, known %t, want 5, not known", most, known)
	}
	if kept := p.at(start); kept.At.After(start) || kept.Of[0].Since.After(start) {
		t.Errorf("the clock was set back, and the peaks are of the future: %v", kept)
	}
}
