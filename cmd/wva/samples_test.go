package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/counterfactual"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/replay"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/goldentest"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// sample is a block of a page that shows what the manager says.
type sample struct {
	page string
	// begins is how the block begins, in this page alone. A command stays, and what it
	// prints follows.
	begins string
	// cycle is the file of a recorded cycle, which is decided again, below testdata, and
	// variant the name of the one that is asked about.
	cycle, variant string
	// around is what the record does not hold: who scales, and the store.
	around func(e *explain.Explanation)
	says   func(e explained, now time.Time) string
}

// samples are what "make samples" writes. The cycles are of make run: growing as it was,
// the others with another bound, without the H100, or under another name.
func samples() []sample {
	return []sample{
		{
			page: "README.md", begins: "$ wva explain llama-8b-l40s", cycle: "samples/growing.json", variant: "llama-8b-l40s",
			around: scaledBy("llama-8b-l40s", 3, 2), says: explained.report,
		},
		{
			page: "docs/user-guide/troubleshooting.md", begins: "$ wva explain llama-8b-l40s", cycle: "samples/blocked.json", variant: "llama-8b-l40s",
			around: scaledBy("llama-8b-l40s", 2, 2), says: explained.report,
		},
		{
			page: "docs/user-guide/quick-start.md", begins: "from 1 to 2 replicas", cycle: "samples/quick-start-ordered.json", variant: "llama-8b",
			says: func(e explained, _ time.Time) string { return explain.Scaled(e.Explanation, 1, 2) + "\n" },
		},
		{
			page: "docs/user-guide/quick-start.md", begins: "quick-start/llama-8b: ", cycle: "samples/quick-start-starting.json", variant: "llama-8b",
			around: scaledBy("llama-8b", 4, 2), says: explained.report,
		},
		{
			page: "docs/user-guide/quick-start.md", begins: "MetricsMissing: ", cycle: "samples/quick-start-misnamed.json", variant: "llama-8b",
			says: func(e explained, _ time.Time) string {
				return fold(string(v1alpha1.ReasonMetricsMissing) + ": " + explain.MetricsMissing(e.Explanation) + "\n")
			},
		},
		{
			page: "docs/user-guide/objectives.md", begins: "$ wva explain llama-l40s", cycle: "learned.jsonl", variant: "llama-l40s",
			says: lines("analysis", "sizing"),
		},
		{
			page: "docs/user-guide/scaling-and-sizing.md", begins: "  Why not fewer", cycle: "samples/objective.json", variant: "chat-l40s",
			says: func(e explained, now time.Time) string { return counterfactual.Report(*e.Counterfactuals, now) },
		},
		{
			page: "docs/user-guide/store.md", begins: "  start-up", cycle: "samples/growing.json", variant: "llama-8b-l40s",
			around: func(e *explain.Explanation) {
				e.StartUps = explain.StartUps{
					Usual: explain.Duration(97 * time.Second), Slow: explain.Duration(130 * time.Second), Pods: 14, Restored: 11,
					Last: e.At.Add(-3 * time.Hour),
				}
			},
			says: lines("start-up"),
		},
	}
}

// scaledBy is an HPA that follows, with its maximum and what it last asked for.
func scaledBy(name string, most, asks int) func(*explain.Explanation) {
	return func(e *explain.Explanation) {
		e.Actuation = explain.ActuationBy(scaling.Scalers{Known: true, List: []scaling.Scaler{
			{Kind: scaling.KindHPA, Name: name, Bounds: scaling.Bounds{Min: 1, Max: scaling.Replicas(most)}, Asks: scaling.Replicas(asks)},
		}})
		e.Actuation.Reason, e.Actuation.Message = string(v1alpha1.ReasonFollowing), explain.Following()
	}
}

// lines returns those of a report with one of these titles.
func lines(titles ...string) func(explained, time.Time) string {
	only := regexp.MustCompile("(?m)^  (" + strings.Join(titles, "|") + ") .*\n")
	return func(e explained, now time.Time) string {
		return strings.Join(only.FindAllString(e.report(now), -1), "")
	}
}

// fold breaks lines as "fold -s -w 120" does, without the spaces at their ends.
func fold(text string) string {
	return regexp.MustCompile(`(.{1,119})( |\n)`).ReplaceAllString(text, "$1\n")
}

// text is what a page shows in the place of the sample.
func (s sample) text(t *testing.T) string {
	t.Helper()
	line, err := os.ReadFile(filepath.Join("testdata", s.cycle))
	if err != nil {
		t.Fatal(err)
	}
	c, err := record.Decode(line)
	if err != nil {
		t.Fatal(err)
	}
	verdict := replay.Decide(c)
	for _, snapshot := range c.Snapshots {
		for _, v := range snapshot.Variants {
			if v.Key.Name == s.variant {
				e := explained{Explanation: replay.Explanation(c, verdict, snapshot, v)}
				if s.around != nil {
					s.around(&e.Explanation)
				}
				why, err := replay.Answers(c, v.Key)
				if err != nil {
					t.Fatal(err)
				}
				e.Counterfactuals = &why
				return s.says(e, c.Now.Add(2*time.Second))
			}
		}
	}
	t.Fatalf("%s has no variant %s", s.cycle, s.variant)
	return ""
}

// block is a fenced block, with its fences.
var block = regexp.MustCompile("(?ms)^```[a-z]*\n(.*?)^```$")

// in returns the page with the sample in its place.
func (s sample) in(t *testing.T, page string) string {
	t.Helper()
	found := 0
	page = block.ReplaceAllStringFunc(page, func(fenced string) string {
		fence, rest, _ := strings.Cut(fenced, "\n")
		if !strings.HasPrefix(rest, s.begins) {
			return fenced
		}
		found++
		out := fence + "\n"
		if command, _, ok := strings.Cut(rest, "\n"); ok && strings.HasPrefix(command, "$ ") {
			out += command + "\n"
		}
		return out + s.text(t) + "```"
	})
	if found != 1 {
		t.Fatalf("%s has %d blocks that begin with %q, want one", s.page, found, s.begins)
	}
	return page
}

// TestSamplesOfThePagesAreWhatTheManagerSays decides recorded cycles again, and writes
// what is said of them as the commands, the events and the conditions do.
func TestSamplesOfThePagesAreWhatTheManagerSays(t *testing.T) {
	pages := map[string]string{}
	for _, s := range samples() {
		path := filepath.Join("..", "..", filepath.FromSlash(s.page))
		if _, known := pages[path]; !known {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			pages[path] = string(text)
		}
		pages[path] = s.in(t, pages[path])
	}
	for path, text := range pages {
		goldentest.Generated(t, path, []byte(text), *update)
	}
}
