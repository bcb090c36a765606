package controller

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// contradiction returns the analysis of a profile that predicts an ITL of 20 ms.
func contradiction(measured float64) scaling.Analysis {
	return scaling.Analysis{Compared: true, Contradictions: []scaling.Contradiction{
		{Variant: keyV, Quantity: "ITL", Predicted: 20, Measured: measured},
		{Variant: scaling.VariantKey{Namespace: "n", Name: "other"}, Quantity: "TTFT", Predicted: 1, Measured: 9},
	}}
}

// sized returns the view of an object that is sized to its class, with analysis a.
func sized(a scaling.Analysis) view {
	v := view{explained: true, Explanation: explanation()}
	v.Variant.Key, v.Variant.Profile.Source, v.Sizing = keyV, "variantProfile", a
	return v
}

// byModel returns the configuration of a model that is sized to a class.
func byModel() *fixedFindings {
	return &fixedFindings{engine: config.EngineQueueing, classes: map[string]config.Objective{"": {Class: "premium", ITL: 24}}}
}

func TestAContradictedProfileIsNamedWithBothNumbersUntilItHolds(t *testing.T) {
	const kind = v1alpha1.ConditionConfigurationValid
	const first = "The profile promises another ITL than is measured, by more than half; sizes are corrected by what is measured. " +
		"When it was first seen, ITL 20 ms predicted and 44 ms measured"
	va := object()
	for _, step := range []struct {
		name     string
		analysis scaling.Analysis
		want     string // of the message, "" for none
	}{
		{"it fits", scaling.Analysis{Compared: true}, ""},
		{"it is contradicted", contradiction(44), first},
		{"by other numbers", contradiction(47), first},
		{"it cannot be compared", scaling.Analysis{}, first},
		{"it fits again", scaling.Analysis{Compared: true}, ""},
		{"it cannot be compared after that", scaling.Analysis{}, ""},
	} {
		got := configurationValid(byModel(), va, sized(step.analysis))
		if step.want == "" && got.Reason != string(v1alpha1.ReasonConfigurationAccepted) ||
			step.want != "" && (got.Reason != string(v1alpha1.ReasonProfileContradicted) || got.Message != step.want || got.Status != metav1.ConditionFalse) {
			t.Errorf("%s: %s %s %q, want %q", step.name, got.Status, got.Reason, got.Message, step.want)
		}
		if got.Type != string(kind) {
			t.Fatalf("a condition %s", got.Type)
		}
		state(&va.Status, got)
	}
}

func TestObjectivesOutOfReachAreNamedWithWhatIsPossible(t *testing.T) {
	out := func(best float64) scaling.Analysis {
		return scaling.Analysis{Reason: scaling.ReasonObjectiveInfeasible, Infeasible: []scaling.Infeasible{{Variant: keyV, Target: "ITL", Wanted: 10, Best: best}}}
	}
	before := v1alpha1.VariantAutoscalingStatus{}
	first := optimizationReady(before, sized(out(21.3)).Explanation)
	if first.Status != metav1.ConditionFalse || first.Reason != string(v1alpha1.ReasonOptimizationFailed) ||
		!strings.Contains(first.Message, "v ITL of 10 ms") || !strings.Contains(first.Message, "the best were v 21.3 ms") {
		t.Errorf("%+v", first)
	}
	state(&before, first)
	if again := optimizationReady(before, sized(out(22.9)).Explanation); again.Message != first.Message {
		t.Errorf("the message moves with the load: %q", again.Message)
	}
	if met := optimizationReady(before, sized(scaling.Analysis{}).Explanation); met.Reason != string(v1alpha1.ReasonOptimizationSucceeded) {
		t.Errorf("%+v", met)
	}
}
