package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/lab"
)

// TestLearningRunsWhatIsDrawn as long as it says.
func TestLearningRunsWhatIsDrawn(t *testing.T) {
	drawn, err := learningOptions{traces: folder(t), seed: 6, n: 2, hours: 5}.scenarios()
	if err != nil || len(drawn) != 2 {
		t.Fatalf("%d scenarios, %v; want 2", len(drawn), err)
	}
	for _, s := range drawn {
		last := time.Duration(0)
		for r, err := range s.Workload.Open(zooSeed) {
			if err != nil {
				t.Fatal(err)
			}
			last = r.At
		}
		if last < 4*time.Hour {
			t.Errorf("%s ends after %s, want about 5 hours or more", s.Name, last)
		}
	}
}

// TestAsGoodIsWithinBothTolerances, and in the first hour the target is enough.
func TestAsGoodIsWithinBothTolerances(t *testing.T) {
	attained := func(share, cost float64) lab.Measures[float64] {
		return lab.Measures[float64]{Attainment: share, Cost: cost}
	}
	for _, tt := range []struct {
		what  string
		first bool
		of    lab.Measures[float64]
		want  bool
	}{
		{"a point less at 5 % more", false, attained(0.961, 10.4), true},
		{"two points less", false, attained(0.95, 1), false},
		{"6 % dearer", false, attained(1, 10.6), false},
		{"in the first hour the target, at any cost", true, attained(0.95, 20), true},
		{"in the first hour less than the target", true, attained(0.949, 1), false},
	} {
		c := compared{period: "after the first hour", target: 0.95, of: tt.of, with: attained(0.97, 10)}
		if tt.first {
			c.period = periods()[0].title
		}
		if got := c.asGood(); got != tt.want {
			t.Errorf("%s: %v", tt.what, got)
		}
	}
}

func TestLearningSaysWhatIsMissing(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{nil, "no folder of traces: make lab-learning TRACES=folder"},
		{[]string{"-traces", "x", "-hours", "2"}, "-hours 2, want 3 or more"},
		{[]string{"-traces", "x", "-n", "0"}, "-n 0 and -parallel 0, want 1 or more"},
		{[]string{"-traces", folder(t), "-only", "none"}, `no scenario matches -only "none": there are aibrix/one, aibrix/full`},
	} {
		err := runLearning(t.Context(), tt.args, &bytes.Buffer{})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: %v, want %q", tt.args, err, tt.want)
		}
	}
}
