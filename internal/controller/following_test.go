package controller

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// hpa returns an HPA that reads the decision and has the defaults of Kubernetes.
func hpa(change ...func(*scaling.Scaler)) scaling.Scaler {
	s := scaling.Scaler{
		Kind: scaling.KindHPA, Name: "h", Bounds: scaling.Bounds{Min: 1, Max: 100},
		Up:   scaling.ScalerRules{Tolerance: 0.1, Period: 15 * time.Second},
		Down: scaling.ScalerRules{Tolerance: 0.1, Window: 5 * time.Minute, Period: 15 * time.Second},
	}
	for _, f := range change {
		f(&s)
	}
	return s
}

// by returns the scalers of a target.
func by(s ...scaling.Scaler) scaling.Scalers { return scaling.Scalers{Known: true, List: s} }

func TestOrderNamesWhoDoesNotFollow(t *testing.T) {
	const minute = time.Minute
	misread := func(s *scaling.Scaler) { s.Misread = "none of its metrics is wva_desired_replicas" }
	bounded := func(least, most scaling.Replicas) func(*scaling.Scaler) {
		return func(s *scaling.Scaler) { s.Bounds = scaling.Bounds{Min: least, Max: most} }
	}
	inactive := func(since int) func(*scaling.Scaler) {
		return func(s *scaling.Scaler) {
			s.Inactive = scaling.Trouble{Reason: "FailedGetExternalMetric", Message: "no metrics returned", Since: at(since)}
		}
	}
	atZero := func(s *scaling.Scaler) { s.AtZero = true }
	noDown := func(s *scaling.Scaler) { s.Down.Disabled = true }
	tolerance := func(up float64) func(*scaling.Scaler) {
		return func(s *scaling.Scaler) { s.Up.Tolerance, s.Up.Explicit = up, true }
	}
	unable := func(s *scaling.Scaler) { s.Unable = scaling.Trouble{Reason: "FailedUpdateScale", Message: "denied"} }
	asks := func(n scaling.Replicas) func(*scaling.Scaler) { return func(s *scaling.Scaler) { s.Asks = n } }
	keda := func(s *scaling.Scaler) { s.Kind, s.Name = scaling.KindScaledObject, "s" }
	paused := func(s *scaling.Scaler) { keda(s); s.Paused = true }
	others := func(s *scaling.Scaler) { s.Others = true }
	refused := func(since int) scaling.Trouble {
		return scaling.Trouble{Reason: "FailedCreate", Message: "exceeded quota: q", Since: at(since)}
	}
	unpulled := func(since int) scaling.Trouble {
		return scaling.Trouble{Reason: scaling.ImageNotPulled, Message: `image "i"`, Since: at(since)}
	}
	second := func(s *scaling.Scaler) { s.Name = "i" }
	tests := map[string]struct {
		o       order
		want    scaling.Reason
		message string // part of it
	}{
		"there":                             {order{desired: 2, current: 2, waited: minute, scalers: by(hpa())}, "", "has the replicas"},
		"there, though a step complains":    {order{desired: 2, current: 2, waited: minute, scalers: by(hpa()), overdue: notMoving}, "", "has the replicas"},
		"there, pods without a node":        {order{desired: 2, current: 2, scalers: by(hpa()), overdue: scaling.ReasonPodsUnschedulable}, scaling.ReasonPodsUnschedulable, "No node"},
		"there, pods not Ready":             {order{desired: 2, current: 2, scalers: by(hpa()), overdue: scaling.ReasonPodsNotReady}, scaling.ReasonPodsNotReady, "not Ready"},
		"no scaler":                         {order{desired: 2, current: 1, scalers: by()}, noScaler, "scales Deployment d. Create one"},
		"still none, for another number":    {order{desired: 3, current: 1, scalers: by(), last: report{reason: noScaler}}, noScaler, ""},
		"none, another reason before":       {order{desired: 3, current: 1, scalers: by(), last: report{reason: limited}}, noScaler, ""},
		"unknown":                           {order{desired: 2, current: 1, waited: minute}, "", ""},
		"unknown, overdue":                  {order{desired: 2, current: 1, overdue: notMoving, scalers: scaling.Scalers{Fault: "forbidden"}}, notMoving, "is not known: forbidden"},
		"unknown, as before":                {order{desired: 2, current: 1, last: report{reason: limited, message: "h keeps it"}, overdue: notMoving}, limited, "h keeps it"},
		"unknown, and there":                {order{desired: 2, current: 2, last: report{reason: limited, message: "h keeps it"}}, "", "has the replicas"},
		"two of them":                       {order{desired: 2, current: 1, scalers: by(hpa(), hpa(second))}, notReading, "HorizontalPodAutoscaler h and HorizontalPodAutoscaler i scale the same target"},
		"reads something else":              {order{desired: 2, current: 1, scalers: by(hpa(misread))}, notReading, "does not read the decision: none of its metrics"},
		"cannot read":                       {order{desired: 2, current: 1, waited: minute, now: at(120), scalers: by(hpa(inactive(60)))}, notReading, "It says: FailedGetExternalMetric: no metrics returned"},
		"cannot read, since just now":       {order{desired: 2, current: 1, waited: minute, now: at(120), scalers: by(hpa(inactive(61)))}, "", ""},
		"could not read before either":      {order{desired: 2, current: 1, now: at(120), scalers: by(hpa(inactive(119))), last: report{reason: notReading}}, notReading, ""},
		"cannot read, and is limited":       {order{desired: 9, current: 1, waited: minute, now: at(120), scalers: by(hpa(inactive(0), bounded(1, 3)))}, notReading, ""},
		"stands still at zero":              {order{desired: 1, current: 0, scalers: by(hpa(atZero))}, notReading, "zero replicas (ScalingDisabled)"},
		"stood still a moment ago":          {order{desired: 2, current: 1, waited: minute, scalers: by(hpa(atZero))}, "", ""},
		"above its upper bound":             {order{desired: 4, current: 3, scalers: by(hpa(bounded(1, 3)))}, limited, "between minReplicas 1 and maxReplicas 3"},
		"above it, not there yet":           {order{desired: 4, current: 2, scalers: by(hpa(bounded(1, 3)))}, limited, ""},
		"at its upper bound":                {order{desired: 3, current: 2, waited: minute, scalers: by(hpa(bounded(1, 3)))}, "", ""},
		"below its lower bound":             {order{desired: 1, current: 2, scalers: by(hpa(bounded(2, 3)))}, limited, ""},
		"never shrinks":                     {order{desired: 1, current: 2, scalers: by(hpa(noDown))}, limited, "spec.behavior.scaleDown.selectPolicy is Disabled"},
		"never shrinks, to grow":            {order{desired: 3, current: 2, waited: minute, scalers: by(hpa(noDown))}, "", ""},
		"a ScaledObject is limited":         {order{desired: 4, current: 3, waited: minute, scalers: by(hpa(bounded(0, 3), keda))}, limited, "ScaledObject s keeps the target between minReplicaCount 0 and maxReplicaCount 3"},
		"10 to 11 at 10 %":                  {order{desired: 11, current: 10, waited: minute, scalers: by(hpa())}, tolerated, `the cluster's, 10 % unless changed. Set spec.behavior.scaleUp.tolerance to "0"`},
		"10 to 11 at 10 %, just decided":    {order{desired: 11, current: 10, waited: minute - 1, scalers: by(hpa())}, "", "on its way"},
		"10 to 12 at 10 %":                  {order{desired: 12, current: 10, waited: minute, scalers: by(hpa())}, "", ""},
		"9 to 10 at 10 %":                   {order{desired: 10, current: 9, waited: minute, scalers: by(hpa())}, "", ""},
		"10 to 9 at 10 %":                   {order{desired: 9, current: 10, waited: minute, scalers: by(hpa())}, tolerated, "scaleDown.tolerance"},
		"9 to 8 at 10 %":                    {order{desired: 8, current: 9, waited: minute, scalers: by(hpa())}, "", ""},
		"2 to 3 at 50 %":                    {order{desired: 3, current: 2, scalers: by(hpa(tolerance(0.5)))}, tolerated, "spec.behavior.scaleUp.tolerance is 50 %"},
		"10 to 11 at 0":                     {order{desired: 11, current: 10, waited: minute, scalers: by(hpa(tolerance(0)))}, "", ""},
		"10 to 11 by KEDA":                  {order{desired: 11, current: 10, waited: minute, scalers: by(hpa(keda))}, tolerated, "horizontalPodAutoscalerConfig.behavior.scaleUp.tolerance"},
		"may not set the replicas":          {order{desired: 2, current: 1, waited: minute, scalers: by(hpa(unable))}, notMoving, "could not scale the target: FailedUpdateScale: denied"},
		"may not, since just now":           {order{desired: 2, current: 1, waited: minute - 1, scalers: by(hpa(unable))}, "", "on its way"},
		"paused by KEDA":                    {order{desired: 2, current: 1, scalers: by(hpa(paused))}, halted, "ScaledObject s is paused"},
		"in good order":                     {order{desired: 2, current: 1, waited: minute, scalers: by(hpa())}, "", "on its way"},
		"overdue, next sync":                {order{desired: 2, current: 1, waited: 74 * time.Second, scalers: by(hpa()), overdue: notMoving}, "", "on its way"},
		"overdue":                           {order{desired: 2, current: 1, waited: 75 * time.Second, scalers: by(hpa()), overdue: notMoving}, notMoving, "reads the decision, and the target was not given"},
		"overdue in its window":             {order{desired: 1, current: 2, waited: 374 * time.Second, scalers: by(hpa()), overdue: notMoving}, "", ""},
		"overdue after its window":          {order{desired: 1, current: 2, waited: 375 * time.Second, scalers: by(hpa()), overdue: notMoving}, notMoving, ""},
		"overdue, set back":                 {order{desired: 2, current: 1, waited: 2 * minute, scalers: by(hpa(asks(2))), overdue: notMoving}, notMoving, "Check what else sets spec.replicas"},
		"overdue, other metrics":            {order{desired: 1, current: 2, waited: 7 * minute, scalers: by(hpa(others)), overdue: notMoving}, notMoving, "other metrics, of which the highest counts"},
		"on its way, pods without a node":   {order{desired: 3, current: 2, scalers: by(hpa()), overdue: scaling.ReasonPodsUnschedulable}, scaling.ReasonPodsUnschedulable, ""},
		"there, pods over a quota":          {order{desired: 2, current: 2, now: at(120), scalers: by(hpa()), podFailure: refused(60), overdue: scaling.ReasonPodsNotReady}, notMoving, "Deployment d has the replicas decided on and cannot create pods for them: FailedCreate: exceeded quota: q"},
		"there, over a quota just now":      {order{desired: 2, current: 2, now: at(120), scalers: by(hpa()), podFailure: refused(61)}, "", "has the replicas"},
		"there, over a quota before too":    {order{desired: 3, current: 3, now: at(120), scalers: by(hpa()), podFailure: refused(119), last: report{reason: notMoving}}, notMoving, "exceeded quota"},
		"there, over a quota no longer":     {order{desired: 2, current: 2, now: at(120), scalers: by(hpa()), last: report{reason: notMoving}}, "", "has the replicas"},
		"there, without its image":          {order{desired: 2, current: 2, now: at(120), scalers: by(hpa()), podFailure: unpulled(60)}, scaling.ReasonPodsNotReady, `Deployment d has the replicas decided on, and its pods are not Ready: image "i" cannot be pulled`},
		"there, without its image just now": {order{desired: 2, current: 2, now: at(120), scalers: by(hpa()), podFailure: unpulled(61)}, "", "has the replicas"},
		"not there, and over a quota":       {order{desired: 4, current: 3, waited: minute, now: at(120), scalers: by(hpa(bounded(1, 3))), podFailure: refused(0)}, limited, "maxReplicas 3"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.o.target, tt.o.bounds = scaling.TargetRef{Kind: "Deployment", Name: "d"}, scaling.Unbounded()
			reason, message := tt.o.follow()
			if reason != tt.want || !strings.Contains(message, tt.message) || message == "" {
				t.Errorf("got %q %q, want %q %q", reason, message, tt.want, tt.message)
			}
		})
	}
}

