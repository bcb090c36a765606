package controller

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// short returns conditions by type, as "Status Reason".
func short(conditions []metav1.Condition) map[string]string {
	out := map[string]string{}
	for _, c := range conditions {
		out[c.Type] = string(c.Status) + " " + c.Reason
	}
	return out
}

func TestConditions(t *testing.T) {
	const (
		found, following    = "True TargetFound", "True Following"
		metrics, optimized  = "True MetricsFound", "True OptimizationSucceeded"
		missing, fellBack   = "False MetricsMissing", "True FallbackUsed"
		notFound, ready     = "False TargetNotFound", "True Ready"
		unknown, noDecision = "Unknown TargetNotFound", "False MetricsUnavailable"
	)
	fault := func(e *explain.Explanation) { e.Snapshot.Fault = "boom" }
	paused := func(e *explain.Explanation) { e.Variant.Paused = true }
	progressed := func(seconds int) func(*explain.Explanation) {
		return func(e *explain.Explanation) { e.Past.ProgressAt = at(seconds) }
	}
	tests := map[string]struct {
		e    explain.Explanation
		want [5]string // TargetResolved, MetricsAvailable, OptimizationReady, ScalerFollowing, Ready
	}{
		"ordinary":                          {explanation(), [5]string{found, metrics, optimized, following, ready}},
		"growing":                           {explanation(deciding(3, scaling.ReasonSaturated)), [5]string{found, metrics, optimized, following, ready}},
		"aging":                             {explanation(samples(sample(scaling.Aging))), [5]string{found, "True MetricsAging", optimized, following, ready}},
		"stale":                             {explanation(samples(sample(scaling.Stale)), fallback(2)), [5]string{found, "False MetricsStale", fellBack, following, "False MetricsStale"}},
		"no metrics":                        {explanation(samples(sample(scaling.Absent)), fallback(2)), [5]string{found, missing, fellBack, following, missing}},
		"no pods":                           {explanation(samples(), fallback(2)), [5]string{found, missing, fellBack, following, missing}},
		"no Prometheus":                     {explanation(samples(), fault, fallback(2)), [5]string{found, "False PrometheusError", fellBack, following, "False PrometheusError"}},
		"no target":                         {explanation(unreadable, samples(), fallback(2)), [5]string{notFound, missing, fellBack, unknown, notFound}},
		"no target, another serves":         {explanation(unreadable, fallback(2)), [5]string{notFound, metrics, fellBack, unknown, notFound}},
		"nothing at all":                    {explanation(unreadable, samples(), undecided), [5]string{notFound, missing, noDecision, unknown, notFound}},
		"nothing decided":                   {explanation(undecided), [5]string{found, metrics, noDecision, "Unknown MetricsUnavailable", noDecision}},
		"target does not move":              {explanation(deciding(3, scaling.ReasonTargetNotMoving)), [5]string{found, metrics, optimized, "False TargetNotMoving", "False TargetNotMoving"}},
		"no node":                           {explanation(running(3, 2, 1), deciding(3, scaling.ReasonPodsUnschedulable)), [5]string{found, metrics, optimized, "False PodsUnschedulable", "False PodsUnschedulable"}},
		"no node, and no analysis":          {explanation(running(2, 0, 2), samples(), fallback(2), progressed(40)), [5]string{found, missing, fellBack, "False PodsUnschedulable", missing}},
		"no node just now, and no analysis": {explanation(running(2, 0, 2), samples(), fallback(2), progressed(41)), [5]string{found, missing, fellBack, following, missing}},
		"pods do not become Ready":          {explanation(running(3, 2, 0), deciding(3, scaling.ReasonPodsNotReady)), [5]string{found, metrics, optimized, "True PodsNotReady", ready}},
		"paused":                            {explanation(paused, deciding(2, scaling.ReasonPaused)), [5]string{found, metrics, "True Paused", following, "False Paused"}},
		"paused without metrics":            {explanation(paused, samples(), fallback(2)), [5]string{found, missing, "True Paused", following, missing}},
		"paused and nothing decided":        {explanation(paused, unreadable, samples(), undecided), [5]string{notFound, missing, noDecision, unknown, notFound}},
		"stale and not moving: in order":    {explanation(samples(sample(scaling.Stale)), deciding(3, scaling.ReasonTargetNotMoving)), [5]string{found, "False MetricsStale", optimized, "False TargetNotMoving", "False MetricsStale"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := short(statusAfter(object(), tt.e).Conditions)
			want := map[string]string{
				"TargetResolved": tt.want[0], "MetricsAvailable": tt.want[1], "OptimizationReady": tt.want[2],
				"ScalerFollowing": tt.want[3], "Ready": tt.want[4],
			}
			if diff := cmp.Diff(got, want); diff != "" {
				t.Errorf("-got +want:\n%s", diff)
			}
		})
	}
}

