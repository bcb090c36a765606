package memory

import (
	"math"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// looked returns a look at requests of given lengths, with a TTFT of 100 ms and an ITL of 10 ms.
func looked(at time.Time, rate, input, output float64) scaling.Snapshot {
	return scaling.Snapshot{At: at, Window: time.Minute, Load: scaling.Load{
		ArrivalRate: scaling.Measured(rate, scaling.Fresh), InputTokens: scaling.Measured(input, scaling.Fresh), OutputTokens: scaling.Measured(output, scaling.Fresh),
		TTFT: scaling.Measured(100, scaling.Fresh), ITL: scaling.Measured(10, scaling.Fresh),
	}}
}

func TestMeansAreOfTheRequestsOfAWindow(t *testing.T) {
	m := Means{}.Then(looked(noon, 10, 256, 101), 2, scaling.Profile{})
	// A replica gets 5 requests/s, which take 100 + 100 x 10 ms each.
	want := Means{At: noon, Requests: 600, Input: 600 * 256, Output: 600 * 101, Timed: 600, TTFT: 600 * 100, ITL: 600 * 10, Together: 600 * 5.5}
	if m != want {
		t.Errorf("the first look: %+v, want %+v", m, want)
	}
	if input, output, known := m.Lengths(); !known || input != 256 || output != 101 {
		t.Errorf("lengths %g and %g, %v, want 256 and 101", input, output, known)
	}
	if _, _, known := (Means{}).Lengths(); known {
		t.Error("lengths are known of no request")
	}
	if _, _, known := (Means{}).Then(looked(noon, 0, 256, 101), 2, scaling.Profile{}).Lengths(); known {
		t.Error("lengths are known where none arrived")
	}
}

func TestMeansForgetInTenMinutesAndCountRequests(t *testing.T) {
	first := Means{}.Then(looked(noon, 10, 100, 50), 2, scaling.Profile{})
	m := first
	for minute := range 10 {
		m = m.Then(looked(noon.Add(time.Duration(minute+1)*time.Minute), 10, 200, 50), 2, scaling.Profile{})
	}
	later := (1 - 1/math.E) / (1 - math.Exp(-0.1)) // by how much later requests exceed those of the first look
	if input, _, _ := m.Lengths(); !near(input, (100/math.E+200*later)/(1/math.E+later)) {
		t.Errorf("ten minutes after 100 tokens became 200: %g", input)
	}
	m = first.Then(looked(noon.Add(time.Minute), 90, 200, 50), 2, scaling.Profile{})
	left := math.Exp(-0.1)
	if input, _, _ := m.Lengths(); !near(input, (100*left+200*9)/(left+9)) {
		t.Errorf("after nine times as many requests of 200 tokens: %g", input)
	}
}

func TestALookThatDoesNotTellChangesNoMeans(t *testing.T) {
	before := Means{}.Then(looked(noon, 10, 256, 101), 2, scaling.Profile{})
	for name, change := range map[string]func(*scaling.Snapshot){
		"the same look again": func(s *scaling.Snapshot) { s.At = noon },
		"an earlier look":     func(s *scaling.Snapshot) { s.At = noon.Add(-time.Minute) },
		"no rate":             func(s *scaling.Snapshot) { s.Load.ArrivalRate = scaling.Reading{} },
		"no input tokens":     func(s *scaling.Snapshot) { s.Load.InputTokens.State = scaling.Stale },
		"no output tokens":    func(s *scaling.Snapshot) { s.Load.OutputTokens = scaling.Reading{} },
	} {
		s := looked(noon.Add(time.Minute), 10, 999, 999)
		change(&s)
		if got := before.Then(s, 2, scaling.Profile{}); got != before {
			t.Errorf("%s: %+v, want %+v", name, got, before)
		}
	}
}

// TestLatenciesThatTellNothingOfTheReplicasLeaveTheMeanLatency: the requests and their lengths
// still count.
func TestLatenciesThatTellNothingOfTheReplicasLeaveTheMeanLatency(t *testing.T) {
	before := Means{}.Then(looked(noon, 10, 256, 101), 2, scaling.Profile{})
	for _, tt := range []struct {
		name     string
		replicas float64
		change   func(*scaling.Load)
	}{
		{"requests wait, or a replica is new", 0, func(*scaling.Load) {}},
		{"an aging TTFT", 2, func(l *scaling.Load) { l.TTFT.State = scaling.Aging }},
		{"an aging ITL", 2, func(l *scaling.Load) { l.ITL.State = scaling.Aging }},
		{"no ITL, since each answer is one token", 2, func(l *scaling.Load) { l.OutputTokens.Value = 1 }},
	} {
		s := looked(noon.Add(time.Minute), 10, 256, 101)
		s.Load.TTFT.Value, s.Load.ITL.Value = 9000, 900
		tt.change(&s.Load)
		got := before.Then(s, tt.replicas, scaling.Profile{})
		left := math.Exp(-0.1)
		if !near(got.Timed, 600*left) || !near(got.TTFT/got.Timed, 100) || !near(got.ITL/got.Timed, 10) || !near(got.Together/got.Timed, 5.5) {
			t.Errorf("%s: %+v, want a TTFT of 100 ms, an ITL of 10 ms and 5.5 requests together of %g requests", tt.name, got, 600*left)
		}
		if !near(got.Requests, 600*left+600) {
			t.Errorf("%s: %g requests, want %g", tt.name, got.Requests, 600*left+600)
		}
	}
}