// TestToleranceIsThatOfAnHPA compares with the rule of the HPA controller for every size and step:
// a ratio within [1 - tolerance, 1 + tolerance].
func TestToleranceIsThatOfAnHPA(t *testing.T) {
	for _, tolerance := range []float64{0, 0.05, 0.1, 0.25, 0.5} {
		for current := scaling.Replicas(1); current <= 100; current++ {
			for desired := range scaling.Replicas(200) {
				if desired == current {
					continue
				}
				usage, target := int64(1000*desired), int64(1000)
				ratio := float64(usage) / (float64(target) * float64(current))
				want := (1.0-tolerance) <= ratio && ratio <= (1.0+tolerance)
				if got := scaling.Tolerates(tolerance, desired, current); got != want {
					t.Fatalf("%d to %d at %g: got %v, want %v", current, desired, tolerance, got, want)
				}
			}
		}
	}
}

// TestScalerFollowingOverTime runs cycles of a variant without a scaler, before and after it needs
// another number, until it has a scaler.
func TestScalerFollowingOverTime(t *testing.T) {
	f := newFixture()
	scalers := &fixedScalers{all: by()}
	f.scalers = scalers
	deciding := func(seconds int, current, desired scaling.Replicas) {
		f.cycle(seconds, current, desired, scaling.ReasonBelowMin)
		f.reconcile(t)
	}
	var got []string
	report := func() {
		t.Helper()
		status := f.objects.objects[requestV().NamespacedName].Status
		c := meta.FindStatusCondition(status.Conditions, "ScalerFollowing")
		state := string(c.Status) + " " + c.Reason
		if status.Actuation.Applied {
			state += ", applied"
		}
		got = append(got, state)
	}
	for _, step := range []struct {
		seconds          int
		current, desired scaling.Replicas
		scalers          scaling.Scalers
	}{
		{10, 1, 1, by()},
		{20, 1, 2, by()},
		{90, 1, 3, by()},
		{100, 1, 3, by(hpa())},
		{115, 3, 3, by(hpa())},
	} {
		scalers.all = step.scalers
		deciding(step.seconds, step.current, step.desired)
		report()
	}
	want := []string{
		"False NoScaler, applied", "False NoScaler", "False NoScaler", "True Following", "True Following, applied",
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("-got +want:\n%s", diff)
	}
	told := 0
	for _, e := range f.events.told {
		if strings.HasPrefix(e, "Warning NotFollowed 1 replica decided on; the target asks for 1, ") {
			told++
		}
	}
	if told != 1 {
		t.Errorf("got events %q, want one of NotFollowed", f.events.told)
	}
}

