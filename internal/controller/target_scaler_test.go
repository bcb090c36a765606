package controller

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// asking returns the scalers of a target for whose variant an object asks for actuation a.
func asking(a scaling.Actuation, list ...scaling.Scaler) scaling.Scalers {
	return scaling.Scalers{Own: a, Known: true, List: list}
}

func TestOrderNamesWhyTheManagerDoesNotSetTheReplicas(t *testing.T) {
	const minute = time.Minute
	done, none := scaleOutcome{acted: true}, scaleOutcome{}
	refused := scaleOutcome{acted: true, trouble: scaling.Trouble{Reason: "Forbidden", Message: "bind the role"}}
	rewritten := scaleOutcome{acted: true, trouble: scaling.Trouble{Reason: "TargetNotMoving", Message: "each after a pause"}}
	blind := scaling.Scalers{Own: scaling.ActuationScale, Fault: "listing: forbidden"}
	atZero := hpa(func(s *scaling.Scaler) { s.AtZero = true })
	undone := explain.ManagerUndone(scaling.TargetRef{Kind: "Deployment", Name: "d"})
	tests := map[string]struct {
		o       order
		want    scaling.Reason
		message string // part of it
	}{
		"it does":                                  {order{desired: 2, current: 1, waited: minute, scalers: asking("scale"), scaled: done}, "", "The manager sets them"},
		"it has":                                   {order{desired: 2, current: 2, scalers: asking("scale"), scaled: done}, "", "The manager sets them"},
		"it may not, at once":                      {order{desired: 2, current: 1, scalers: asking("scale"), scaled: refused}, notMoving, "each cycle tries again: Forbidden: bind the role"},
		"it may not, and there it is":              {order{desired: 2, current: 2, scalers: asking("scale"), scaled: refused}, "", ""},
		"it could not before, and has not tried":   {order{desired: 2, current: 1, scalers: asking("scale"), scaled: none, last: report{reason: notMoving, message: "refused"}}, notMoving, "refused"},
		"it could not before, and did now":         {order{desired: 2, current: 1, scalers: asking("scale"), scaled: done, last: report{reason: notMoving, message: "refused"}, overdue: notMoving}, notMoving, "refused"},
		"it could not before, and goes on":         {order{desired: 2, current: 1, scalers: asking("scale"), scaled: done, last: report{reason: notMoving, message: "refused"}}, "", "on its way"},
		"it does, and another client undoes it":    {order{desired: 2, current: 1, waited: minute, scalers: asking("scale"), scaled: done, overdue: notMoving}, notMoving, "do not stay so"},
		"still":                                    {order{desired: 2, current: 1, scalers: asking("scale"), scaled: done, overdue: notMoving, last: report{reason: notMoving, message: undone}}, notMoving, "do not stay so"},
		"another client keeps undoing it":          {order{desired: 2, current: 1, scalers: asking("scale"), scaled: rewritten}, notMoving, undone + "; each after a pause"},
		"another kept undoing it, and still does":  {order{desired: 2, current: 1, scalers: asking("scale"), scaled: done, overdue: notMoving, last: report{reason: notMoving, message: undone + "; each after a pause"}}, notMoving, undone},
		"it does, and no node takes the pods":      {order{desired: 3, current: 2, scalers: asking("scale"), scaled: done, overdue: scaling.ReasonPodsUnschedulable}, scaling.ReasonPodsUnschedulable, ""},
		"it is paused":                             {order{desired: 2, current: 1, scalers: asking("scale"), scaled: done, paused: true}, notMoving, "Paused"},
		"others are not known, at once":            {order{desired: 2, current: 1, scalers: blind, scaled: done}, "", ""},
		"others are not known":                     {order{desired: 2, current: 1, waited: minute, scalers: blind, scaled: done}, notMoving, "leaves its replicas as they are: listing: forbidden"},
		"others are not known, at zero":            {order{desired: 1, current: 0, waited: minute, scalers: blind, scaled: done}, "", ""},
		"from zero, while an HPA stands still":     {order{desired: 1, current: 0, waited: minute, scalers: asking("zero", atZero), scaled: done}, "", "From and to zero"},
		"from zero, refused":                       {order{desired: 1, current: 0, scalers: asking("zero", atZero), scaled: refused}, notMoving, "bind the role"},
		"to zero, below the minimum of an HPA":     {order{desired: 0, current: 1, waited: minute, scalers: asking("zero", hpa()), scaled: done}, "", "From and to zero"},
		"to zero, by the HPA alone":                {order{desired: 0, current: 1, waited: minute, scalers: asking("metrics", hpa())}, limited, `to "zero"`},
		"not from nor to zero, no scaler":          {order{desired: 2, current: 1, waited: minute, scalers: asking("zero"), scaled: done}, noScaler, `to "scale"`},
		"not from nor to zero, by a limited HPA":   {order{desired: 200, current: 100, waited: minute, scalers: asking("zero", hpa()), scaled: refused}, limited, ""},
		"beside an HPA that does not read it":      {order{desired: 2, current: 1, waited: minute, scalers: asking("scale", hpa(func(s *scaling.Scaler) { s.Misread = "why" })), scaled: done}, notReading, ""},
		"paused, and the HPA carries out the rest": {order{desired: 2, current: 1, scalers: asking("zero", hpa()), scaled: done, paused: true}, "", "on its way"},
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

func TestAnAnnotationThatIsNotInForceIsNamed(t *testing.T) {
	annotated := func(value string) *v1alpha1.VariantAutoscaling {
		return object(func(va *v1alpha1.VariantAutoscaling) {
			va.Annotations = map[string]string{v1alpha1.AnnotationActuation: value}
		})
	}
	accepted := stated{condition(v1alpha1.ConditionConfigurationValid, metav1.ConditionTrue, v1alpha1.ReasonConfigurationAccepted, "all"), "the fact before"}
	missing := stated{condition(v1alpha1.ConditionConfigurationValid, metav1.ConditionFalse, v1alpha1.ReasonProfileMissing, "profile"), "the fact before"}
	invalid := stated{condition(v1alpha1.ConditionConfigurationValid, metav1.ConditionFalse, v1alpha1.ReasonInvalidConfiguration, "cost"), "the fact before"}
	const meaningless = `annotation wva.llmd.ai/actuation: "yes" is not accepted: want "metrics", "zero", "scale" or "advisory"; in force: "metrics"`
	twoHands := explain.TwoScalers(hpa())
	tests := map[string]struct {
		given   stated
		va      *v1alpha1.VariantAutoscaling
		by      scaling.Scalers
		reason  v1alpha1.ConditionReason
		message string
	}{
		"none":                        {accepted, object(), asking("", hpa()), v1alpha1.ReasonConfigurationAccepted, "all"},
		"zero beside an HPA":          {accepted, annotated("zero"), asking("zero", hpa()), v1alpha1.ReasonConfigurationAccepted, "all"},
		"scale alone":                 {accepted, annotated("scale"), asking("scale"), v1alpha1.ReasonConfigurationAccepted, "all"},
		"scale beside an HPA":         {accepted, annotated("scale"), asking("scale", hpa()), v1alpha1.ReasonInvalidConfiguration, twoHands},
		"meaningless":                 {accepted, annotated("yes"), asking(""), v1alpha1.ReasonInvalidConfiguration, meaningless},
		"meaningless, and no profile": {missing, annotated("yes"), asking(""), v1alpha1.ReasonInvalidConfiguration, meaningless},
		"meaningless, and a bad cost": {invalid, annotated("yes"), asking(""), v1alpha1.ReasonInvalidConfiguration, meaningless + "; cost"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := withActuation(tt.given, tt.va, tt.by)
			if got.Type != string(v1alpha1.ConditionConfigurationValid) || got.Reason != string(tt.reason) || got.Message != tt.message {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// TestReplicasThatCannotBeSetAreToldOnce follows one order through refusals, a restart, and the
// grant of the permission.
func TestReplicasThatCannotBeSetAreToldOnce(t *testing.T) {
	f := newFixture()
	f.objects.objects[client.ObjectKey{Namespace: "n", Name: "v"}].Annotations = map[string]string{v1alpha1.AnnotationActuation: "scale"}
	f.scalers = &fixedScalers{all: asking("scale")}
	var got []string
	look := func() {
		f.reconcile(t)
		c := f.objects.objects[client.ObjectKey{Namespace: "n", Name: "v"}].Status.Conditions
		for i := range c {
			if c[i].Type == string(v1alpha1.ConditionScalerFollowing) {
				got = append(got, string(c[i].Status)+" "+c[i].Reason)
			}
		}
	}
	f.cycle(10, 1, 2, scaling.ReasonSaturated)
	look() // recorded, not carried out yet
	f.hand.scaleOutcome = scaleOutcome{acted: true, trouble: scaling.Trouble{Reason: "Forbidden", Message: "bind the role"}}
	look()
	f.cycle(20, 1, 2, scaling.ReasonInTransition)
	look()
	f.hand.scaleOutcome = scaleOutcome{} // a new process
	look()
	f.hand.scaleOutcome = scaleOutcome{acted: true}
	look()
	f.cycle(30, 2, 2, scaling.ReasonSteady)
	look()
	want := []string{"True Following", "False TargetNotMoving", "False TargetNotMoving", "False TargetNotMoving", "False TargetNotMoving", "True Following"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
	told := slices.DeleteFunc(f.events.told, func(e string) bool { return !strings.HasPrefix(e, "Warning NotFollowed") })
	if len(told) != 1 || !strings.Contains(told[0], "each cycle tries again: Forbidden: bind the role") {
		t.Errorf("told %q, want the refusal once", told)
	}
}

// TestANewProcessRepeatsWhatItCannotKnowYet: until a new process has read the scalers, it writes no
// status and sends no event because of what it does not know.
func TestANewProcessRepeatsWhatItCannotKnowYet(t *testing.T) {
	zeroing := hpa(func(s *scaling.Scaler) { s.Bounds.Min = 0 })
	for asks, list := range map[scaling.Actuation][]scaling.Scaler{"scale": {hpa()}, "zero": {zeroing}, "metrics": {hpa()}} {
		t.Run(string(asks), func(t *testing.T) {
			f := newFixture()
			f.objects.objects[client.ObjectKey{Namespace: "n", Name: "v"}].Annotations = map[string]string{v1alpha1.AnnotationActuation: string(asks)}
			f.hand.acted = true
			f.scalers = &fixedScalers{all: asking(asks, list...)}
			f.cycle(10, 2, 2, scaling.ReasonSteady)
			f.reconcile(t)
			told := len(f.events.told)
			f.hand.acted = false
			f.scalers = &fixedScalers{all: scaling.Scalers{Own: asks, Fault: "not listed yet"}}
			f.cycle(20, 2, 2, scaling.ReasonSteady)
			f.reconcile(t)
			if f.objects.writes != 1 || len(f.events.told) != told {
				t.Errorf("%d writes, told %q", f.objects.writes, f.events.told)
			}
		})
	}
}

func TestPodsThatEndSoonerThanRequestsAreToldOnce(t *testing.T) {
	known := func(v float64) scaling.Reading { return scaling.Measured(v, scaling.Fresh) }
	// 1 s to the first token and on average 500 tokens of 20 ms: 1 + 10 x ln 100 = 47 s.
	load := scaling.Load{TTFT: known(1000), ITL: known(20), OutputTokens: known(500)}
	tests := map[string]struct {
		asks  scaling.Actuation
		load  scaling.Load
		grace time.Duration
		want  int
	}{
		"shorter":                      {"zero", load, 30 * time.Second, 1},
		"long enough":                  {"zero", load, time.Minute, 0},
		"not known":                    {"zero", load, 0, 0},
		"the manager removes nothing":  {"metrics", load, 30 * time.Second, 0},
		"nothing was measured of late": {"zero", scaling.Load{TTFT: known(1000)}, 30 * time.Second, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture()
			f.scalers = &fixedScalers{all: asking(tt.asks, hpa()), grace: tt.grace}
			e := explanation(func(e *explain.Explanation) { e.Snapshot.Load = tt.load })
			v := seen(e)
			v.scalers = f.scalers.Scalers(keyV)
			for range 3 {
				f.tellGrace(object(), v)
			}
			if len(f.events.told) != tt.want {
				t.Fatalf("told %q, want %d", f.events.told, tt.want)
			}
			if tt.want > 0 && !strings.Contains(f.events.told[0], "terminationGracePeriodSeconds 30, and 1 of 100 requests takes longer than about 47 s") {
				t.Errorf("told %q", f.events.told[0])
			}
		})
	}
}

func TestResponseTimeUsesTheTailOfTTFTWhereThereIsOne(t *testing.T) {
	known := func(v float64) scaling.Reading { return scaling.Measured(v, scaling.Fresh) }
	load := scaling.Load{TTFT: known(100), ITL: known(10), OutputTokens: known(100)}
	tokens := 1000 * math.Log(100)
	if got, want := responseTime(load).Seconds(), (100+tokens)/1000; math.Abs(got-want) > 1e-6 {
		t.Errorf("by the mean: got %g s, want %g", got, want)
	}
	load.TTFTBuckets = scaling.Histogram{State: scaling.Fresh, Total: 100, Buckets: []scaling.Bucket{{Bound: 100, Rate: 0}, {Bound: 1100, Rate: 100}}}
	if got, want := responseTime(load).Seconds(), (1090+tokens)/1000; math.Abs(got-want) > 1e-6 { // 0.99 of the way from 100 to 1100
		t.Errorf("by the tail: got %g s, want %g", got, want)
	}
}
