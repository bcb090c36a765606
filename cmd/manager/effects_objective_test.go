package main

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// objectiveShown returns what is explained of the objective of the fleet's first model.
func objectiveShown(l *lab) explain.Objective {
	e := explaining{policies: l.policies()}
	return e.Objective(l.fleet.Variants[0].Model)
}

// objectiveEffects are what the keys of service classes and of percentiles change:
// with is the content with the key, and without the same content without it.
var objectiveEffects = []struct {
	in            config.Kind
	key           string
	without, with string
	see           func(o explain.Objective) any
	before, after any
}{
	{
		config.KindServiceClasses, "name", "data: [{model: default/default, slo-ttft: 500}]", "name: Gold\ndata: [{model: default/default, slo-ttft: 500}]",
		func(o explain.Objective) any { return o.Class }, "key", "Gold",
	},
	{
		config.KindServiceClasses, "priority", "data: [{model: default/default, slo-ttft: 500}]", "priority: 3\ndata: [{model: default/default, slo-ttft: 500}]",
		func(o explain.Objective) any { return o.Priority }, 100, 3,
	},
	{
		config.KindServiceClasses, "data", "name: Gold", "name: Gold\ndata: [{model: default/default, slo-ttft: 500}]",
		func(o explain.Objective) any { return o.Set() }, false, true,
	},
	{
		config.KindServiceClasses, "model", "data: [{model: another, slo-ttft: 500}]", "data: [{model: m000, slo-ttft: 500}]",
		func(o explain.Objective) any { return o.Row }, "", "model",
	},
	{
		config.KindServiceClasses, "namespace", "data: [{model: m000, slo-ttft: 500}]", "data: [{namespace: serving, model: m000, slo-ttft: 500}]",
		func(o explain.Objective) any { return o.Row }, "model", "namespace and model",
	},
	{
		config.KindServiceClasses, "slo-ttft", "data: [{model: m000, slo-tpot: 20}]", "data: [{model: m000, slo-tpot: 20, slo-ttft: 500}]",
		func(o explain.Objective) any { return o.TTFT }, 0.0, 500.0,
	},
	{
		config.KindServiceClasses, "slo-tpot", "data: [{model: m000, slo-ttft: 500}]", "data: [{model: m000, slo-tpot: 20, slo-ttft: 500}]",
		func(o explain.Objective) any { return o.ITL }, 0.0, 20.0,
	},
	{config.KindSaturation, "ttftPercentile", "", "ttftPercentile: 0.5", func(o explain.Objective) any { return o.TTFTPercentile }, 0.9, 0.5},
	{config.KindSaturation, "attainment", "", "attainment: 0.9", func(o explain.Objective) any { return o.Share() }, 0.95, 0.9},
	{config.KindSaturation, "attainmentWindow", "", "attainmentWindow: 1h", func(o explain.Objective) any { return o.Window() }, 8 * time.Hour, time.Hour},
	{config.KindSaturation, "itlPercentile", "", "itlPercentile: 0.5", func(o explain.Objective) any { return o.ITLPercentile }, 0.0, 0.5},
}

func TestAKeyOfObjectivesChangesWhatIsExplained(t *testing.T) {
	for _, tt := range objectiveEffects {
		t.Run(tt.key, func(t *testing.T) {
			see := func(content string) any {
				l := newLab(t, start{})
				l.configure(config.KindServiceClasses, "key", "data: [{model: default/default, slo-ttft: 500}]")
				key := "key"
				if tt.in == config.KindSaturation {
					key = "default"
				}
				l.configure(tt.in, key, content)
				return tt.see(objectiveShown(l))
			}
			if got := see(tt.without); got != tt.before {
				t.Errorf("without: got %v, want %v", got, tt.before)
			}
			if got := see(tt.with); got != tt.after {
				t.Errorf("with: got %v, want %v", got, tt.after)
			}
		})
	}
}

// TestDistributionsAreAskedForModelsWithObjectives shows that a class that comes
// and goes while the manager runs changes what is asked of the source.
func TestDistributionsAreAskedForModelsWithObjectives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, start{}, "--prometheus-metrics-cache-enabled=false")
		asked := func() (models []string) {
			l.source.Forget()
			l.meter.Collect(t.Context(), l.fleet)
			for _, call := range l.source.Calls() {
				if call.Ask == query.AskObjective {
					models = append(models, call.Models...)
				}
			}
			slices.Sort(models)
			return slices.Compact(models)
		}
		if got := asked(); got != nil {
			t.Errorf("without a class, those of %v are asked for", got)
		}
		l.configure(config.KindServiceClasses, "gold", "data: [{model: m001, slo-ttft: 500}]")
		if diff := cmp.Diff([]string{"m001"}, asked()); diff != "" {
			t.Errorf("models (-want +got):\n%s", diff)
		}
		l.configure(config.KindServiceClasses)
		if got := asked(); got != nil {
			t.Errorf("after the class, those of %v are asked for", got)
		}
	})
}

func TestTheClassThatAVariantNamesIsThatOfItsModel(t *testing.T) {
	l := newLab(t, start{})
	l.configure(config.KindServiceClasses, "free", "priority: 9\ndata: [{model: m000, slo-ttft: 5000}]", "gold", "priority: 1\ndata: [{model: default/default, slo-ttft: 500}]")
	model := l.fleet.Variants[0].Model
	if o := l.policies().of(model).Objective; o.Class != "free" {
		t.Errorf("by the model: got class %q", o.Class)
	}
	named := policies{store: l.store, classes: func(m scaling.ModelKey) []config.ClassRef {
		if m != model {
			return nil
		}
		return []config.ClassRef{{Name: "service-classes-config", Key: "free"}, {Name: "service-classes-config", Key: "gold"}}
	}}
	if o := named.of(model).Objective; o.Class != "gold" || !named.hasObjective(model) {
		t.Errorf("by the variants: got class %q, want the most important of those that they name", o.Class)
	}
}