// TestAnObstacleIsNamedBeforeAnythingHasToMove: while the target still has the decided number, the
// condition already says that no scaler would carry out another one.
func TestAnObstacleIsNamedBeforeAnythingHasToMove(t *testing.T) {
	now := at(300)
	long, recent := now.Add(-scalerGrace), now.Add(-scalerGrace+1)
	failed := func(since time.Time) scaling.Trouble {
		return scaling.Trouble{Reason: "FailedGetExternalMetric", Message: "no metrics returned", Since: since}
	}
	misread := func(s *scaling.Scaler) { s.Misread = "its selector is of another variant" }
	inactive := func(since time.Time) func(*scaling.Scaler) {
		return func(s *scaling.Scaler) { s.Inactive = failed(since) }
	}
	unread := func(since time.Time) func(*scaling.Scaler) {
		return func(s *scaling.Scaler) {
			s.Unread = scaling.Trouble{Reason: "NotSynced", Message: "no controller looked", Since: since}
		}
	}
	unable := func(since time.Time) func(*scaling.Scaler) {
		return func(s *scaling.Scaler) {
			s.Unable = scaling.Trouble{Reason: "FailedGetScale", Message: "no scale", Since: since}
		}
	}
	within := func(least, most scaling.Replicas) func(*scaling.Scaler) {
		return func(s *scaling.Scaler) { s.Bounds = scaling.Bounds{Min: least, Max: most} }
	}
	second := func(s *scaling.Scaler) { s.Name = "i" }
	keda := func(s *scaling.Scaler) { s.Kind, s.Name = scaling.KindScaledObject, "s" }
	paused := func(s *scaling.Scaler) { keda(s); s.Paused = true }
	atZero := func(s *scaling.Scaler) { s.AtZero = true }
	noUp, noDown := func(s *scaling.Scaler) { s.Up.Disabled = true }, func(s *scaling.Scaler) { s.Down.Disabled = true }
	own := scaling.Bounds{Min: 1, Max: 5}
	before := report{reason: noScaler, message: "no scaler", atRest: true}
	tests := map[string]struct {
		current scaling.Replicas
		bounds  scaling.Bounds // of the variant
		scalers scaling.Scalers
		last    report
		want    scaling.Reason
		message string // part of it
	}{
		"no scaler":                            {2, own, by(), report{}, noScaler, "No HorizontalPodAutoscaler and no ScaledObject scales Deployment d"},
		"none for what has one number":         {2, scaling.Bounds{Min: 2, Max: 2}, by(), report{}, noScaler, ""},
		"none for what is at zero":             {0, scaling.Unbounded(), by(), report{}, noScaler, ""},
		"an HPA that reads it":                 {2, own, by(hpa()), report{}, "", ""},
		"an HPA came":                          {2, own, by(hpa(unread(recent))), before, "", ""},
		"an HPA that is not looked at":         {2, own, by(hpa(unread(long))), report{}, notReading, "no controller looked"},
		"another variant's":                    {2, own, by(hpa(misread)), report{}, notReading, "its selector is of another variant"},
		"two of them":                          {2, own, by(hpa(), hpa(second)), report{}, notReading, "scale the same target"},
		"cannot compute":                       {2, own, by(hpa(inactive(long))), report{}, notReading, "FailedGetExternalMetric"},
		"a failed read":                        {2, own, by(hpa(inactive(recent))), report{}, "", ""},
		"cannot compute, as before":            {2, own, by(hpa(inactive(recent))), report{reason: notReading}, notReading, ""},
		"cannot read the target":               {2, own, by(hpa(unable(long))), report{}, notMoving, "FailedGetScale"},
		"could not read the target once":       {2, own, by(hpa(unable(recent))), report{}, "", ""},
		"paused by KEDA":                       {2, own, by(hpa(paused)), report{}, halted, "ScaledObject s is paused"},
		"stands still at zero":                 {0, scaling.Unbounded(), by(hpa(atZero)), report{}, notReading, "zero replicas (ScalingDisabled)"},
		"rests at zero by KEDA":                {0, scaling.Unbounded(), by(hpa(keda, within(0, 5))), report{}, "", ""},
		"one number":                           {1, scaling.Unbounded(), by(hpa(within(1, 1))), report{}, limited, "minReplicas is 1 and maxReplicas is 1"},
		"one number of the variant's":          {3, scaling.Bounds{Min: 1, Max: 3}, by(hpa(within(3, 9))), report{}, limited, "minReplicas is 3 and maxReplicas is 9"},
		"one number, which is all it may have": {2, scaling.Bounds{Min: 2, Max: 2}, by(hpa(within(2, 2))), report{}, "", ""},
		"at most one, and no HPA goes to zero": {1, scaling.Bounds{Max: 1}, by(hpa(within(1, 9))), report{}, "", ""},
		"one, and zero by KEDA":                {1, scaling.Unbounded(), by(hpa(keda, within(0, 1))), report{}, "", ""},
		"one, and zero by the manager":         {1, scaling.Unbounded(), asking("zero", hpa(within(1, 1))), report{}, "", ""},
		"at its most":                          {5, scaling.Unbounded(), by(hpa(within(1, 5))), report{}, "", ""},
		"at its least":                         {2, scaling.Unbounded(), by(hpa(within(2, 5))), report{}, "", ""},
		"on its way to its one number":         {3, scaling.Unbounded(), by(hpa(within(1, 1))), report{}, "", ""},
		"goes nowhere":                         {2, own, by(hpa(noUp, noDown)), report{}, limited, "spec.behavior.scaleUp.selectPolicy is Disabled, and spec.behavior.scaleDown.selectPolicy is Disabled"},
		"only down, and is at its least":       {1, own, by(hpa(noUp)), report{}, limited, "scaleUp.selectPolicy is Disabled"},
		"only down":                            {2, own, by(hpa(noUp)), report{}, "", ""},
		"one more is within its tolerance":     {10, scaling.Unbounded(), by(hpa()), report{}, "", ""},
		"not known who scales":                 {2, own, scaling.Scalers{}, report{}, "", ""},
		"not known, named before":              {2, own, scaling.Scalers{}, before, noScaler, "no scaler"},
		"not known, named for an order":        {2, own, scaling.Scalers{}, report{reason: limited, message: "h keeps it"}, "", ""},
		"the manager's own job":                {2, own, asking("scale"), report{}, "", "The manager sets them"},
		"the manager's own job, and an HPA":    {2, own, asking("scale", hpa(misread)), report{}, notReading, ""},
		"from and to zero, and no scaler":      {1, own, asking("zero"), report{}, noScaler, ""},
		"from zero, and no scaler":             {0, scaling.Unbounded(), asking("zero"), report{}, "", "From and to zero"},
		"between zero and one, by the manager": {1, scaling.Bounds{Max: 1}, asking("zero"), report{}, "", "From and to zero"},
		"from zero, beside an HPA":             {0, scaling.Unbounded(), asking("zero", hpa(atZero)), report{}, "", "From and to zero"},
		"from zero, KEDA is paused":            {0, scaling.Unbounded(), asking("zero", hpa(paused)), report{}, halted, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o := order{
				target: scaling.TargetRef{Kind: "Deployment", Name: "d"}, bounds: tt.bounds,
				desired: tt.current, current: tt.current, scalers: tt.scalers, last: tt.last, scaled: scaleOutcome{acted: true}, now: now,
			}
			reason, message := o.follow()
			if reason != tt.want || !strings.Contains(message, tt.message) || message == "" {
				t.Errorf("got %q %q, want %q %q", reason, message, tt.want, tt.message)
			}
		})
	}
}

