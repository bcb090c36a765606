package main

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/replay"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

var update = flag.Bool("update", false, "rewrite the plans in testdata")

// forged changes what was decided for the last variant.
func forged(c *record.Cycle) {
	last := &c.Plan.Decisions[len(c.Plan.Decisions)-1]
	*last = scaling.Decision{Variant: last.Variant, Model: last.Model, Current: last.Current}.Then(
		scaling.StageOptimize, 2, scaling.ReasonSteady, "nothing calls for it",
	)
}

func TestReplayFindsEveryCycleTheSame(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cycles.jsonl")
	if err := os.WriteFile(file, []byte(recorded(t, "p-1", nil)+recorded(t, "p-2", nil)), 0o600); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, err := executed(t, newReplayCommand(), "", file, file)
	if err != nil || stderr != "" {
		t.Errorf("got %v, %q", err, stderr)
	}
	want := `CYCLE             TIME                            MODELS  RESULT
p-1               2026-11-20T12:00:00Z                 1  same
p-2               2026-11-20T12:00:00Z                 1  same
p-1               2026-11-20T12:00:00Z                 1  same
p-2               2026-11-20T12:00:00Z                 1  same

4 of 4 cycles were decided to the same bytes.
`
	if diff := cmp.Diff(want, stdout); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

func TestReplayShowsWhatDiffers(t *testing.T) {
	stdout, stderr, err := executed(t, newReplayCommand(), recorded(t, "p-1", nil)+recorded(t, "p-2", forged), "-")
	if !errors.Is(err, errFinding) || stderr != "" {
		t.Errorf("got %v, %q, want a finding", err, stderr)
	}
	want := `CYCLE             TIME                            MODELS  RESULT
p-1               2026-11-20T12:00:00Z                 1  same
p-2               2026-11-20T12:00:00Z                 1  different
  demo/l40s: recorded 2 replicas, decided 3 replicas
      model demo/meta/llama-3.1-8b, 2 replicas when it was decided
    - optimize  2 -> 2  Steady: nothing calls for it
    + optimize  2 -> 3  Saturated: both KV spare (0.060 < 0.100) and queue spare (2.0 < 3.0); the load fills 2.37 replicas; the cheapest replicas that carry it are 1 more of l40s, at a cost of 10 each

1 of 2 cycles were decided to the same bytes.
`
	if diff := cmp.Diff(want, stdout); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

func TestReplayNoticesADifferenceInNoDecision(t *testing.T) {
	tests := map[string]func(c *record.Cycle){
		"order":              func(c *record.Cycle) { d := c.Plan.Decisions; d[0], d[1] = d[1], d[0] },
		"time":               func(c *record.Cycle) { c.Plan.At = c.Plan.At.Add(1) },
		"a decision missing": func(c *record.Cycle) { c.Plan.Decisions = c.Plan.Decisions[1:] },
		"a flag":             func(c *record.Cycle) { c.Plan.Decisions[0].Fallback = true },
		"spare":              func(c *record.Cycle) { c.Plan.Decisions[0].Spare = 1 },
		"withheld":           func(c *record.Cycle) { c.Plan.Decisions[0].Withheld = true },
		"current":            func(c *record.Cycle) { c.Plan.Decisions[0].Current++ },
		"no plan":            func(c *record.Cycle) { c.Plan = nil },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			stdout, _, err := executed(t, newReplayCommand(), recorded(t, "p-1", change), "-")
			if !errors.Is(err, errFinding) || strings.Count(stdout, "\n") < 4 || !strings.Contains(stdout, "0 of 1 cycles") {
				t.Errorf("got %v and:\n%s", err, stdout)
			}
		})
	}
}

func TestReplayAnswersPrograms(t *testing.T) {
	stdout, _, err := executed(t, newReplayCommand(), recorded(t, "p-1", nil)+recorded(t, "p-2", forged), "-", "-o", "json", "--cycle", "p-2")
	if !errors.Is(err, errFinding) {
		t.Errorf("got %v, want a finding", err)
	}
	var got replayRun
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err)
	}
	if got.Total != 1 || got.Same != 0 || len(got.Cycles) != 1 {
		t.Fatalf("got %+v, want one cycle", got)
	}
	c := got.Cycles[0]
	if c.Cycle != "p-2" || c.Models != 1 || c.Result != resultDifferent || len(c.Differences) != 1 ||
		c.Differences[0].Recorded.Target() != 2 || c.Differences[0].Decided.Target() != 3 {
		t.Errorf("got %+v", c)
	}
}

