package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/engines/replay"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/record"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// caseFile is a case that a person could have written.
func caseFile() string {
	return filepath.Join("..", "..", "internal", "record", "testdata", "case.json")
}

// executed runs a command without a process.
func executed(t *testing.T, command *cobra.Command, stdin string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errOut bytes.Buffer
	command.SilenceUsage, command.SilenceErrors = true, true
	command.SetArgs(args)
	command.SetIn(strings.NewReader(stdin))
	command.SetOut(&out)
	command.SetErr(&errOut)
	err = command.ExecuteContext(t.Context())
	return out.String(), errOut.String(), err
}

// recorded is the case with its plan, as a manager would have written it; change
// makes it another one. Nil changes nothing.
func recorded(t *testing.T, name string, change func(c *record.Cycle)) string {
	t.Helper()
	text, err := os.ReadFile(caseFile())
	if err != nil {
		t.Fatal(err)
	}
	c, err := record.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	plan := replay.Decide(c).Plan
	c.Cycle, c.Build, c.Plan = scaling.CycleID(name), record.Build(), &plan
	if change != nil {
		change(&c)
	}
	return string(c.Append(nil)) + "\n"
}

func TestDecideAnswersThePlanWithEveryStep(t *testing.T) {
	text, err := os.ReadFile(caseFile())
	if err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{"a file": {"-f", caseFile()}, "standard input": {"-f", "-"}} {
		stdout, stderr, err := executed(t, newDecideCommand(), string(text), append(args, "-o", "json")...)
		if err != nil || stderr != "" {
			t.Fatalf("%s: %v, %q", name, err, stderr)
		}
		var plan scaling.Plan
		if err := json.Unmarshal([]byte(stdout), &plan); err != nil {
			t.Fatal(err)
		}
		want := []scaling.Step{{
			Stage: scaling.StageOptimize, From: 2, To: 3, Reason: scaling.ReasonSaturated,
			// The mean of 0.80 - 0.74, as the replica at 0.86 is saturated, and 5 - 3.
			// 0.86/0.70 and 0.8/0.7, as much as a queue counts for, are 2.37 replicas.
			Detail: "both KV spare (0.060 < 0.100) and queue spare (2.0 < 3.0); the load fills 2.37 replicas; the cheapest replicas that carry it are 1 more of l40s, at a cost of 10 each",
		}}
		if len(plan.Decisions) != 2 || plan.Decisions[1].Variant.Name != "l40s" {
			t.Fatalf("%s: decided %+v, want h100 and l40s", name, plan.Decisions)
		}
		if diff := cmp.Diff(want, plan.Decisions[1].Steps); diff != "" {
			t.Errorf("%s: steps (-want +got):\n%s", name, diff)
		}
	}
}

func TestDecideTellsPeopleWhatExplainWould(t *testing.T) {
	stdout, _, err := executed(t, newDecideCommand(), "", "-f", caseFile())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"NAMESPACE  VARIANT  CURRENT  DECIDED  STAGE     REASON\n",
		"demo       l40s           2        3  optimize  Saturated\n",
		"\ndemo/l40s: meta/llama-3.1-8b on L40S, 1 GPU a replica, cost 10\n",
		"the cheapest replicas that carry it are 1 more of l40s, at a cost of 10 each",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in:\n%s", want, stdout)
		}
	}
}

func TestDecideTakesARecordAndSaysWhereItDiffers(t *testing.T) {
	_, stderr, err := executed(t, newDecideCommand(), recorded(t, "p-1", nil), "-f", "-")
	if err != nil || stderr != "" {
		t.Errorf("the recorded plan: %v, %q, want no word", err, stderr)
	}
	_, stderr, err = executed(t, newDecideCommand(), recorded(t, "p-1", func(c *record.Cycle) { c.Plan.Decisions = nil }), "-f", "-")
	if err != nil || !strings.Contains(stderr, "the file holds another plan") {
		t.Errorf("another plan: %v, %q, want a word of it", err, stderr)
	}
}

func TestDecideRefusesWhatItCannotDecide(t *testing.T) {
	text, err := os.ReadFile(caseFile())
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		stdin string
		args  []string
		usage bool
		want  string
	}{
		"no file":        {args: nil, usage: true, want: "--file is required"},
		"an argument":    {args: []string{"case.json"}, usage: true, want: "the file is named by -f"},
		"another output": {args: []string{"-f", "-", "-o", "yaml"}, usage: true, want: "want table or json"},
		"a missing file": {args: []string{"-f", "none.json"}, want: "open none.json"},
		"a wrong field": {
			stdin: strings.Replace(string(text), `"cost"`, `"costs"`, 1), args: []string{"-f", "-"},
			want: `reading the cycle in -: snapshots[0].variants[0]: there is no field "costs"; the nearest is "cost"`,
		},
		"two cycles": {stdin: string(text) + string(text), args: []string{"-f", "-"}, want: "want one record, found an object after it"},
		"nothing":    {args: []string{"-f", "-"}, want: "the text ends within the record"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			stdout, _, err := executed(t, newDecideCommand(), tt.stdin, tt.args...)
			if err == nil || !strings.Contains(err.Error(), tt.want) || errors.Is(err, errUsage) != tt.usage || stdout != "" {
				t.Errorf("got %v and %q, want %s", err, stdout, tt.want)
			}
		})
	}
}

// FuzzDecide checks that whatever is read as a cycle is decided, twice to the
// same bytes.
func FuzzDecide(f *testing.F) {
	text, err := os.ReadFile(caseFile())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"now":"2026-11-20T12:00:00Z"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := record.Decode(text)
		if err != nil {
			return
		}
		if first, second := replay.Decide(c).Plan, replay.Decide(c).Plan; !record.SamePlan(first, second) {
			t.Errorf("decided as\n%s\nand again as\n%s", record.AppendPlan(nil, first), record.AppendPlan(nil, second))
		}
	})
}