// TestReadyIsFalseWhileNothingWouldBeCarriedOut: a user applies a VariantAutoscaling without a
// scaler for its target. The test covers an idle model, one under load, and the time after an HPA
// is added.
func TestReadyIsFalseWhileNothingWouldBeCarriedOut(t *testing.T) {
	f := newFixture()
	scalers := &fixedScalers{all: by()}
	f.scalers = scalers
	fresh := func(s *scaling.Scaler) {
		s.Unread = scaling.Trouble{Reason: "NotSynced", Message: "no controller looked"}
	}
	var got []string
	for _, step := range []struct {
		seconds          int
		current, desired scaling.Replicas
		scalers          scaling.Scalers
	}{
		{10, 1, 1, by()},
		{39, 1, 2, by()},
		{40, 1, 2, by(hpa(fresh))},
		{99, 1, 2, by(hpa(fresh))},
		{100, 1, 2, by(hpa(fresh))},
		{110, 2, 2, by(hpa())},
	} {
		scalers.all = step.scalers
		f.cycle(step.seconds, step.current, step.desired, scaling.ReasonSaturated)
		f.reconcile(t)
		is := f.objects.objects[requestV().NamespacedName].Status
		c := meta.FindStatusCondition(is.Conditions, "Ready")
		got = append(got, string(c.Status)+" "+c.Reason+", by "+is.Actuation.Scaler)
	}
	const byHPA = ", by HorizontalPodAutoscaler/h"
	want := []string{
		"False NoScaler, by none", "False NoScaler, by none", "True Ready" + byHPA, "True Ready" + byHPA,
		"False HPANotReadingMetric" + byHPA, "True Ready" + byHPA,
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("-got +want:\n%s", diff)
	}
	exported := []string{"n/v false NoScaler", "n/v true Following", "n/v false HPANotReadingMetric", "n/v true Following"}
	if diff := cmp.Diff(slices.Compact(f.gauge.exported), exported); diff != "" {
		t.Errorf("exported, -got +want:\n%s", diff)
	}
}

