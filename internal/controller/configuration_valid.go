package controller

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/queueing/profile"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// Configured knows the configuration of variants.
type Configured interface {
	// FindingsFor returns the findings that concern the variants of a model on an accelerator, ""
	// for any. The caller owns the slice.
	FindingsFor(m scaling.ModelKey, accelerator string) []config.Finding
	// Policy returns the settings by which a model is decided on, given the service classes that
	// its variants name.
	Policy(m scaling.ModelKey, refs ...config.ClassRef) config.ModelSettings
	// Watch returns a channel that receives when any of this may have changed.
	Watch() <-chan struct{}
}

var _ Configured = (*Configuration)(nil)

// Classes knows which service classes are named.
type Classes interface {
	// ClassRefs returns the service classes that the variants of a model name.
	ClassRefs(m scaling.ModelKey) []config.ClassRef
}

// The limits of the findings that a condition and its event repeat: a user who
// mends the first ones sees the next.
const (
	mostFindings   = 3
	longestFinding = 280 // characters
)

// usualPrompt and usualAnswer are the lengths of requests, in tokens, for which the condition says
// how far a computed profile may be off. They do not follow the load, so that the condition stays
// the same.
const usualPrompt, usualAnswer = 500, 200

// configurationValid says whether all that was written for va is in force, and whether its engine
// has what it needs. It does not affect Ready: something else is in force instead.
func configurationValid(c Configured, va *v1alpha1.VariantAutoscaling, v view) stated {
	const kind = v1alpha1.ConditionConfigurationValid
	model := modelOf(va)
	policy := c.Policy(model, v.classes...)
	missing, outranked := classProblems(c, va, policy.Objective)
	findings := c.FindingsFor(model, cmp.Or(v.Variant.Accelerator, va.Spec.Accelerator))
	if va.Spec.SLOClassRef != nil && missing == "" {
		findings = slices.DeleteFunc(findings, func(f config.Finding) bool { return f.Unnamed })
	}
	refused := slices.Concat(specProblems(va, v), refusals(findings))
	if outranked != "" {
		refused = append(refused, problem{outranked, fmt.Sprintf("outranked %s %d", policy.Objective.Class, policy.Objective.Priority)})
	}
	switch {
	case len(refused) > 0:
		text, fact := list(refused)
		return stated{condition(kind, metav1.ConditionFalse, v1alpha1.ReasonInvalidConfiguration, text), fact}
	case missing != "":
		return stated{condition(kind, metav1.ConditionFalse, v1alpha1.ReasonServiceClassMissing, missing), fieldFact("spec.sloClassRef", classNamed(va))}
	case policy.SizesToObjectives() && policy.Objective.Class == "":
		return stated{condition(kind, metav1.ConditionFalse, v1alpha1.ReasonServiceClassMissing, (&config.NoClassError{Model: model}).Error()), ""}
	case policy.SizesToObjectives() && v.explained && v.Variant.Profile.Source == "" && !v.Past.Fit.Informed():
		return stated{unlearned(v.Variant, v.Past.Fit.Shared, policy.Engine), ""}
	case policy.SizesToObjectives() && v.explained:
		if c, found := contradicted(va.Status, v); found {
			return c
		}
	}
	return stated{condition(kind, metav1.ConditionTrue, v1alpha1.ReasonConfigurationAccepted, "Every entry that concerns the variant is in force."), ""}
}

// unlearned returns the condition of a variant without a profile: it says whether one is shared,
// computed or missing until one is learned.
func unlearned(v scaling.Variant, shared memory.Shared, engine string) metav1.Condition {
	const kind = v1alpha1.ConditionConfigurationValid
	if shared.Known() {
		return condition(kind, metav1.ConditionTrue, v1alpha1.ReasonConfigurationAccepted, explain.ProfileShared(engine))
	}
	computed, err := profile.Computed(v, usualPrompt, usualAnswer)
	if err != nil {
		return condition(kind, metav1.ConditionFalse, v1alpha1.ReasonProfileMissing, explain.ProfileMissing(v, engine, err))
	}
	return condition(kind, metav1.ConditionTrue, v1alpha1.ReasonConfigurationAccepted, explain.ProfileComputed(engine, computed.String()))
}

