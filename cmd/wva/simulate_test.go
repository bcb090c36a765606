package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/lab"
)

func simulate(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errOut bytes.Buffer
	root := newRootCommand()
	root.SetArgs(append([]string{"simulate"}, args...))
	root.SetOut(&out)
	root.SetErr(&errOut)
	err = root.ExecuteContext(t.Context())
	return out.String(), errOut.String(), err
}

func simulateFile(t *testing.T, name, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestSimulateRunsTheDefaultPolicyOnABuiltInProfile(t *testing.T) {
	stdout, stderr, err := simulate(t, "--workload", "constant(4,10m)", "--seed", "7")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"constant(4,10m): ", " requests in 10m0s; target 95 %", "seeds 7\n", "POLICY", "\nhybrid "} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
	if want := "1 of 1: hybrid, seed 7: "; !strings.Contains(stderr, want) {
		t.Errorf("no %q in\n%s", want, stderr)
	}
}

func TestSimulateWritesJSONAndCSV(t *testing.T) {
	args := []string{"--workload", "constant(4,10m)", "--seed", "1", "--policy", "saturation", "--policy", "static:replicas=3", "--quiet", "-o"}
	text, stderr, err := simulate(t, append(args, "json")...)
	if err != nil || stderr != "" {
		t.Fatalf("%v, %s", err, stderr)
	}
	var r lab.Results
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	if !r.Complete || len(r.Scenarios) != 1 || len(r.Scenarios[0].Rows) != 2 || r.Scenarios[0].Rows[1].Policy.String() != "static:replicas=3" {
		t.Errorf("results %+v", r)
	}
	again, _, err := simulate(t, append(args, "json")...)
	if err != nil || again != text {
		t.Errorf("the same seed gives other bytes, %v", err)
	}
	text, _, err = simulate(t, append(args, "csv")...)
	if lines, wrong := csv.NewReader(strings.NewReader(text)).ReadAll(); err != nil || wrong != nil || len(lines) != 3 {
		t.Errorf("%d lines, %v, %v", len(lines), err, wrong)
	}
}

func TestSimulateReadsAScenarioAndWritesAReport(t *testing.T) {
	fleet := simulateFile(t, "fleet.yaml", `
nodes: [{accelerator: L40S, count: 4, gpus: 1}]
models:
  - {id: chat, share: 2, variants: [{profile: llama-8b-l40s, name: chat, replicas: 1}]}
  - {id: code, share: 1, variants: [{profile: llama-8b-l40s, name: code, replicas: 1}]}
`)
	report := filepath.Join(t.TempDir(), "report.html")
	stdout, _, err := simulate(
		t, "--workload", "sine(1->6,5m,10m)", "--scenario", fleet, "--seed", "1", "--policy", "saturation", "--policy", "hpa-kv",
		"--quiet", "--report", report,
	)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(stdout, "Knowing every arrival") && !strings.Contains(stdout, "No policy can reach") {
		t.Errorf("no clairvoyant in\n%s", stdout)
	}
	page, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"default/chat", "default/code", "hpa-kv", "sine(1-"} {
		if !bytes.Contains(page, []byte(want)) {
			t.Errorf("no %q in the report", want)
		}
	}
}

func TestSimulateTakesTheWorkloadOfAScenario(t *testing.T) {
	const fleet = "name: own\nmodels: [{id: chat, variants: [{profile: llama-8b-l40s}]}]\n"
	own := simulateFile(t, "own.yaml", fleet+"workload: [{generator: 'constant(4,10m)'}, {generator: 'constant(2,5m)'}]\n")
	stdout, _, err := simulate(t, "--scenario", own, "--seed", "1", "--quiet")
	if err != nil || !strings.Contains(stdout, "own: ") || !strings.Contains(stdout, " requests in 10m0s") {
		t.Errorf("%v, %s", err, stdout)
	}
	stdout, _, err = simulate(t, "--scenario", own, "--workload", "constant(1,20m)", "--seed", "1", "--quiet")
	if err != nil || !strings.Contains(stdout, "constant(1,20m): ") {
		t.Errorf("--workload beside it: %v, %s", err, stdout)
	}
	_, _, err = simulate(t, "--scenario", simulateFile(t, "none.yaml", fleet), "--quiet")
	if !errors.Is(err, errUsage) || !strings.Contains(err.Error(), "--workload is missing") {
		t.Errorf("no workload: %v", err)
	}
}

