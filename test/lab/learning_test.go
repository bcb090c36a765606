package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/lab"
)

// TestLearningComparesWhatIsStated in the matrix and in what is drawn, each policy with
// the one that it is held to.
func TestLearningComparesWhatIsStated(t *testing.T) {
	dir := folder(t)
	page := filepath.Join(dir, "learning.md")
	var out bytes.Buffer
	if err := runLearning(t.Context(), []string{"-traces", dir, "-only", "aibrix/one", "-hours", "3", "-o", page}, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"## hybrid:profiles=none beside tokens, the first hour: as good in ", "## hybrid:profiles=none beside hybrid, after the first hour: ",
		"## hybrid:profiles=0.5 beside hybrid, after two hours: ", "## hybrid:profiles=2 beside hybrid, after two hours: ", " of 1\n", "| aibrix/one | ",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
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
		c := compared{part: "after the first hour", target: 0.95, of: tt.of, with: attained(0.97, 10)}
		if tt.first {
			c.part = parts()[0].title
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