// advisory turns the decisions on the variant into advice.
func advisory(e *explain.Explanation) { e.Variant.Advisory = true }

// TestAdviceIsNotFollowedAndNotMissed: the target never takes the advice. The condition says so,
// Ready is False, and no event says that the decision is not followed.
func TestAdviceIsNotFollowedAndNotMissed(t *testing.T) {
	reads, misread := hpa(), hpa(func(s *scaling.Scaler) {
		s.Kind, s.Name, s.Misread = scaling.KindScaledObject, "s", "none of its metrics is wva_desired_replicas"
	})
	for name, tt := range map[string]struct {
		by      scaling.Scalers
		message string
	}{
		"another scales it":         {by(misread), "ScaledObject s scales the target"},
		"an HPA reads the decision": {by(reads), "HorizontalPodAutoscaler h reads wva_desired_replicas, which has no value meanwhile"},
		"nothing scales it":         {by(), "it stays as it is"},
		"it is not known":           {scaling.Scalers{}, "not known yet"},
	} {
		t.Run(name, func(t *testing.T) {
			va := object()
			tt.by.Own = scaling.ActuationAdvisory
			for _, minutes := range []int{100, 1000, 10000} {
				v := view{at: at(minutes), explained: true, Explanation: explanation(deciding(5, scaling.ReasonSaturated), later(minutes), advisory), scalers: tt.by}
				was := va.Status
				is, _ := next(va, v)
				va.Status = is
				following, ready := meta.FindStatusCondition(is.Conditions, "ScalerFollowing"), meta.FindStatusCondition(is.Conditions, "Ready")
				if following.Status != metav1.ConditionUnknown || following.Reason != string(v1alpha1.ReasonAdvisory) || !strings.Contains(following.Message, tt.message) {
					t.Errorf("got %+v, want %q", following, tt.message)
				}
				if ready.Status != metav1.ConditionFalse || ready.Reason != string(v1alpha1.ReasonAdvisory) {
					t.Errorf("got %+v", ready)
				}
				for _, n := range notices(was, is, v) {
					if n.reason != eventAdvised {
						t.Errorf("event %+v", n)
					}
				}
			}
		})
	}
}