func TestSimulateBeginsWithWhatTheStockHasRoomFor(t *testing.T) {
	_, _, err := simulate(t, "--workload", "constant(20,10m)", "--stock", "2", "--seed", "1", "--quiet")
	if err != nil {
		t.Errorf("a load for more replicas than there is stock: %v", err)
	}
}

func TestSimulateSaysWhatNoReplicaHasRoomFor(t *testing.T) {
	trace := simulateFile(t, "long.csv", "arrival_s,input_tokens,output_tokens\n0,100,10\n1,100,10\n2,9000,10\n3,100,10\n")
	profile := simulateFile(t, "p.json", `{"name": "p", "accelerator": "X", "alphaMS": 9, "betaMS": 3, "deltaMS": 0.5, "kvCacheTokens": 8000}`)
	stdout, _, err := simulate(t, "--workload", trace, "--profile", profile, "--seed", "1", "--quiet")
	if want := "1 of the requests (25.0 %) are longer than a replica's KV cache"; err != nil || !strings.Contains(stdout, want) {
		t.Errorf("%v, no %q in\n%s", err, want, stdout)
	}
}

func TestSimulateListsPolicies(t *testing.T) {
	stdout, _, err := simulate(t, "--list-policies")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"saturation (this project", "kvSpareTrigger=0.1", "kpa (Knative", "utilization=0.7", "; tuned over "} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
	stdout, _, err = simulate(t, "--list-policies", "-o", "json")
	if !json.Valid([]byte(stdout)) || err != nil {
		t.Errorf("%v, %s", err, stdout)
	}
}