func TestConditionsCarryGenerationAndMoveTheirTimeOnAFlipOnly(t *testing.T) {
	first := statusAfter(object(), explanation())
	aging := explanation(later(200), samples(sample(scaling.Aging)))
	stale := explanation(later(300), samples(sample(scaling.Stale)), fallback(2))
	changed := object(func(va *v1alpha1.VariantAutoscaling) { va.Generation, va.Status = 5, first })
	for _, tt := range []struct {
		name  string
		after []explain.Explanation
		want  metav1.Condition
	}{
		{"another reason is no flip", []explain.Explanation{aging}, metav1.Condition{Reason: "MetricsAging", LastTransitionTime: *stamp(100)}},
		{"another status is", []explain.Explanation{aging, stale}, metav1.Condition{Reason: "MetricsStale", LastTransitionTime: *stamp(300)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := meta.FindStatusCondition(statusAfter(changed, tt.after...).Conditions, "MetricsAvailable")
			if got.Reason != tt.want.Reason || !got.LastTransitionTime.Equal(&tt.want.LastTransitionTime) || got.ObservedGeneration != 5 {
				t.Errorf("got %s at %v of generation %d, want %s at %v of 5",
					got.Reason, got.LastTransitionTime, got.ObservedGeneration, tt.want.Reason, tt.want.LastTransitionTime)
			}
		})
	}
}

// TestMetricsAvailableAsPublished compares with the cases of the area metrics-availability of the
// recorded contract. Two deviate: a source that is not configured is a fault like any other, and a
// message states no age. T-604, an answer of the wrong type, does not reach a snapshot.
func TestMetricsAvailableAsPublished(t *testing.T) {
	fault := func(text string) func(*explain.Explanation) {
		return func(e *explain.Explanation) { e.Snapshot.Fault, e.Snapshot.Replicas = text, nil }
	}
	tests := map[string]struct {
		e       explain.Explanation
		want    string // status and reason
		message string // beginning of the message
	}{
		"T-602, deviates: not configured": {explanation(fault("Prometheus API not configured")), "False PrometheusError", "Failed to query Prometheus: Prometheus API not configured"},
		"T-603: query error":              {explanation(fault("boom")), "False PrometheusError", "Failed to query Prometheus: boom"},
		"T-605: nothing there":            {explanation(samples()), "False MetricsMissing", "No vLLM metrics found for model 'm' in namespace 'n'. Check: (1) ServiceMonitor exists"},
		"T-607, deviates: one of two stale": {
			explanation(samples(sample(scaling.Fresh), sample(scaling.Stale))), "False MetricsStale",
			"vLLM metrics for model 'm' are stale. ServiceMonitor may not be scraping correctly.",
		},
		"T-608: young enough": {explanation(), "True MetricsFound", "vLLM metrics are available and up-to-date"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := metricsAvailable(tt.e)
			if state := string(got.Status) + " " + got.Reason; state != tt.want || !strings.HasPrefix(got.Message, tt.message) {
				t.Errorf("got %s %q, want %s %q", state, got.Message, tt.want, tt.message)
			}
		})
	}
}

