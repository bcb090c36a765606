package doctor

import (
	"fmt"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// late is how many intervals old a decision may be.
const late = 3

func decisionChecks() []check {
	return []check{
		{"decisions", []Code{"WVA0501"}, []Read{ReadVariants}, false, decided},
		{"analyses", []Code{"WVA0502"}, []Read{ReadVariants}, false, analyzed},
		{"bounds of decisions", []Code{"WVA0503"}, []Read{ReadVariants}, false, unbounded},
	}
}

func decided(c *Case, say *result) {
	c.each(say, "each has a decision", func(v *Variant) {
		e, known := c.Answer.Known[v.key()]
		interval := time.Duration(e.Interval)
		switch {
		case v.File != "" || v.Rivals != nil && v.Rivals[0] != v.key():
		case known && interval > 0 && c.Now.Add(c.Clocks.Manager.By).Sub(e.At) > late*interval+clocksApart/4:
			say.findsOf("WVA0501", c, v, nil, fmt.Sprintf("the last cycle decided %s ago, and one is due every %s", age(c.Now.Add(c.Clocks.Manager.By).Sub(e.At)), interval))
		case known && e.Decided, !known && v.Object.Status.DesiredOptimizedAlloc != nil:
		case known:
			say.findsOf("WVA0501", c, v, nil, "the manager knows the variant and decided nothing")
		case v.unserved(c):
			say.findsOf("WVA0501", c, v, nil, c.Answer.From+" does not know the variant")
		case !v.Object.FromScaler():
			say.findsOf("WVA0501", c, v, nil, "its status has no decision")
		}
	})
}

func analyzed(c *Case, say *result) {
	c.each(say, "their decisions follow the load", func(v *Variant) {
		ready := v.condition(v1alpha1.ConditionOptimizationReady)
		e, known := c.Answer.Known[v.key()]
		switch reason := v1alpha1.ConditionReason(ready.Reason); {
		case reason == v1alpha1.ReasonFallbackUsed && known && explain.AwaitsMetrics(e):
		case reason == v1alpha1.ReasonFallbackUsed, reason == v1alpha1.ReasonHeld, reason == v1alpha1.ReasonPaused:
			say.findsOf("WVA0502", c, v, nil, reasonText(reason, ready.Message))
		case ready.Type == "" && v.Problem != "":
			say.findsOf("WVA0502", c, v, nil, v.Problem)
		case ready.Type == "" && known && e.Variant.Undecidable != "":
			say.findsOf("WVA0502", c, v, nil, e.Variant.Undecidable)
		}
	})
}

// reasonText joins a reason and its message.
func reasonText(reason v1alpha1.ConditionReason, message string) string {
	return said(string(reason), message)
}

// bounding are the reasons of steps that keep a decision below what the load needs.
var bounding = []scaling.Reason{
	scaling.ReasonAboveMax, scaling.ReasonNoCandidate, scaling.ReasonNoStock, scaling.ReasonOverQuota, scaling.ReasonObjectiveInfeasible,
}

func unbounded(c *Case, say *result) {
	c.each(say, "no decision is below what the load needs", func(v *Variant) {
		if e, ok := c.Answer.Known[v.key()]; ok {
			if cause := e.Decision.Cause(); slices.Contains(bounding, cause.Reason) {
				say.findsOf("WVA0503", c, v, nil, said(fmt.Sprintf("%s: %s", cause.Stage, cause.Reason), cause.Detail))
				return
			}
		}
		if message, ok := v.says(v1alpha1.ConditionOptimizationReady, v1alpha1.ReasonOptimizationFailed); ok {
			say.findsOf("WVA0503", c, v, nil, reasonText(v1alpha1.ReasonOptimizationFailed, message))
			return
		}
		if _, known := c.Answer.Known[v.key()]; known {
			return
		}
		if d := v.Object.Status.DesiredOptimizedAlloc; d != nil && d.LastUpdate != nil && slices.Contains(bounding, scaling.Reason(d.LastUpdate.Reason)) {
			say.findsOf("WVA0503", c, v, nil, "the decision was settled by "+d.LastUpdate.Reason)
		}
	})
}
