package controller

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// stated is a condition with its fact, as status.facts has it. Programs compare type, reason and
// fact: the message may be reworded at any time.
type stated struct {
	metav1.Condition
	fact string // "" where type and reason are enough
}

// The parts of facts that the code searches for; factEnd separates parts.
const (
	// factAwaitsMetrics is of OptimizationReady: it is too early for a first analysis.
	factAwaitsMetrics = "AwaitsMetrics"
	// factTwoScalers begins the part of ConfigurationValid that names, by kind and name, the scaler
	// that sets the replicas that the manager was asked to set too.
	factTwoScalers = "TwoScalers "
	factEnd        = "\n"
)

// longestFact bounds a part of a fact that holds a value written by users.
const longestFact = 120 // characters

// problem is something that is not fully in force, in words and as a part of a fact.
type problem struct{ text, fact string }

// factOf returns the fact of a condition in a status, "" for none. A status without facts was
// written by a version that kept them in messages, or came back from an API server whose older
// definition drops them: then factOf reads the message.
func factOf(s v1alpha1.VariantAutoscalingStatus, kind v1alpha1.ConditionType) string {
	if s.Facts == nil {
		return olderFacts(s)[string(kind)]
	}
	return s.Facts[string(kind)]
}

// longestMessage bounds the message of a condition, in characters: the API server refuses a status
// with one of more than 32768.
const longestMessage = 4096

// state puts a condition and its fact into a status.
func state(s *v1alpha1.VariantAutoscalingStatus, c stated) {
	c.Message = firstOf(c.Message, longestMessage)
	meta.SetStatusCondition(&s.Conditions, c.Condition)
	if c.fact == "" {
		delete(s.Facts, c.Type)
		return
	}
	if s.Facts == nil {
		s.Facts = olderFacts(*s)
	}
	s.Facts[c.Type] = c.fact
}

// retract takes a condition and its fact out of a status.
func retract(s *v1alpha1.VariantAutoscalingStatus, kind v1alpha1.ConditionType) {
	meta.RemoveStatusCondition(&s.Conditions, string(kind))
	delete(s.Facts, string(kind))
}

// begins reports whether a status has a condition that the one before did not have, or had with
// another status, reason or fact.
func begins(was, is v1alpha1.VariantAutoscalingStatus, kind v1alpha1.ConditionType) bool {
	now, before := meta.FindStatusCondition(is.Conditions, string(kind)), meta.FindStatusCondition(was.Conditions, string(kind))
	if now == nil {
		return false
	}
	if before != nil && was.Facts == nil && before.Reason == now.Reason && before.Status == now.Status {
		return false // its fact is not known
	}
	return before == nil || before.Reason != now.Reason || before.Status != now.Status || factOf(was, kind) != factOf(is, kind)
}

// twoScalersOf returns the scaler beside the manager that a status names, and false for none.
func twoScalersOf(s v1alpha1.VariantAutoscalingStatus) (scaling.Scaler, bool) {
	for part := range strings.SplitSeq(factOf(s, v1alpha1.ConditionConfigurationValid), factEnd) {
		if named, ok := strings.CutPrefix(part, factTwoScalers); ok {
			kind, name, _ := strings.Cut(named, " ")
			return scaling.Scaler{Kind: kind, Name: name}, true
		}
	}
	return scaling.Scaler{}, false
}

// The sentences in which the version without facts stated these parts.
const (
	olderAwaits     = "No analysis so far, and the first metrics are awaited: the larger of the last decision and what runs holds, within the bounds"
	olderTwoScalers = `annotation wva.llmd.ai/actuation is "scale": want no other that sets the replicas, and `
)

// olderFacts returns the facts in the messages of a status, where they are in the sentences of the
// version without facts.
func olderFacts(s v1alpha1.VariantAutoscalingStatus) map[string]string {
	facts := map[string]string{}
	if c := fallbackOf(s); c != nil && c.Message == olderAwaits {
		facts[c.Type] = factAwaitsMetrics
	}
	if c := misconfigured(s); c != nil {
		if rest, ok := strings.CutPrefix(c.Message, olderTwoScalers); ok {
			if named, _, ok := strings.Cut(rest, " does; "); ok {
				facts[c.Type] = factTwoScalers + named
			}
		}
	}
	return facts
}