// contradicted returns the condition that measurements contradict the profile of the variant, or
// the law by which one is learned; false where they agree. While they cannot be compared, the last
// finding stays.
func contradicted(was v1alpha1.VariantAutoscalingStatus, v view) (stated, bool) {
	const kind = v1alpha1.ConditionConfigurationValid
	if what, why, numbers := profile.Refuted(v.Past.Fit); what != "" {
		stable := "What was learned of the speed of its replicas is not used, and a profile that is stated or computed decides, or tokens: " + why
		if numbers != "" {
			numbers = ". When it was first seen, " + numbers
		}
		return kept(was, stated{condition(kind, metav1.ConditionFalse, v1alpha1.ReasonProfileContradicted, stable), "Refuted " + string(what)}, numbers), true
	}
	if stable, moving := explain.Contradicted(v.Explanation); stable != "" {
		return kept(was, stated{condition(kind, metav1.ConditionFalse, v1alpha1.ReasonProfileContradicted, stable), contradictions(v.Explanation)}, moving), true
	}
	before := meta.FindStatusCondition(was.Conditions, string(kind))
	if v.Sizing.Compared || before == nil || before.Reason != string(v1alpha1.ReasonProfileContradicted) {
		return stated{}, false
	}
	return stated{condition(kind, metav1.ConditionFalse, v1alpha1.ReasonProfileContradicted, before.Message), factOf(was, kind)}, true
}

// classProblems says why the service class that va names is not in force: it is missing, or another
// variant of the model names a more important one, whose objective is in force. Both are "" where
// the class is in force, or where va names none.
func classProblems(c Configured, va *v1alpha1.VariantAutoscaling, inForce config.Objective) (missing, outranked string) {
	ref := va.Spec.SLOClassRef
	if ref == nil {
		return "", ""
	}
	model := modelOf(va)
	own := c.Policy(model, config.ClassRef{Name: ref.Name, Key: ref.Key}).Objective
	switch {
	case own.Class == "":
		return (&config.NoClassError{Model: model}).Error(), ""
	case own.Unfollowed != "":
		return fmt.Sprintf("%s; in force: class %s", own.Unfollowed, inForce.Class), ""
	case inForce.Key != "" && inForce.Key != own.Key:
		return "", fmt.Sprintf("spec.sloClassRef: class %s has priority %d, and another variant of the model names class %s with priority %d: want one class for a model; in force: class %s",
			own.Class, own.Priority, inForce.Class, inForce.Priority, inForce.Class)
	}
	return "", ""
}

// contradictions returns the fact of a contradicted profile: which latencies.
func contradictions(e explain.Explanation) string {
	var parts []string
	for _, c := range e.Sizing.Contradictions {
		if c.Variant == e.Variant.Key {
			parts = append(parts, c.Quantity)
		}
	}
	return strings.Join(parts, factEnd)
}

// classNamed returns the service class that va names, "" for none.
func classNamed(va *v1alpha1.VariantAutoscaling) string {
	if ref := va.Spec.SLOClassRef; ref != nil {
		return ref.Name + "/" + ref.Key
	}
	return ""
}

// refusals returns the problems of ConfigMap entries that are not in force.
func refusals(findings []config.Finding) []problem {
	var out []problem
	for _, f := range findings {
		if f.Severity == config.Refused {
			where := strings.Join([]string{f.Namespace, f.ConfigMap, f.Key, f.Field}, "/")
			out = append(out, problem{f.String(), fieldFact(where, f.Value)})
		}
	}
	return out
}

// fieldFact returns the fact of a field whose value is not in force.
func fieldFact(field, value string) string { return firstOf(field+"="+value, longestFact) }

// list joins the first few problems into one message and one fact.
func list(problems []problem) (text, fact string) {
	var out, facts []string
	for _, p := range problems[:min(len(problems), mostFindings)] {
		out, facts = append(out, firstOf(p.text, longestFinding)), append(facts, p.fact)
	}
	if more := len(problems) - mostFindings; more > 0 {
		out, facts = append(out, fmt.Sprintf("%d more", more)), append(facts, fmt.Sprint(more))
	}
	return strings.Join(out, "; "), strings.Join(facts, factEnd)
}
