package lab

import (
	"strings"
	"testing"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/serving"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
)

const partsFile = `name: parts
models:
  - id: chat
    transfer: {base: 3ms, perToken: 20us}
    variants:
      - {name: p, role: prefill, profile: 8b, replicas: 2}
      - {name: d, role: decode, profile: 8b, min: 3}
workload:
  - {generator: "constant(4,10m)"}
`

func TestAScenarioInPartsIsReadAndRun(t *testing.T) {
	s, err := ParseScenario([]byte(partsFile), ScenarioOptions{File: "parts.yaml", Profiles: []serving.Profile{testProfile()}})
	if err != nil {
		t.Fatal(err)
	}
	m := s.Models[0].Spec
	if p, d := m.Variants[0], m.Variants[1]; p.Spec.Role != scaling.RolePrefill || d.Spec.Role != scaling.RoleDecode || p.Replicas != 2 || d.Replicas != 3 {
		t.Errorf("got %+v and %+v, want 2 replicas of prefill and 3 of decode", p.Spec, d.Spec)
	}
	if want := (sim.Transfer{Base: 3 * time.Millisecond, PerToken: 20 * time.Microsecond}); m.Transfer != want {
		t.Errorf("got %+v, want %+v", m.Transfer, want)
	}
	r := execute(t, Plan{Scenarios: []Scenario{s}, Choices: testChoices(t, "hpa-kv:target=0.9"), Seeds: []uint64{1}}, Options{})
	if row := r.Scenarios[0].Rows[0]; row.Runs[0].Measures.Attainment < 0.95 {
		t.Errorf("5 replicas attain %g with 4 requests/s, want nearly all", row.Runs[0].Measures.Attainment)
	}
}

func TestScenariosInPartsSayWhereTheyAreWrong(t *testing.T) {
	for _, tt := range []struct{ name, from, to, want string }{
		{"another role", "role: decode", "role: encode", `parts.yaml, line 7: models[0].variants[1].role: found "encode", want prefill or decode`},
		{"a transfer without a unit", "base: 3ms", "base: 3", `parts.yaml, line 4: models[0].transfer.base: found "3", want a duration such as 90s`},
		{"prefill alone", "      - {name: d, role: decode, profile: 8b, min: 3}\n", "", "parts.yaml: models[0].variants: found of prefill only, want a variant of decode too"},
		{"no first replicas", ", replicas: 2", "", "parts.yaml: models[0].variants: found without their first replicas, want replicas of a variant, as some have a role"},
	} {
		_, err := ParseScenario([]byte(strings.Replace(partsFile, tt.from, tt.to, 1)), ScenarioOptions{File: "parts.yaml", Profiles: []serving.Profile{testProfile()}})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
}