func TestMetricsAreJudgedByTheVariantsOwnPods(t *testing.T) {
	other := sample(scaling.Fresh)
	other.Variant.Name = "w"
	starting := sample(scaling.Absent)
	starting.Ready = false
	half := sample(scaling.Fresh)
	half.QueueLength = scaling.Reading{}
	dead := sample(scaling.Stale)
	dead.Ready = false
	stuck := sample(scaling.Absent)
	stuck.Stuck = scaling.Frozen
	tests := map[string]struct {
		samples []scaling.ReplicaSample
		want    string
	}{
		"own pods are silent, others report": {[]scaling.ReplicaSample{sample(scaling.Absent), other}, "MetricsMissing"},
		"no own pods":                        {[]scaling.ReplicaSample{other}, "MetricsFound"},
		"own pod starts":                     {[]scaling.ReplicaSample{starting, other}, "MetricsFound"},
		"only starting pods":                 {[]scaling.ReplicaSample{starting}, "MetricsMissing"},
		"a new pod beside one that reports":  {[]scaling.ReplicaSample{sample(scaling.Fresh), sample(scaling.Absent)}, "MetricsFound"},
		"own pod is stuck":                   {[]scaling.ReplicaSample{stuck}, "MetricsFound"},
		"own pods are stuck and stale":       {[]scaling.ReplicaSample{stuck, sample(scaling.Stale)}, "MetricsStale"},
		"one quantity of two":                {[]scaling.ReplicaSample{half}, "MetricsFound"},
		"what a crashed pod left":            {[]scaling.ReplicaSample{sample(scaling.Fresh), dead}, "MetricsFound"},
		"others are stale":                   {[]scaling.ReplicaSample{sample(scaling.Fresh), {Variant: other.Variant, Ready: true, KVCacheUsage: scaling.Reading{State: scaling.Stale}}}, "MetricsFound"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := metricsAvailable(explanation(samples(tt.samples...))).Reason; got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// TestReadingsOfOtherPodsAreNamed: the condition stays True, says what to change, and ends with the
// cause.
func TestReadingsOfOtherPodsAreNamed(t *testing.T) {
	const cause = "The token counter of {instance=\"m:8000\"} falls again and again"
	mixed := func(e *explain.Explanation) { e.Snapshot.Partial = cause }
	partial := sample(scaling.Aging)
	partial.Partial = true
	for name, tt := range map[string]struct {
		e    explain.Explanation
		want string // reason and message
	}{
		"of its pods": {
			explanation(samples(partial), mixed),
			"True MetricsAging vLLM metrics for model 'm' are not those of each replica alone: the model may still grow, shrinking waits. " + cause,
		},
		"of its pods, no longer":       {explanation(samples(sample(scaling.Fresh))), "True MetricsFound vLLM metrics are available and up-to-date"},
		"beside those of each of them": {explanation(samples(sample(scaling.Fresh)), mixed), "True MetricsFound vLLM metrics are available and up-to-date. " + cause},
		"without a pod":                {explanation(samples(sample(scaling.Absent)), mixed), "False MetricsMissing No vLLM metrics found for model 'm' in namespace 'n'. " + cause},
	} {
		t.Run(name, func(t *testing.T) {
			got := metricsAvailable(tt.e)
			if text := string(got.Status) + " " + got.Reason + " " + got.Message; !strings.HasPrefix(text, tt.want) {
				t.Errorf("got %q, want %q", text, tt.want)
			}
		})
	}
}

// TestOverdueOrderDoesNotFlap runs the cycles of an overdue order, some of which decide for an
// unrelated reason.
func TestOverdueOrderDoesNotFlap(t *testing.T) {
	stuck := explanation(deciding(3, scaling.ReasonTargetNotMoving))
	homeless := explanation(running(3, 2, 1), deciding(3, scaling.ReasonPodsUnschedulable))
	unready := explanation(running(3, 2, 0), deciding(3, scaling.ReasonPodsNotReady))
	tests := map[string]struct {
		cycles []explain.Explanation
		want   scaling.Reason
	}{
		"another variant is on its way":  {[]explain.Explanation{stuck, explanation(deciding(3, scaling.ReasonInTransition))}, scaling.ReasonTargetNotMoving},
		"there is no analysis":           {[]explain.Explanation{stuck, explanation(fallback(3))}, scaling.ReasonTargetNotMoving},
		"the target has moved since":     {[]explain.Explanation{stuck, explanation(running(3, 2, 0), deciding(3, scaling.ReasonInTransition))}, ""},
		"the number changed":             {[]explain.Explanation{stuck, explanation(fallback(4))}, ""},
		"still no node":                  {[]explain.Explanation{homeless, explanation(running(3, 2, 1), fallback(3))}, scaling.ReasonPodsUnschedulable},
		"a node was found":               {[]explain.Explanation{homeless, explanation(running(3, 2, 0), fallback(3))}, ""},
		"pods still not Ready":           {[]explain.Explanation{unready, explanation(running(3, 2, 0), fallback(3))}, scaling.ReasonPodsNotReady},
		"the decision does not complain": {[]explain.Explanation{stuck, explanation(deciding(3, scaling.ReasonSteady))}, ""},
		"nothing was overdue":            {[]explain.Explanation{explanation(), explanation(fallback(2))}, ""},
		"the step that complains is not the last": {[]explain.Explanation{explanation(func(e *explain.Explanation) {
			deciding(3, scaling.ReasonPodsUnschedulable)(e)
			e.Decision = e.Decision.Then(scaling.StageBounds, 2, scaling.ReasonAboveMax, "maxReplicas is 2")
		})}, scaling.ReasonPodsUnschedulable},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := reported(statusAfter(object(), tt.cycles...)).reason; got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestFallbackKeepsSayingSinceWhen(t *testing.T) {
	began := explanation(fallback(2))
	restarted := explanation(fallback(2), func(e *explain.Explanation) { e.AnalyzedAt = at(0).AddDate(-1, 0, 0) })
	message := func(s v1alpha1.VariantAutoscalingStatus) string {
		return meta.FindStatusCondition(s.Conditions, "OptimizationReady").Message
	}
	want := "No analysis since 2026-01-01T00:01:30Z: the larger of the last decision and what runs holds, within the bounds"
	if got := message(statusAfter(object(), began, restarted)); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := message(statusAfter(object(), began, explanation(), explanation(fallback(2), func(e *explain.Explanation) { e.AnalyzedAt = at(95) }))); !strings.Contains(got, "00:01:35Z") {
		t.Errorf("the next fallback says %q", got)
	}
}
