package lab

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/schedule"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/serving"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/fault"
)

const fleetFile = `name: two
attainment: 0.9
tolerance: 0.1
scrapeInterval: 30s
nodes:
  - {accelerator: L40S, count: 4, gpus: 2}
quotas:
  - {accelerator: L40S, gpus: 6}
  - {namespace: jobs, accelerator: L40S, gpus: 0}
models:
  - id: chat
    share: 3
    priority: 10
    ttft: 1500ms
    itl: 40ms
    routing: least-loaded
    patience: {mean: 1m, deviation: 30s, retry: 0.5, after: 20s}
    prefix: {share: 0.5, part: 0.75, warm: 200}
    variants:
      - profile: 8b
        cost: 1.5
        max: 4
        replicas: 2
      - name: inline
        profile: {name: 8b-h100, accelerator: H100, alphaMS: 9, kvCacheTokens: 32768}
        loads: mistral-small-24b-w8a8
        gpus: 2
        min: 0
        startUp: 4m
  - id: batch
    namespace: jobs
    hold: 0s
    variants:
      - profile: 8b
        name: batch
        weight: 2
        approve: shrink;after=10m
faults:
  - {kind: crash, variant: inline, at: 10m, for: 1h, replicas: 2, period: 7m, ready: 20s}
  - {kind: no-node, namespace: jobs, variant: batch, wait: 6m}
  - {kind: clock, at: 1h, step: -30m}
  - {kind: outage, model: chat, at: 2h, for: 13m}
schedule:
  - {name: night, allow: growth, days: [Wed, 2025-01-02], from: 22:00, to: 06:00, timeZone: UTC, namespace: jobs, model: batch, variant: batch}
`

func TestScenarioFileIsRead(t *testing.T) {
	s, err := ReadScenario(testFile(t, "fleet.yaml", fleetFile), []serving.Profile{testProfile()})
	if err != nil {
		t.Fatal(err)
	}
	chat, batch := s.Models[0], s.Models[1]
	faults := []fault.Fault{
		{Kind: fault.Crash, Variant: scaling.VariantKey{Namespace: "default", Name: "inline"}, At: 10 * time.Minute, For: time.Hour, Replicas: 2, Period: 7 * time.Minute, Ready: 20 * time.Second},
		{Kind: fault.NoNode, Variant: scaling.VariantKey{Namespace: "jobs", Name: "batch"}, Wait: 6 * time.Minute},
		{Kind: fault.Clock, At: time.Hour, Step: -30 * time.Minute},
		{Kind: fault.Outage, Model: scaling.ModelKey{Namespace: "default", ID: "chat"}, At: 2 * time.Hour, For: 13 * time.Minute},
	}
	if diff := cmp.Diff(faults, s.Fleet.Faults); diff != "" || s.Fleet.Tolerance != 0.1 || batch.Spec.Variants[0].Weight != 2 {
		t.Errorf("faults, tolerance %g, weight %g: %s", s.Fleet.Tolerance, batch.Spec.Variants[0].Weight, diff)
	}
	if got, want := chat.Spec.Patience, (sim.Patience{Mean: time.Minute, Deviation: 30 * time.Second, Retry: 0.5, After: 20 * time.Second}); got != want {
		t.Errorf("patience %+v, want %+v", got, want)
	}
	if got, want := chat.Spec.Prefix, (sim.Prefix{Share: 0.5, Part: 0.75, Warm: 200}); got != want {
		t.Errorf("prefix %+v, want %+v", got, want)
	}
	if batch.Spec.Patience != (sim.Patience{}) || batch.Spec.Prefix != (sim.Prefix{}) {
		t.Errorf("patience %+v and prefix %+v of a model that says nothing of them", batch.Spec.Patience, batch.Spec.Prefix)
	}
	if s.Name != "two" || s.Target != 0.9 || s.Fleet.ScrapeInterval != 30*time.Second || len(s.Models) != 2 {
		t.Errorf("got %+v", s)
	}
	if diff := cmp.Diff([]sim.Nodes{{Accelerator: "L40S", Count: 4, GPUs: 2}}, s.Fleet.Nodes); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]scaling.Quota{{Namespace: "default", Accelerator: "L40S", GPUs: 6}, {Namespace: "jobs", Accelerator: "L40S"}}, s.Quotas); diff != "" {
		t.Error(diff)
	}
	window := schedule.Window{
		Name: "night", Allow: scaling.AllowGrowth, Days: []string{"Wed", "2025-01-02"}, From: "22:00", To: "06:00", TimeZone: "UTC", Namespace: "jobs", Model: "batch", Variant: "batch",
	}
	if len(s.Schedule) != 1 || !cmp.Equal(window, s.Schedule[0].Window) {
		t.Errorf("schedule %+v, want %+v", s.Schedule, window)
	}
	if want := (scaling.Approval{Required: true, After: 10 * time.Minute}); batch.Spec.Variants[0].Spec.Approval != want || chat.Spec.Variants[0].Spec.Approval != (scaling.Approval{}) {
		t.Errorf("approval %+v, want %+v", batch.Spec.Variants[0].Spec.Approval, want)
	}
	if chat.Share != 3 || chat.Priority != 10 || batch.Priority != 0 || chat.Sized || !batch.Sized || batch.Spec.Hold != 0 || batch.Spec.Key.Namespace != "jobs" {
		t.Errorf("models %+v and %+v", chat, batch)
	}
	if diff := cmp.Diff(sim.SLO{TTFT: 1500, ITL: 40, Attainment: 0.9}, chat.Spec.SLO); diff != "" {
		t.Error(diff)
	}
	a, b := chat.Spec.Variants[0], chat.Spec.Variants[1]
	if a.Spec.Key.Name != "8b" || a.Spec.Cost != 1.5 || a.Spec.Bounds.Max != 4 || a.Replicas != 2 || a.Profile != testProfile() {
		t.Errorf("variant %+v", a)
	}
	if b.Spec.Key.Name != "inline" || b.Spec.Accelerator != "H100" || b.Spec.GPUsPerReplica != 2 || b.Spec.Loaded.Model != "mistral-small-24b-w8a8" ||
		b.Spec.Bounds.Max != math.MaxInt || b.StartUp.Mean != 4*time.Minute ||
		b.Profile.BlockSize != 16 || b.Profile.MaxModelLen != 32768 || b.Replicas != 0 {
		t.Errorf("variant %+v", b)
	}
}

