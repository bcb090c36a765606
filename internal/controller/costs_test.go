package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

func TestCostsThatSayNothingBesideEachOtherAreToldWhenThatBegins(t *testing.T) {
	f := newFixture()
	variant := explanation().Variant
	cycle := func(seconds int, own scaling.CostSource, others ...scaling.CostSource) {
		v := variant
		v.Cost, v.CostSource = 3, own
		all := []scaling.Variant{v}
		for i, source := range others {
			w := variant
			w.Key.Name, w.Cost, w.CostSource = string(rune('w'+i)), 10, source
			all = append(all, w)
		}
		decision := scaling.Decision{Variant: keyV, Model: v.Model, Current: 2}.Then(scaling.StageOptimize, 2, scaling.ReasonSteady, "why")
		f.ledger.Record(memory.Record{
			Cycle: "c", Fleet: scaling.Fleet{Variants: all}, Snapshots: []scaling.Snapshot{{Model: v.Model, Variants: all}},
			History: memory.History{keyV: memory.Past{}.Decide(2, at(seconds))}, Plan: scaling.Plan{At: at(seconds), Decisions: []scaling.Decision{decision}},
		})
		f.reconcile(t)
	}
	const mend = "so that the cheapest of them is not known. Set variantCost on each variant of the model, or the unit cost of each accelerator; cycle c"
	steps := []struct {
		name   string
		own    scaling.CostSource
		others []scaling.CostSource
		want   []string
	}{
		{"alone", scaling.CostDefault, nil, nil},
		{"both their own", scaling.CostVariant, []scaling.CostSource{scaling.CostVariant}, nil},
		{"own against default", scaling.CostVariant, []scaling.CostSource{scaling.CostDefault}, []string{
			"Warning InvalidConfiguration the cost of v (3, variantCost) cannot be compared with that of w (10, the default), " + mend,
		}},
		{"the same", scaling.CostVariant, []scaling.CostSource{scaling.CostDefault}, nil},
		{"mended", scaling.CostUnitCost, []scaling.CostSource{scaling.CostUnitCost}, nil},
		{"all by default", scaling.CostDefault, []scaling.CostSource{scaling.CostDefault, scaling.CostDefault}, []string{
			"Warning InvalidConfiguration the cost of v (3, the default) cannot be compared with that of w (10, the default), x (10, the default), " + mend,
		}},
	}
	for i, step := range steps {
		f.events.told = nil
		cycle(10*(i+1), step.own, step.others...)
		if diff := cmp.Diff(step.want, warnings(f.events.told)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
	}
}

// warnings returns the events about the configuration.
func warnings(told []string) []string {
	var out []string
	for _, text := range told {
		if len(text) > 8 && text[:8] == "Warning " && text[8:28] == eventInvalidConfiguration {
			out = append(out, text)
		}
	}
	return out
}
