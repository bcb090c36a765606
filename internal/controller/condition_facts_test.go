package controller

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// TestNothingRestsOnTheWordsOfAMessage runs random histories twice: with the statuses as written,
// and with every message reworded before the next cycle reads it. Reasons, facts, events and all
// other fields are the same.
func TestNothingRestsOnTheWordsOfAMessage(t *testing.T) {
	for seed := range uint64(500) {
		plain, reworded := object(), object()
		for i, v := range history(rand.New(rand.NewPCG(seed, 1))) {
			for n := range reworded.Status.Conditions {
				reworded.Status.Conditions[n].Message = fmt.Sprintf("said otherwise, %d", i)
			}
			want, wantTold := reconciled(plain, v)
			got, gotTold := reconciled(reworded, v)
			if diff := cmp.Diff(withoutMessages(want), withoutMessages(got)); diff != "" {
				t.Fatalf("seed %d, cycle %d: the status depends on messages (-plain +reworded):\n%s", seed, i, diff)
			}
			if diff := cmp.Diff(wantTold, gotTold); diff != "" {
				t.Fatalf("seed %d, cycle %d: events depend on messages (-plain +reworded):\n%s", seed, i, diff)
			}
			plain.Status, reworded.Status = want, got
		}
	}
}

// reconciled returns the next status of va and the events of that step.
func reconciled(va *v1alpha1.VariantAutoscaling, v found) (v1alpha1.VariantAutoscalingStatus, []string) {
	va.Annotations = v.annotations
	valid := withActuation(configurationValid(v.configured, va, v.view), va, v.scalers)
	v.configuration = &valid
	was := *va.Status.DeepCopy()
	is, known := next(va, v.view)
	if !known {
		return was, nil
	}
	return is, told(notices(was, is, v.view))
}

// found is the input of one cycle.
type found struct {
	view
	configured  Configured
	annotations map[string]string
}

// history returns the inputs of ten cycles; a state may last for several.
func history(r *rand.Rand) []found {
	pick := func(n int) bool { return r.IntN(n) == 0 }
	rivals := []scaling.VariantKey{{Namespace: "n", Name: "u"}, keyV}
	var out []found
	for i := range 10 {
		if i > 0 && pick(2) {
			again := out[i-1]
			again.At, again.at, again.cycle = again.At.Add(30*time.Second), again.At.Add(30*time.Second), scaling.CycleID(fmt.Sprint(i))
			out = append(out, again)
			continue
		}
		changes := []func(*explain.Explanation){
			func(*explain.Explanation) {}, deciding(3, scaling.ReasonSaturated), deciding(3, scaling.ReasonTargetNotMoving), fallback(2), fallback(3), undecided, unreadable,
			func(e *explain.Explanation) { fallback(2)(e); e.AnalyzedAt = time.Time{} },
			func(e *explain.Explanation) { e.Variant.Paused = true },
			func(e *explain.Explanation) {
				e.Sizing = scaling.Analysis{Reason: scaling.ReasonObjectiveInfeasible, Infeasible: []scaling.Infeasible{{Variant: keyV, Target: "ITL", Wanted: float64(10 + r.IntN(2)), Best: 20 + r.Float64()}}}
			},
			func(e *explain.Explanation) {
				e.Variant.Profile.Source, e.Sizing = "variantProfile", contradiction(40+r.Float64())
			},
			func(e *explain.Explanation) { e.Variant.Profile.Source = "variantProfile" },
		}
		f := found{view: seen(explanation(later(100+30*i), changes[r.IntN(len(changes))])), configured: byModel()}
		f.cycle = scaling.CycleID(fmt.Sprint(i))
		f.scalers = []scaling.Scalers{
			{},
			by(), by(hpa()), asking(scaling.ActuationScale), asking(scaling.ActuationScale, hpa()),
			{Own: scaling.ActuationScale, Fault: "listing: forbidden"},
			by(hpa(func(s *scaling.Scaler) { s.Misread = "it reads another metric" })), by(hpa(), hpa(func(s *scaling.Scaler) { s.Name = "other" })),
		}[r.IntN(8)]
		if pick(3) {
			f.annotations = map[string]string{v1alpha1.AnnotationActuation: []string{"scale", "yes"}[r.IntN(2)]}
		}
		if pick(4) {
			f.configured = &fixedFindings{all: []config.Finding{{Severity: config.Refused, ConfigMap: "thresholds", Key: fmt.Sprint("k", r.IntN(2)), Value: "80", Want: "0 to 1"}}}
		}
		if pick(5) {
			f.contenders = rivals
			if pick(2) {
				f.contenders = []scaling.VariantKey{keyV, {Namespace: "n", Name: "w"}}
			}
		}
		if pick(6) {
			f.leftOut, f.leftOutFor = "Beyond the budget", fmt.Sprint("Variants", r.IntN(2))
		}
		out = append(out, f)
	}
	return out
}