func TestScenarioFilesSayWhereTheyAreWrong(t *testing.T) {
	for _, tt := range []struct{ name, from, to, want string }{
		{"unknown field", "share: 3", "shares: 3", "fleet.yaml, line 12: models[0]: found \"shares\", want one of hold, id"},
		{"not a number", "cost: 1.5", "cost: cheap", `fleet.yaml, line 21: models[0].variants[0].cost: found "cheap", want a number from 0 upwards`},
		{"out of range", "attainment: 0.9", "attainment: 90", `fleet.yaml, line 2: attainment: found "90", want a number from 0.001 to 1`},
		{"no unit", "ttft: 1500ms", "ttft: 1500", `fleet.yaml, line 14: models[0].ttft: found "1500", want a duration such as 90s`},
		{"priority", "priority: 10", "priority: 0", `fleet.yaml, line 13: models[0].priority: found "0", want a whole number from 1 to 100`},
		{"quota of nothing", "{accelerator: L40S, gpus: 6}", "{gpus: 6}", "fleet.yaml, line 8: quotas[0]: found a mapping, want the fields accelerator and gpus"},
		{"negative quota", "gpus: 6}", "gpus: -6}", `fleet.yaml, line 8: quotas[0].gpus: found "-6", want a whole number from 0`},
		{"quota twice", "{namespace: jobs, accelerator", "{accelerator", "fleet.yaml: quotas[1]: found default/L40S, want a namespace and an accelerator not used before"},
		{"quota of a stranger", "namespace: jobs, a", "namespace: ops, a", "fleet.yaml: quotas[1]: found ops/L40S, want namespace and accelerator of a variant: default/H100, default/L40S, jobs/L40S"},
		{"unknown profile", "- profile: 8b\n        cost", "- profile: 9b\n        cost", `fleet.yaml, line 20: models[0].variants[0].profile: found "9b", want a profile, or the name of one: 8b`},
		{"profile out of range", "alphaMS: 9", "alphaMS: 0", `fleet.yaml, line 25: models[0].variants[1].profile.alphaMS: found 0, want ms in (0, 1e6]`},
		{"routing", "least-loaded", "fastest", `fleet.yaml, line 16: models[0].routing: found "fastest", want round-robin`},
		{"twice", "name: two", "name: two\nname: three", `fleet.yaml`},
		{"patience without end", "{mean: 1m, deviation: 30s, retry: 0.5, after: 20s}", "{retry: 0.5}", "fleet.yaml, line 17: models[0].patience: found a mapping, want the field mean, for how long clients wait"},
		{"prefix of all", "part: 0.75", "part: 1", `fleet.yaml, line 18: models[0].prefix.part: found "1", want a number from 0 to 0.999`},
		{"fault of no kind", "kind: clock", "kind: rain", `fleet.yaml, line 41: faults[2]: found a mapping, want kind to be one of [crash`},
		{"fault of a stranger", "variant: inline", "variant: stranger", "fleet.yaml: faults[0].variant: found default/stranger, want a variant of the run"},
		{"fault without its step", ", step: -30m", "", "want step to be what a clock is off by, and nothing of other kinds, it is 0s"},
		{"tolerance", "tolerance: 0.1", "tolerance: 1", `fleet.yaml, line 3: tolerance: found "1", want a number from 0 to 0.99`},
		{"window of an unknown zone", "timeZone: UTC", "timeZone: Mars", "fleet.yaml, line 44: schedule[0]: found a mapping, want timeZone to be the name of a time zone"},
		{"window of an unknown field", "variant: batch}", "variants: batch}", `fleet.yaml, line 44: schedule[0]: found "variants"`},
		{"approval of growth", "shrink;after=10m", "grow", `fleet.yaml, line 37: models[1].variants[0].approve: found "grow", want "shrink"`},
		{"same variant", "name: inline", "name: 8b", `fleet.yaml: models[0].variants[1].key: found default/8b, want a key not used before`},
		{"too large for a node", "count: 4, gpus: 2}", "count: 4, gpus: 1}\n  - {accelerator: H100, count: 1, gpus: 1}", "fleet.yaml: models[0].variants[1].spec.gpusPerReplica: found 2, want at most 1"},
		{"no models", "models:", "modules:", `fleet.yaml, line 10: found "modules", want one of attainment`},
		{"empty", fleetFile, "", "fleet.yaml: found nothing, want YAML or JSON"},
		{"no YAML", fleetFile, "a: [", "fleet.yaml: yaml: line 1"},
		{"max below min", "min: 0", "min: 3\n        max: 2", "fleet.yaml, line 24: models[0].variants[1]: found a mapping, want max, 2, to be no less than min, 3"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if !strings.Contains(fleetFile, tt.from) {
				t.Fatalf("the file has no %q", tt.from)
			}
			file := testFile(t, "fleet.yaml", strings.Replace(fleetFile, tt.from, tt.to, 1))
			_, err := ReadScenario(file, []serving.Profile{testProfile()})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestProfilesSayWhereTheyAreWrong(t *testing.T) {
	for _, tt := range []struct{ name, content, want string }{
		{"one", `{"name": "a", "accelerator": "X", "alphaMS": 9, "kvCacheTokens": 4096}`, ""},
		{"several", "- {name: a, accelerator: X, alphaMS: 9, kvCacheTokens: 4096}\n- {name: b, accelerator: X, alphaMS: 9, kvCacheTokens: 4096}", ""},
		{"negative", "[{\"name\": \"a\", \"accelerator\": \"X\",\n\"alphaMS\": -1}]", `p.json, line 2: [0].alphaMS: found "-1", want a number from 0 to 1e+06`},
		{"cache below a block", "{\"name\": \"a\", \"accelerator\": \"X\", \"alphaMS\": 9,\n \"kvCacheTokens\": 8}", "p.json, line 2: kvCacheTokens: found 8, want an integer in [16,"},
		{"no cache", `{"name": "a", "accelerator": "X", "alphaMS": 9}`, "p.json, line 1: kvCacheTokens: found 0"},
		{"field of other projects", `{"alpha_ms": 3}`, `p.json, line 1: found "alpha_ms", want one of accelerator, alphaMS`},
		{"twice", "- {name: a, accelerator: X, alphaMS: 9, kvCacheTokens: 4096}\n- {name: a, accelerator: X, alphaMS: 9, kvCacheTokens: 4096}", "p.json, line 2: [1]: found a mapping, want a name that no other profile has: a is there twice"},
		{"text", `"fast"`, `p.json, line 1: found "fast", want a list of one or more`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ReadProfiles(testFile(t, "p.json", tt.content))
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestFaultsReachTheRun: two of four replicas crash, and all that they hold is lost; the
// clairvoyant refuses to answer for it.
func TestFaultsReachTheRun(t *testing.T) {
	s := slowed(testScenario(t, "constant(1,20m)"), 4)
	v := &s.Models[0].Spec.Variants[0]
	s.Models[0].Sized, v.Replicas = false, 4
	s.Fleet.Faults = []fault.Fault{{Kind: fault.Crash, Variant: v.Spec.Key, At: 10 * time.Minute, For: time.Minute, Replicas: 2}}
	plan := Plan{Scenarios: []Scenario{s}, Choices: testChoices(t, Tokens), Seeds: []uint64{1}}
	if lost := execute(t, plan, Options{}).Scenarios[0].Rows[0].Runs[0].Measures.Lost; lost == 0 {
		t.Error("no request was lost")
	}
	plan.Foresight = 1
	if err := plan.check(); err == nil || !strings.Contains(err.Error(), "has faults, and the clairvoyant knows of none") {
		t.Errorf("got %v", err)
	}
}
