package lab

import (
	"maps"
	"slices"
	"testing"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
)

func TestAModelIsLimitedWhereTheScenarioHasALimit(t *testing.T) {
	quota := func(namespace, accelerator string) []scaling.Quota {
		return []scaling.Quota{{Namespace: namespace, Accelerator: accelerator, GPUs: 1}}
	}
	for _, tt := range []struct {
		name   string
		nodes  []sim.Nodes
		quotas []scaling.Quota
		want   bool
	}{
		{"nothing", nil, nil, false},
		{"nodes of its accelerator", []sim.Nodes{{Accelerator: "L40S", Count: 4, GPUs: 1}}, nil, true},
		{"nodes of another", []sim.Nodes{{Accelerator: "H100", Count: 4, GPUs: 1}}, nil, false},
		{"a quota of its namespace", nil, quota("default", "L40S"), true},
		{"a quota of another namespace", nil, quota("jobs", "L40S"), false},
		{"a quota of another accelerator", nil, quota("default", "H100"), false},
	} {
		s := testScenario(t, "constant(1,1m)")
		s.Fleet.Nodes, s.Quotas = tt.nodes, tt.quotas
		if got := s.limits(s.Models[0]); got != tt.want {
			t.Errorf("%s: limited is %t", tt.name, got)
		}
	}
}

// TestTheImportantModelIsServedFromALimitedStock: three models ask for more than six
// accelerators, and one of them is told to come first.
func TestTheImportantModelIsServedFromALimitedStock(t *testing.T) {
	for _, first := range []string{"a", "b", "c"} {
		s := slowed(threeModels(t), 4)
		s.Workload = testGenerator(t, "constant(3.5,20m)")
		for i := range s.Models {
			m := &s.Models[i]
			m.Share, m.Priority = 1, 50
			if m.Spec.Key.ID == first {
				m.Priority = 1
			}
		}
		r := execute(t, Plan{Scenarios: []Scenario{s}, Choices: testChoices(t, Tokens), Seeds: []uint64{1}}, Options{})
		attained := map[string]float64{}
		for _, m := range r.Scenarios[0].Rows[0].Runs[0].Models {
			attained[m.Model.ID] = m.Measures.Attainment
		}
		// Who is served beside it is chance; that all three are not is the stock.
		if least := slices.Min(slices.Collect(maps.Values(attained))); attained[first] < 0.8 || least > 0.5 {
			t.Errorf("with %s first: attained %v", first, attained)
		}
	}
}
