package controller

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// told returns the reasons and actions of the events of a cycle.
func told(notices []notice) []string {
	var out []string
	for _, n := range notices {
		out = append(out, n.kind+" "+n.reason+" "+n.action)
	}
	return out
}

func TestEventsTellChangesOnce(t *testing.T) {
	steady := explanation()
	grows := explanation(deciding(3, scaling.ReasonSaturated))
	stuck := explanation(deciding(3, scaling.ReasonTargetNotMoving))
	noNode := explanation(running(3, 2, 1), deciding(3, scaling.ReasonPodsUnschedulable))
	unready := explanation(running(3, 2, 0), deciding(3, scaling.ReasonPodsNotReady))
	blind := explanation(fallback(2))
	never := func(e *explain.Explanation) { e.AnalyzedAt = time.Time{} }
	tooNew, tooLong := explanation(fallback(2), never), explanation(fallback(2), never, later(500))
	arrived := explanation(running(3, 3, 0), deciding(3, scaling.ReasonSaturated))
	asleep := explanation(running(0, 0, 0), deciding(0, scaling.ReasonSpareCapacity))
	tests := map[string]struct {
		before []explain.Explanation
		now    explain.Explanation
		want   []string
	}{
		"first, as many as run":     {nil, steady, nil},
		"first, more than run":      {nil, grows, []string{"Normal Decided DecideFrom2To3"}},
		"steady":                    {[]explain.Explanation{steady}, steady, nil},
		"up":                        {[]explain.Explanation{steady}, grows, []string{"Normal Decided DecideFrom2To3"}},
		"up, told":                  {[]explain.Explanation{steady, grows}, grows, nil},
		"down":                      {[]explain.Explanation{grows}, explanation(deciding(2, scaling.ReasonSpareCapacity)), []string{"Normal Decided DecideFrom3To2"}},
		"to zero":                   {[]explain.Explanation{steady}, explanation(deciding(0, scaling.ReasonSpareCapacity)), []string{"Normal Decided DecideFrom2To0"}},
		"from zero":                 {[]explain.Explanation{asleep}, explanation(running(0, 0, 0), deciding(1, scaling.ReasonFirstReplica)), []string{"Normal Decided DecideFrom0To1"}},
		"first, from zero":          {nil, explanation(running(0, 0, 0), deciding(1, scaling.ReasonFirstReplica)), []string{"Normal Decided DecideFrom0To1"}},
		"the target followed":       {[]explain.Explanation{grows}, arrived, []string{"Normal ScaledUp ScaleFrom2To3"}},
		"it followed, told":         {[]explain.Explanation{grows, arrived}, arrived, nil},
		"it followed by half":       {[]explain.Explanation{explanation(deciding(5, scaling.ReasonSaturated))}, explanation(running(3, 2, 0), deciding(5, scaling.ReasonSaturated)), []string{"Normal ScaledUp ScaleFrom2To3"}},
		"it followed to zero":       {[]explain.Explanation{explanation(deciding(0, scaling.ReasonSpareCapacity))}, asleep, []string{"Normal ScaledToZero ScaleFrom2To0"}},
		"it followed from zero":     {[]explain.Explanation{asleep, explanation(running(0, 0, 0), deciding(3, scaling.ReasonFirstReplica))}, arrived, []string{"Normal ScaledFromZero ScaleFrom0To3"}},
		"it followed down":          {[]explain.Explanation{arrived, explanation(running(3, 3, 0), deciding(2, scaling.ReasonSpareCapacity))}, steady, []string{"Normal ScaledDown ScaleFrom3To2"}},
		"at once":                   {[]explain.Explanation{steady}, arrived, []string{"Normal Decided DecideFrom2To3", "Normal ScaledUp ScaleFrom2To3"}},
		"and more is decided":       {[]explain.Explanation{grows}, explanation(running(3, 2, 0), deciding(4, scaling.ReasonSaturated)), []string{"Normal Decided DecideFrom3To4", "Normal ScaledUp ScaleFrom2To3"}},
		"and less is decided":       {[]explain.Explanation{grows}, explanation(running(3, 2, 0), deciding(2, scaling.ReasonSpareCapacity)), []string{"Normal Decided DecideFrom3To2", "Normal ScaledUp ScaleFrom2To3"}},
		"the replica is taken away": {[]explain.Explanation{steady}, explanation(running(1, 1, 0), deciding(2, scaling.ReasonSteady)), nil},
		"at zero, told":             {[]explain.Explanation{steady, asleep}, asleep, nil},
		"overdue":                   {[]explain.Explanation{grows}, stuck, []string{"Warning NotFollowed TargetNotMoving"}},
		"overdue, told":             {[]explain.Explanation{grows, stuck}, stuck, nil},
		"overdue for another cause": {[]explain.Explanation{grows, arrived}, noNode, []string{"Warning NotFollowed PodsUnschedulable"}},
		"pods do not become Ready":  {[]explain.Explanation{grows, arrived}, unready, []string{"Warning NotFollowed PodsNotReady"}},
		"and still do not":          {[]explain.Explanation{grows, unready}, unready, nil},
		"arrived":                   {[]explain.Explanation{grows, unready}, explanation(running(3, 3, 0), deciding(3, scaling.ReasonSteady)), nil},
		"a fallback begins":         {[]explain.Explanation{steady}, blind, []string{"Warning Held Hold"}},
		"a fallback lasts":          {[]explain.Explanation{steady, blind}, blind, nil},
		"a fallback ends":           {[]explain.Explanation{steady, blind}, steady, nil},
		"the first metrics":         {nil, tooNew, []string{"Normal Held Await"}},
		"they are awaited":          {[]explain.Explanation{tooNew}, tooNew, nil},
		"they do not come":          {[]explain.Explanation{tooNew}, tooLong, []string{"Warning Held Hold"}},
		"still they do not":         {[]explain.Explanation{tooNew, tooLong}, tooLong, nil},
		"they come":                 {[]explain.Explanation{tooNew}, steady, nil},
		"nothing is decided":        {[]explain.Explanation{steady}, explanation(undecided), nil},
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

func TestEventHoldsNumbersReasonAndCycle(t *testing.T) {
	v := seen(explanation(deciding(3, scaling.ReasonSaturated)))
	is, _ := next(object(), v)
	got := notices(v1alpha1.VariantAutoscalingStatus{}, is, v)
	if want := "from 2 to 3 replicas; the target asks for 2: Saturated (why); cycle 7"; len(got) != 1 || got[0].note != want {
		t.Errorf("got %v, want %q", got, want)
	}
	// The target has followed meanwhile. Only the reason of the earlier decision is left.
	v = seen(explanation(running(3, 2, 0), deciding(5, scaling.ReasonDemand), func(e *explain.Explanation) { e.Cycle = "8" }))
	was := is
	was.DesiredOptimizedAlloc.NumReplicas = 4
	was.DesiredOptimizedAlloc.LastUpdate.Reason = "Saturated"
	v.Decision = v.Decision.Then(scaling.StageBounds, 1, scaling.ReasonAboveMax, "maxReplicas is 1")
	is, _ = next(&v1alpha1.VariantAutoscaling{Status: was}, v)
	got = notices(was, is, v)
	if want := "from 2 to 3 replicas; 4 decided: Saturated; cycle 8"; len(got) < 2 || got[1].note != want {
		t.Errorf("got %v, want second %q", got, want)
	}
}

func TestConditionsThatOthersSetAreToldOnceForEachCause(t *testing.T) {
	with := func(kind v1alpha1.ConditionType, status metav1.ConditionStatus, reason v1alpha1.ConditionReason, message string) v1alpha1.VariantAutoscalingStatus {
		s := statusAfter(object(), explanation())
		state(&s, stated{condition(kind, status, reason, message), message}) // each message of this test is its own fact
		return s
	}
	const valid, ready = v1alpha1.ConditionConfigurationValid, v1alpha1.ConditionOptimizationReady
	accepted := with(valid, metav1.ConditionTrue, v1alpha1.ReasonConfigurationAccepted, "")
	invalid := with(valid, metav1.ConditionFalse, v1alpha1.ReasonInvalidConfiguration, "kvCacheThreshold is 80, want 0 to 1.")
	other := with(valid, metav1.ConditionFalse, v1alpha1.ReasonInvalidConfiguration, "queueLengthThreshold is -1, want 0 or more.")
	missing := with(valid, metav1.ConditionFalse, v1alpha1.ReasonServiceClassMissing, "no class gold.")
	free, frozen := with(ready, metav1.ConditionTrue, v1alpha1.ReasonOptimizationSucceeded, ""), with(ready, metav1.ConditionTrue, v1alpha1.ReasonPaused, "")
	const noted = "Warning InvalidConfiguration InvalidConfiguration: kvCacheThreshold is 80, want 0 to 1; cycle 7"
	tests := map[string]struct {
		was, is v1alpha1.VariantAutoscalingStatus
		want    []string
	}{
		"a configuration becomes invalid": {accepted, invalid, []string{noted}},
		"it was never seen before":        {free, invalid, []string{noted}},
		"it stays invalid":                {invalid, invalid, nil},
		"it is invalid in another way":    {other, invalid, []string{noted}},
		"it is accepted":                  {invalid, accepted, nil},
		"the cause is in the action": {invalid, missing, []string{
			"Warning InvalidConfiguration ServiceClassMissing: no class gold; cycle 7",
		}},
		"a variant is paused": {free, frozen, []string{"Normal Held Pause: held at 2 replicas: Steady (enough); cycle 7"}},
		"it stays paused":     {frozen, frozen, nil},
		"it goes on":          {frozen, free, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, n := range notices(tt.was, tt.is, seen(explanation())) {
				action, _, _ := strings.Cut(n.action, "-")
				got = append(got, n.kind+" "+n.reason+" "+action+": "+n.note)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	// The events API merges two events with the same action into the first.
	one, two := notices(accepted, invalid, seen(explanation())), notices(accepted, other, seen(explanation()))
	if one[0].action == two[0].action {
		t.Errorf("two causes have the action %s", one[0].action)
	}
}

func TestConflictIsToldToBothAndWhenItChanges(t *testing.T) {
	key := func(name string) scaling.VariantKey { return scaling.VariantKey{Namespace: "n", Name: name} }
	two, three := []scaling.VariantKey{key("u"), keyV}, []scaling.VariantKey{key("t"), key("u"), keyV}
	va := object()
	for _, step := range []struct {
		contenders []scaling.VariantKey
		want       int
	}{{two, 1}, {two, 0}, {three, 1}, {three, 0}} {
		v := view{at: at(100), cycle: "9", contenders: step.contenders}
		is, _ := next(va, v)
		got := notices(va.Status, is, v)
		if len(got) != step.want {
			t.Errorf("contenders %v: got %v, want %d", step.contenders, got, step.want)
		}
		for _, n := range got {
			if n.reason != "TargetConflict" || !strings.HasSuffix(n.note, "; cycle 9") {
				t.Errorf("got %+v", n)
			}
		}
		va.Status = is
	}
	winner := seen(explanation())
	winner.contenders = []scaling.VariantKey{keyV, key("w")}
	is, _ := next(object(), winner)
	if got := told(notices(v1alpha1.VariantAutoscalingStatus{}, is, winner)); len(got) != 1 || !strings.HasPrefix(got[0], "Warning TargetConflict Arbitrate-") {
		t.Errorf("the winner is told %v", got)
	}
}
