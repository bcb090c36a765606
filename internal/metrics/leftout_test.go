package metrics

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/budget"
)

func TestWhatIsLeftOutEndsWhenItIsWithinTheBudget(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := New(reg, stopped(start), Options{})
	m.LeftOut(budget.Variants, map[string]int{"a": 3, "b": 1})
	m.LeftOut(budget.Events, map[string]int{"a": 2})
	m.LeftOut(budget.Variants, map[string]int{"b": 4, "c": 0})
	got := map[string]float64{}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == NamespaceLeftOut {
			for _, one := range f.GetMetric() {
				got[one.GetLabel()[0].GetValue()+" "+one.GetLabel()[1].GetValue()] = one.GetGauge().GetValue()
			}
		}
	}
	if len(got) != 2 || got["b variants"] != 4 || got["a events"] != 2 {
		t.Errorf("got %v, want 4 variants of b and 2 events of a", got)
	}
}
