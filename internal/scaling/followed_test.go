package scaling

import (
	"strings"
	"testing"
)

func TestAnAnnotatedScalerThatDoesNotLearnItsDecisionCannotBeDecidedOn(t *testing.T) {
	misread := func(multiplies bool) Scalers {
		return Scalers{Known: true, List: []Scaler{{Kind: KindHPA, Name: "v", Misread: "it reads another metric", Multiplies: multiplies}}}
	}
	annotated := Variant{Key: VariantKey{Namespace: "ns", Name: "v"}, Origin: KindHPA}
	nameless := annotated
	nameless.Undecidable = "its model is not named"
	byObject := annotated
	byObject.Origin = ""
	for name, tt := range map[string]struct {
		v        Variant
		by       Scalers
		says     string
		withheld bool
	}{
		"it learns it":                                   {annotated, Scalers{List: []Scaler{{Kind: KindHPA, Name: "v"}}}, "", false},
		"it reads something else":                        {annotated, misread(false), "another metric", false},
		"it multiplies what it reads":                    {annotated, misread(true), "another metric", true},
		"it multiplies, and its model is not named":      {nameless, misread(true), "not named", true},
		"it learns it, and its model is not named":       {nameless, Scalers{}, "not named", false},
		"a VariantAutoscaling's HPA multiplies":          {byObject, misread(true), "", false},
		"another scaler of the target does not learn it": {annotated, Scalers{List: []Scaler{{Kind: KindHPA, Name: "w", Misread: "x"}}}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			got := tt.v.FollowedBy(tt.by)
			if !strings.Contains(got.Undecidable, tt.says) || (got.Undecidable == "") != (tt.says == "") || got.Withheld != tt.withheld {
				t.Errorf("held %q, withheld %t; want %q, %t", got.Undecidable, got.Withheld, tt.says, tt.withheld)
			}
			if got.Paused != (tt.says != "") {
				t.Errorf("paused: %t", got.Paused)
			}
		})
	}
}
