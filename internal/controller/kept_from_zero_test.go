package controller

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// of36 and of37 return the scalers as in a cluster of Kubernetes 1.36 and of 1.37.
func of36(s scaling.Scalers) scaling.Scalers { return ofRelease(s, 36) }
func of37(s scaling.Scalers) scaling.Scalers { return ofRelease(s, 37) }

func ofRelease(s scaling.Scalers, minor int) scaling.Scalers {
	s.Zero = scaling.HPAZeroOf(scaling.Release{Major: 1, Minor: minor}, false)
	return s
}

func TestWhatIsMissingForZeroIsSaidBeforeTheDecisionIsZero(t *testing.T) {
	const (
		gate  = "Kubernetes 1.36 refuses 0 unless its feature gate HPAScaleToZero is on"
		least = "Set it to 0, or set the annotation"
		zero  = "keeps the target from zero"
	)
	within := func(least, most scaling.Replicas) func(*scaling.Scaler) {
		return func(s *scaling.Scaler) { s.Bounds = scaling.Bounds{Min: least, Max: most} }
	}
	keda := func(s *scaling.Scaler) { s.Kind = scaling.KindScaledObject }
	own := scaling.Unbounded()
	tests := map[string]struct {
		zero    bool // the model may go to zero
		bounds  scaling.Bounds
		scalers scaling.Scalers
		want    string // part of the message; "" for no word about zero
	}{
		"1.36":                                     {true, own, of36(by(hpa())), gate},
		"1.37":                                     {true, own, of37(by(hpa())), least},
		"a release that is not known":              {true, own, by(hpa()), `minReplicas is 1. Set the annotation`},
		"1.37, and the HPA goes to zero":           {true, own, of37(by(hpa(within(0, 5)))), ""},
		"the model may not go to zero":             {false, own, of36(by(hpa())), ""},
		"the variant may not":                      {true, scaling.Bounds{Min: 1, Max: 9}, of36(by(hpa())), ""},
		"the manager takes it there":               {true, own, of36(asking("zero", hpa())), ""},
		"the manager was to scale beside an HPA":   {true, own, of36(asking("scale", hpa())), gate},
		"a ScaledObject, whose minimum is its own": {true, own, of36(by(hpa(keda))), ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o := order{target: scaling.TargetRef{Kind: "Deployment", Name: "d"}, bounds: tt.bounds, zero: tt.zero, desired: 2, current: 2, scalers: tt.scalers}
			reason, message := o.follow()
			if reason != "" {
				t.Errorf("got reason %q, want none: the decision is followed", reason)
			}
			if tt.want == "" && strings.Contains(message, zero) || !strings.Contains(message, tt.want) {
				t.Errorf("got %q, want %q in it", message, tt.want)
			}
		})
	}
}

// TestWhatIsMissingForZeroIsSaidOfADecisionForZero: the reason why the target does not follow has
// the same words.
func TestWhatIsMissingForZeroIsSaidOfADecisionForZero(t *testing.T) {
	for want, scalers := range map[string]scaling.Scalers{
		"Kubernetes 1.36 refuses 0": of36(by(hpa())), "Set it to 0, or": of37(by(hpa())),
	} {
		o := order{target: scaling.TargetRef{Kind: "Deployment", Name: "d"}, bounds: scaling.Unbounded(), zero: true, desired: 0, current: 1, scalers: scalers}
		if reason, message := o.follow(); reason != limited || !strings.Contains(message, want) {
			t.Errorf("got %q %q, want %q, with %q", reason, message, limited, want)
		}
	}
}

func TestANewProcessRepeatsWhatWasMissingForZero(t *testing.T) {
	before := report{message: "as before", follows: true}
	for zero, want := range map[bool]string{true: "as before", false: "on its way"} {
		o := order{bounds: scaling.Unbounded(), zero: zero, desired: 2, current: 2, last: before}
		if _, message := o.follow(); !strings.Contains(message, want) {
			t.Errorf("got %q, want %q in it, where a model may go to zero: %t", message, want, zero)
		}
	}
}

func TestTheStatusSaysWhatIsMissingForZeroWhereTheModelMayGoThere(t *testing.T) {
	for _, enabled := range []bool{false, true} {
		f := newFixture()
		f.scalers, f.found.zero = &fixedScalers{all: of36(by(hpa()))}, enabled
		f.cycle(10, 2, 2, scaling.ReasonBelowMin)
		f.reconcile(t)
		c := meta.FindStatusCondition(f.objects.objects[requestV().NamespacedName].Status.Conditions, "ScalerFollowing")
		if got := strings.Contains(c.Message, "keeps the target from zero"); c.Reason != "Following" || got != enabled {
			t.Errorf("scale to zero enabled %t: got %s %q", enabled, c.Reason, c.Message)
		}
	}
}
