package controller

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/ledger"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// awaits makes a reduction from 2 replicas wait for approval since second 80.
func awaits(cycle scaling.CycleID, to scaling.Replicas) func(*explain.Explanation) {
	return func(e *explain.Explanation) {
		e.Variant.Approval.Required = true
		e.Decision = scaling.Decision{Variant: keyV, Model: e.Variant.Model, Current: 2}.
			Then(scaling.StageOptimize, to, scaling.ReasonSpareCapacity, "spare").
			Then(scaling.StageApproval, 2, scaling.ReasonAwaitingApproval, "waits")
		e.Decision.Reduction = scaling.Reduction{Cycle: cycle, Since: at(80), From: 2, To: to}
	}
}

// approvedBefore makes that reduction an approved one that is under way.
func approvedBefore(e *explain.Explanation) {
	deciding(1, scaling.ReasonSpareCapacity)(e)
	e.Variant.Approval.Required = true
	e.Decision.Reduction = scaling.Reduction{Cycle: "5", Since: at(80), From: 2, To: 1, Approved: true}
}

func frozenBy(allow scaling.Allow) func(*explain.Explanation) {
	return func(e *explain.Explanation) {
		e.Variant.Freeze = scaling.Freeze{Allow: allow, Window: "night", Until: at(1000)}
	}
}

func TestChangesAllowedSaysWhatWaits(t *testing.T) {
	tests := map[string]struct {
		e       explain.Explanation
		want    string // status and reason, "" for no condition
		message string
	}{
		"nothing waits":              {explanation(), "", ""},
		"a reduction waits":          {explanation(awaits("5", 1)), "False AwaitingApproval", "The reduction from 2 to 1 of cycle 5 waits for approval. Approve it: wva approve v -n n. It is wanted for the reason SpareCapacity"},
		"for a time":                 {explanation(awaits("5", 1), func(e *explain.Explanation) { e.Variant.Approval.After = 4 * time.Hour }), "False AwaitingApproval", "Without approval it is made 4h after it began to wait"},
		"it waits in a freeze":       {explanation(awaits("5", 1), frozenBy(scaling.AllowGrowth)), "False AwaitingApproval", `Replicas are added and none are removed: freeze window "night", until 2026-01-01 00:16 UTC`},
		"it is approved":             {explanation(approvedBefore), "True Approved", "The reduction from 2 to 1 of cycle 5 is approved and under way"},
		"no change":                  {explanation(frozenBy(scaling.AllowNone)), "False Frozen", `The decision does not change: freeze window "night"`},
		"growth only":                {explanation(frozenBy(scaling.AllowGrowth)), "False GrowthOnly", "none are removed"},
		"approved, and delayed":      {explanation(approvedBefore, frozenBy(scaling.AllowGrowth)), "False GrowthOnly", "none are removed"},
		"what is held is not frozen": {explanation(frozenBy(scaling.AllowNone), func(e *explain.Explanation) { e.Variant.Undecidable = "served in parts" }), "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			va := object()
			va.Status = statusAfter(va, explanation(awaits("4", 0)))
			is, _ := next(va, seen(tt.e))
			c := meta.FindStatusCondition(is.Conditions, string(v1alpha1.ConditionChangesAllowed))
			got, message := "", ""
			if c != nil {
				got, message = string(c.Status)+" "+c.Reason, c.Message
			}
			if got != tt.want || !strings.Contains(message, tt.message) {
				t.Errorf("got %q: %s\nwant %q: %s", got, message, tt.want, tt.message)
			}
			ready := meta.FindStatusCondition(is.Conditions, string(v1alpha1.ConditionReady))
			if ready.Reason != string(v1alpha1.ReasonReady) && tt.e.Variant.Undecidable == "" {
				t.Errorf("Ready is %s", ready.Reason)
			}
		})
	}
}

func TestAWaitIsToldOnce(t *testing.T) {
	tests := map[string]struct {
		before []explain.Explanation
		now    explain.Explanation
		want   []string
	}{
		"it begins":                 {[]explain.Explanation{explanation()}, explanation(awaits("5", 1)), []string{"Normal AwaitingApproval AskFor5"}},
		"it lasts":                  {[]explain.Explanation{explanation(awaits("5", 1))}, explanation(awaits("5", 1)), nil},
		"for another number":        {[]explain.Explanation{explanation(awaits("5", 1))}, explanation(awaits("5", 0)), nil},
		"another begins":            {[]explain.Explanation{explanation(awaits("5", 1))}, explanation(awaits("6", 1)), []string{"Normal AwaitingApproval AskFor6"}},
		"without an analysis":       {[]explain.Explanation{explanation(awaits("5", 1))}, explanation(awaits("5", 1), func(e *explain.Explanation) { e.Decision.Steps = e.Decision.Steps[:0] }), nil},
		"it is approved":            {[]explain.Explanation{explanation(awaits("5", 1))}, explanation(approvedBefore), []string{"Normal Decided DecideFrom2To1"}},
		"a freeze begins":           {[]explain.Explanation{explanation()}, explanation(frozenBy(scaling.AllowNone)), []string{"Normal Frozen BeginFrozen"}},
		"a freeze lasts":            {[]explain.Explanation{explanation(frozenBy(scaling.AllowNone))}, explanation(frozenBy(scaling.AllowNone)), nil},
		"another kind of it begins": {[]explain.Explanation{explanation(frozenBy(scaling.AllowNone))}, explanation(frozenBy(scaling.AllowGrowth)), []string{"Normal Frozen BeginGrowthOnly"}},
		"it ends":                   {[]explain.Explanation{explanation(frozenBy(scaling.AllowNone))}, explanation(), nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			va := object()
			va.Status = statusAfter(va, tt.before...)
			is, _ := next(va, seen(tt.now))
			if diff := cmp.Diff(told(notices(va.Status, is, seen(tt.now))), tt.want); diff != "" {
				t.Errorf("-got +want:\n%s", diff)
			}
		})
	}
}

// TestAWaitOutlivesTheManager: the next manager continues the wait and accepts an approval of it.
func TestAWaitOutlivesTheManager(t *testing.T) {
	va := object()
	va.Status = statusAfter(va, explanation(awaits("5", 1)))
	for name, change := range map[string]func(){"waiting": func() {}, "under way": func() { va.Status = statusAfter(va, explanation(approvedBefore)) }} {
		change()
		book := ledger.New()
		if err := Restore(t.Context(), listed{items: []v1alpha1.VariantAutoscaling{*va}}, book); err != nil {
			t.Fatal(err)
		}
		want := scaling.Reduction{Cycle: "5", Since: at(80), From: 2, To: 1}
		if diff := cmp.Diff(want, book.History()[keyV].Reductions.Reduction); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}
