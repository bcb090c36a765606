package externalscaler

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/actuator/external"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

func TestWhatAStreamSays(t *testing.T) {
	decided := func(desired, current scaling.Replicas) external.Value {
		return external.Value{Desired: desired, Current: current, Observed: true}
	}
	type step struct {
		at      int // seconds
		v       external.Value
		send    bool
		againIn int // seconds, 0 for never
	}
	for name, steps := range map[string][]step{
		"the state at the start, whatever it is": {{0, decided(0, 0), true, 0}},
		"nothing while replicas run and stay wanted": {
			{0, decided(2, 2), true, 0}, {1, decided(3, 2), false, 0}, {60, decided(1, 3), false, 0},
		},
		"each change between none and some": {
			{0, decided(0, 0), true, 0}, {1, decided(1, 0), true, 1}, {2, decided(0, 1), true, 0}, {2, decided(4, 1), true, 0},
		},
		"the wish for the first replica again and again, until one runs": {
			{0, decided(1, 0), true, 1},
			{1, decided(1, 0), true, 2},
			{2, decided(1, 0), false, 1},
			{3, decided(1, 0), true, 4},
			{7, decided(1, 0), true, 8},
			{15, decided(1, 0), true, 16},
			{31, decided(1, 0), true, 16},
			{40, decided(1, 1), false, 0},
		},
		"the wish for the first replica, where it is not known what runs": {
			{0, external.Value{Desired: 1}, true, 1}, {1, external.Value{Desired: 1}, true, 2},
		},
		"that the replicas are gone that are wanted": {
			{0, decided(2, 2), true, 0}, {100, decided(2, 0), true, 2}, {101, decided(2, 0), false, 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var p push
			start := time.Unix(1_000_000, 0)
			for _, s := range steps {
				send, again := p.look(s.v, start.Add(time.Duration(s.at)*time.Second))
				if want := time.Duration(s.againIn) * time.Second; send != s.send || again != want {
					t.Errorf("after %d s, %d wanted and %d running: sent %t, looks again in %s; want %t and %s",
						s.at, s.v.Desired, s.v.Current, send, again, s.send, want)
				}
			}
		})
	}
}

func TestACallerHoldsABoundedNumberOfStreams(t *testing.T) {
	s := newStreams()
	for range maxStreamsOfCaller {
		if err := s.open("a"); err != nil {
			t.Fatal(err)
		}
	}
	if got := status.Code(s.open("a")); got != codes.ResourceExhausted {
		t.Errorf("one stream too many of a caller is answered %s", got)
	}
	if err := s.open("b"); err != nil {
		t.Errorf("another caller is refused: %v", err)
	}
	s.closed("a")
	if err := s.open("a"); err != nil {
		t.Errorf("a caller that closed a stream is refused: %v", err)
	}
	var callers []string
	for s.all < maxStreams {
		callers = append(callers, fmt.Sprint(len(callers)))
		if err := s.open(callers[len(callers)-1]); err != nil {
			t.Fatal(err)
		}
	}
	if got := status.Code(s.open("c")); got != codes.ResourceExhausted {
		t.Errorf("one stream too many in all is answered %s", got)
	}
	for _, c := range slices.Concat(slices.Repeat([]string{"a"}, maxStreamsOfCaller), []string{"b"}, callers) {
		s.closed(c)
	}
	if s.all != 0 || len(s.of) != 0 {
		t.Errorf("%d streams of %d callers are counted, and all are closed", s.all, len(s.of))
	}
}