func TestReplayNamesWhatItCannotRead(t *testing.T) {
	whole := recorded(t, "p-1", nil)
	wrong := strings.Replace(recorded(t, "p-2", nil), `"window"`, `"windows"`, 1)
	stdout, stderr, err := executed(t, newReplayCommand(), whole+wrong+whole+whole[:len(whole)/2], "-")
	if !errors.Is(err, errFinding) || !strings.Contains(stdout, "2 of 2 cycles") {
		t.Errorf("got %v and:\n%s", err, stdout)
	}
	want := `wva: -: line 2: snapshots[0]: there is no field "windows"; the nearest is "window"
wva: -: line 4: the line is torn: it ends within its record
`
	if diff := cmp.Diff(want, stderr); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if _, stderr, err := executed(t, newReplayCommand(), whole+whole[:9], "-"); err != nil || !strings.Contains(stderr, "line 2: the line is torn") {
		t.Errorf("a torn last line: %v, %q; want that it is named and no finding", err, stderr)
	}
}

func TestReplaySaysThatAnotherVersionDecided(t *testing.T) {
	old := func(c *record.Cycle) { c.Build = "v0.0.1" }
	_, stderr, err := executed(t, newReplayCommand(), recorded(t, "p-1", nil)+recorded(t, "p-2", old)+recorded(t, "p-3", old), "-")
	if want := "wva: recorded by version v0.0.1, from cycle p-2 on; this is " + record.Build() + "\n"; err != nil || stderr != want {
		t.Errorf("got %v and %q, want %q", err, stderr, want)
	}
}

func TestReplayOfNothingIsNoSuccess(t *testing.T) {
	tests := map[string]struct {
		stdin string
		args  []string
		usage bool
		want  string
	}{
		"no file":          {args: nil, usage: true, want: "takes the name of a file"},
		"another output":   {args: []string{"-", "-o", "csv"}, usage: true, want: "want table or json"},
		"a missing file":   {args: []string{"none.jsonl"}, want: "open none.jsonl"},
		"an empty file":    {args: []string{"-"}, want: "there is no cycle in what was read"},
		"no such cycle":    {stdin: recorded(t, "p-1", nil), args: []string{"-", "--cycle", "p-9"}, want: `there is no cycle "p-9"`},
		"only a torn line": {stdin: "{", args: []string{"-"}, want: "there is no cycle in what was read"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, _, err := executed(t, newReplayCommand(), tt.stdin, tt.args...)
			if err == nil || !strings.Contains(err.Error(), tt.want) || errors.Is(err, errUsage) != tt.usage {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

// TestCyclesOfAnOlderManagerAreDecidedAgain replays cycles that a manager
// recorded in the local cluster: a file of then is readable now, and what was
// decided then is decided now. Where a rule has changed on purpose, -update
// writes what it decides, to be reviewed as a difference.
func TestCyclesOfAnOlderManagerAreDecidedAgain(t *testing.T) {
	const file = "testdata/cycles.jsonl"
	if *update {
		rewriteCycles(t, file)
	}
	stdout, stderr, err := executed(t, newReplayCommand(), "", file)
	if err != nil || !strings.Contains(stdout, "2 of 2 cycles were decided to the same bytes.") {
		t.Errorf("got %v and:\n%s", err, stdout)
	}
	if !strings.Contains(stderr, "recorded by version v0.1.0") {
		t.Errorf("got %q, want that another version recorded", stderr)
	}
}

// rewriteCycles replaces the plans in a file by what is decided now.
func rewriteCycles(t *testing.T, file string) {
	t.Helper()
	text, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	var out []byte
	for c, err := range record.Read(text) {
		if err != nil {
			t.Fatal(err)
		}
		plan := replay.Decide(c).Plan
		c.Plan = &plan
		out = append(c.Append(out), '\n')
	}
	if err := os.WriteFile(file, out, 0o644); err != nil {
		t.Fatal(err)
	}
}