// TestSimulateSaysWhatIsWrong gives bad input of every kind, and expects the
// file, the line, the field and what is accepted.
func TestSimulateSaysWhatIsWrong(t *testing.T) {
	const header = "arrival_s,input_tokens,output_tokens\n"
	good := simulateFile(t, "good.csv", header+"0,100,10\n1,100,10\n")
	// Far enough down for the survey not to see it.
	long := simulateFile(t, "late.csv", header+"0,100,10\n7200,100,10\n7100,100,10\n")
	profile := func(kv string) string {
		return simulateFile(t, "p.json", "{\"name\": \"p\", \"accelerator\": \"X\", \"alphaMS\": 9,\n\"kvCacheTokens\": "+kv+"}")
	}
	trace := func(content string) []string {
		return []string{"--workload", simulateFile(t, "trace.csv", content)}
	}
	with := func(args ...string) []string { return append([]string{"--workload", good}, args...) }
	for _, tt := range []struct {
		name  string
		args  []string
		usage bool
		want  []string
	}{
		{"nothing", nil, true, []string{"--workload is missing"}},
		{"standard input", []string{"--workload", "-"}, true, []string{"standard input can be read only once"}},
		{"no file", []string{"--workload", "no.csv"}, true, []string{"no.csv", "no generator"}},
		{"bad generator", []string{"--workload", "sine(1,2)"}, true, []string{"--workload", "sine"}},
		{"out of order", trace(header + "5,10,10\n4,10,10\n"), false, []string{"trace.csv", "line 3", "arrival_s 4 is before the previous line's 5"}},
		{"out of order, late", []string{"--workload", long, "--seed", "1"}, false, []string{"late.csv", "line 4", "arrival_s 7100"}},
		{"negative lengths", trace(header + "0,10,-1\n"), false, []string{"trace.csv", "line 2", "output_tokens -1 is not in [1, "}},
		{
			"missing columns", trace("arrival_s,input_tokens\n0,1\n"), false,
			[]string{"trace.csv", "line 1", "want the columns arrival_s, input_tokens and output_tokens"},
		},
		{"wrong format", trace("\x7fELF\x02\x01\n"), false, []string{"trace.csv", "line 1", "want the header of a plain"}},
		{"empty file", trace(""), false, []string{"trace.csv", "line 1"}},
		{"no requests", trace(header), false, []string{"trace.csv", "has no requests"}},
		{"KV cache below a block", with("--profile", profile("8")), true, []string{"p.json, line 2: kvCacheTokens: found 8, want an integer in [16,"}},
		{
			"KV cache below a request", with("--profile", profile("64")), false,
			[]string{"profile p: kvCacheTokens is 64", "one mean request of 100 input and 10 output tokens: want 110 or more"},
		},
		{"no such profile", with("--profile", "h200"), true, []string{"no file h200", "llama-8b-l40s"}},
		{"unknown policy", with("--policy", "magic"), true, []string{`--policy: policy "magic" is not known: want one of tokens, saturation, `}},
		{
			"unknown parameter", with("--policy", "kpa:target-utilization=1"), true,
			[]string{`--policy: policy kpa has no parameter "target-utilization": want one of utilization`},
		},
		{"parameter out of range", with("--policy", "hpa-kv:target=-1"), true, []string{"policy hpa-kv: parameter target: found -1, want a number from"}},
		{"policy twice", with("--policy", "kpa", "--policy", "kpa"), false, []string{"policy kpa is there twice"}},
		{
			"bad scenario", with("--scenario", simulateFile(t, "s.yaml", "models:\n- id: 3\n  slo: 5\n")), true,
			[]string{`s.yaml, line 3: models[0]: found "slo", want one of hold, id`},
		},
		{"flag beside a scenario", with("--scenario", "s.yaml", "--cost", "3"), true, []string{"--cost has no place beside --scenario"}},
		{"peak of a log", with("--peak", "3"), true, []string{"--peak is for curves of rates"}},
		{"lengths of a log", with("--input-tokens", "3"), true, []string{"--input-tokens has no place beside the log"}},
		{"attainment", with("--attainment", "95"), true, []string{"--attainment 95, want a ratio"}},
		{"format", with("-o", "xml"), true, []string{`--output "xml", want table, json or csv`}},
		{"routing", with("--routing", "fast"), true, []string{"round-robin, least-loaded, kv-aware or weighted"}},
		{"negative objective", with("--slo-ttft", "-1s"), true, []string{"--slo-ttft -1s", "want 0 or more"}},
		{"a report nowhere", with("--report", filepath.Join(t.TempDir(), "none", "r.html")), true, []string{"--report: ", "no such file"}},
		{"less stock than the least", with("--stock", "0"), false, []string{"at most 0, what the nodes with L40S have room for"}},
		{"arguments", []string{"trace.csv"}, true, []string{"simulate takes no arguments"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := simulate(t, append(tt.args, "--quiet")...)
			if err == nil || errors.Is(err, errUsage) != tt.usage {
				t.Fatalf("got %v, want bad usage: %t", err, tt.usage)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in: %v", want, err)
				}
			}
		})
	}
}

// TestWithoutAPolicyTheDefaultOfTheManagerRuns: a model with an objective is sized to it.
func TestWithoutAPolicyTheDefaultOfTheManagerRuns(t *testing.T) {
	for _, tt := range []struct {
		slo  sim.SLO
		want string
	}{{sim.SLO{}, lab.Tokens}, {sim.SLO{TTFT: 500}, lab.Hybrid}, {sim.SLO{ITL: 40}, lab.Hybrid}} {
		of := lab.Scenario{Models: []lab.Model{{}, {Spec: sim.Model{SLO: tt.slo}}}}
		if got := (&simulateFlags{}).names(of); len(got) != 1 || got[0] != tt.want {
			t.Errorf("%+v: %q, want %q", tt.slo, got, tt.want)
		}
	}
}

func TestAllPoliciesLeaveRoomForMore(t *testing.T) {
	f := simulateFlags{policies: []string{"kpa:target=3", "all", "saturation:interval=15s", "kpa"}}
	got := f.names(lab.Scenario{})
	if want := len(lab.Names()) + 2; len(got) != want || got[0] != "kpa:target=3" || got[1] != lab.Tokens || got[want-1] != "saturation:interval=15s" {
		t.Errorf("got %q, want %d: all, and the two with parameters", got, want)
	}
}