func withoutMessages(s v1alpha1.VariantAutoscalingStatus) v1alpha1.VariantAutoscalingStatus {
	s = *s.DeepCopy()
	for i := range s.Conditions {
		s.Conditions[i].Message = ""
	}
	return s
}

// TestADefinitionThatDropsFactsCausesNoWrites: with an older CustomResourceDefinition every status
// is read back without facts. An unchanged state is neither written again nor reported again.
func TestADefinitionThatDropsFactsCausesNoWrites(t *testing.T) {
	for seed := range uint64(200) {
		va := object()
		for i, v := range history(rand.New(rand.NewPCG(seed, 2))) {
			for again := range 2 {
				va.Status.Facts = nil
				is, events := reconciled(va, v)
				if again > 0 && (differs(va.Status, is) || len(events) > 0) {
					t.Fatalf("seed %d, cycle %d: written or told again: %v\n%s", seed, i, events, cmp.Diff(meaning(va.Status), meaning(is)))
				}
				va.Status = is
			}
		}
	}
}

// TestFactsOfTheVersionBeforeAreReadFromItsMessages: that version stored in messages only that
// metrics are awaited, and which other scaler sets the replicas. Its other statuses are not
// reported anew.
func TestFactsOfTheVersionBeforeAreReadFromItsMessages(t *testing.T) {
	older := func(kind v1alpha1.ConditionType, reason v1alpha1.ConditionReason, status metav1.ConditionStatus, message string) v1alpha1.VariantAutoscalingStatus {
		return v1alpha1.VariantAutoscalingStatus{Conditions: []metav1.Condition{condition(kind, status, reason, message)}}
	}
	awaits := older(v1alpha1.ConditionOptimizationReady, v1alpha1.ReasonFallbackUsed, metav1.ConditionTrue, olderAwaits)
	if !awaited(awaits) {
		t.Errorf("metrics are awaited: %v", awaits.Facts)
	}
	const two = olderTwoScalers + `HorizontalPodAutoscaler h does; in force: "metrics"; another`
	invalid := older(v1alpha1.ConditionConfigurationValid, v1alpha1.ReasonInvalidConfiguration, metav1.ConditionFalse, two)
	if other, ok := twoScalersOf(invalid); !ok || other.Kind != scaling.KindHPA || other.Name != "h" {
		t.Errorf("who else sets the replicas: %+v", other)
	}
	was := older(v1alpha1.ConditionConfigurationValid, v1alpha1.ReasonInvalidConfiguration, metav1.ConditionFalse, "kvCacheThreshold is 80")
	is := *was.DeepCopy()
	state(&is, stated{condition(v1alpha1.ConditionConfigurationValid, metav1.ConditionFalse, v1alpha1.ReasonInvalidConfiguration, "in other words"), "thresholds=80"})
	if begins(was, is, v1alpha1.ConditionConfigurationValid) {
		t.Error("what the version before told is told again")
	}
}

// TestMessagesAreBounded has a model of thousand variants with long names, none of which meets the
// objectives, and a message that exceeds the limit of the API server.
func TestMessagesAreBounded(t *testing.T) {
	e := explanation(later(100))
	e.Sizing = scaling.Analysis{Reason: scaling.ReasonObjectiveInfeasible}
	for i := range 1000 {
		e.Sizing.Infeasible = append(e.Sizing.Infeasible, scaling.Infeasible{
			Variant: scaling.VariantKey{Namespace: "n", Name: strings.Repeat("v", 240) + fmt.Sprint(i)}, Target: "ITL", Wanted: 10, Best: 20,
		})
	}
	var s v1alpha1.VariantAutoscalingStatus
	c := optimizationReady(s, e)
	if size := len(c.Message) + len(c.fact); size > 3000 || !strings.Contains(c.Message, "and 997 more") {
		t.Errorf("the message and the fact have %d bytes: %.1000s", size, c.Message)
	}
	c.Message = strings.Repeat("é", 40_000)
	state(&s, c)
	if got := []rune(s.Conditions[0].Message); len(got) != longestMessage {
		t.Errorf("a message of 40,000 characters is stated with %d, want %d", len(got), longestMessage)
	}
}
