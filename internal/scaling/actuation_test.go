package scaling

import (
	"fmt"
	"testing"
)

func TestTurnIsOfOneAlone(t *testing.T) {
	hpa := func(least, most Replicas) Scaler {
		return Scaler{Kind: KindHPA, Name: "h", Bounds: Bounds{Min: least, Max: most}}
	}
	disabled := hpa(0, 5)
	disabled.AtZero = true
	keda := Scaler{Kind: KindScaledObject, Name: "k", Bounds: Bounds{Max: 100}}
	by := func(own Actuation, list ...Scaler) Scalers { return Scalers{Own: own, Known: true, List: list} }
	unknown := func(own Actuation) Scalers { return Scalers{Own: own, Fault: "forbidden"} }
	tests := map[string]struct {
		by               Scalers
		current, desired Replicas
		turn             Turn
		replicas         Replicas
	}{
		"as decided":                   {by(ActuationScale), 2, 2, TurnNone, 2},
		"nothing is asked for":         {by(""), 0, 1, TurnScaler, 0},
		"metrics":                      {by(ActuationMetrics, hpa(1, 5)), 1, 2, TurnScaler, 1},
		"metrics, at zero":             {by(ActuationMetrics, hpa(1, 5)), 0, 1, TurnScaler, 0},
		"zero, up":                     {by(ActuationZero, hpa(1, 5)), 1, 2, TurnScaler, 1},
		"zero, down":                   {by(ActuationZero, hpa(1, 5)), 2, 1, TurnScaler, 2},
		"zero, up, no scaler":          {by(ActuationZero), 1, 2, TurnScaler, 1},
		"zero, from zero":              {by(ActuationZero, hpa(1, 5)), 0, 1, TurnOwn, 1},
		"zero, from zero by a backlog": {by(ActuationZero, hpa(1, 5)), 0, 3, TurnOwn, 3},
		"zero, from zero to more than an HPA leaves": {by(ActuationZero, hpa(1, 5)), 0, 9, TurnOwn, 5},
		"zero, from zero, no scaler":                 {by(ActuationZero), 0, 1, TurnOwn, 1},
		"zero, to zero":                              {by(ActuationZero, hpa(1, 5)), 1, 0, TurnOwn, 0},
		"zero, from several to zero":                 {by(ActuationZero, hpa(1, 5)), 3, 0, TurnOwn, 0},
		"zero, the HPA goes to zero":                 {by(ActuationZero, hpa(0, 5)), 1, 0, TurnScaler, 1},
		"zero, the HPA went there and comes back":    {by(ActuationZero, hpa(0, 5)), 0, 1, TurnScaler, 0},
		"zero, the HPA could and was switched off":   {by(ActuationZero, disabled), 0, 1, TurnOwn, 1},
		"zero, from zero, KEDA":                      {by(ActuationZero, keda), 0, 1, TurnScaler, 0},
		"zero, to zero, KEDA":                        {by(ActuationZero, keda), 1, 0, TurnScaler, 1},
		"zero, from zero, others not known":          {unknown(ActuationZero), 0, 2, TurnOwn, 2},
		"zero, to zero, others not known":            {unknown(ActuationZero), 2, 0, TurnUnknown, 2},
		"zero, up, others not known":                 {unknown(ActuationZero), 1, 2, TurnScaler, 1},
		"scale, up":                                  {by(ActuationScale), 1, 4, TurnOwn, 4},
		"scale, down":                                {by(ActuationScale), 4, 1, TurnOwn, 1},
		"scale, to zero":                             {by(ActuationScale), 4, 0, TurnOwn, 0},
		"scale, beside an HPA":                       {by(ActuationScale, hpa(1, 5)), 1, 2, TurnScaler, 1},
		"scale, beside an HPA at zero":               {by(ActuationScale, hpa(1, 5)), 0, 1, TurnScaler, 0},
		"advisory, up":                               {by(ActuationAdvisory, hpa(1, 5)), 1, 3, TurnNone, 1},
		"advisory, from zero, no scaler":             {by(ActuationAdvisory), 0, 1, TurnNone, 0},
		"advisory, to zero, others not known":        {unknown(ActuationAdvisory), 2, 0, TurnNone, 2},
		"scale, others not known":                    {unknown(ActuationScale), 1, 2, TurnUnknown, 1},
		"scale, from zero, others not known":         {unknown(ActuationScale), 0, 2, TurnOwn, 2},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if turn, n := tt.by.Turn(tt.current, tt.desired); turn != tt.turn || n != tt.replicas {
				t.Errorf("got %q, %d replicas; want %q, %d", turn, n, tt.turn, tt.replicas)
			}
		})
	}
}

// TestTurnNeverGoesWhereItIsNotAsked tests every combination of small numbers.
func TestTurnNeverGoesWhereItIsNotAsked(t *testing.T) {
	var worlds []Scalers
	for _, own := range []Actuation{"", ActuationMetrics, ActuationZero, ActuationScale} {
		worlds = append(worlds, Scalers{Own: own}, Scalers{Own: own, Known: true})
		for _, kind := range []string{KindHPA, KindScaledObject} {
			for least := range 2 {
				for _, atZero := range []bool{false, true} {
					worlds = append(worlds, Scalers{Own: own, Known: true, List: []Scaler{{Kind: kind, Bounds: Bounds{Min: Replicas(least), Max: 3}, AtZero: atZero}}})
				}
			}
		}
	}
	owned := 0
	for _, by := range worlds {
		for current := range Replicas(6) {
			for desired := range Replicas(6) {
				turn, n := by.Turn(current, desired)
				what := fmt.Sprintf("%+v from %d to %d: %s, %d replicas", by, current, desired, turn, n)
				if (turn == TurnNone) != (current == desired) {
					t.Errorf("%s: a turn without a difference, or none with one", what)
				}
				if turn != TurnOwn {
					if n != current {
						t.Errorf("%s: a number that is not to be set", what)
					}
					continue
				}
				owned++
				switch mode := by.InForce(); {
				case mode == ActuationMetrics:
					t.Errorf("%s: set although no setting says so", what)
				case mode == ActuationZero && current > 0 && desired > 0:
					t.Errorf("%s: neither from nor to zero", what)
				case mode == ActuationScale && len(by.List) > 0:
					t.Errorf("%s: beside another", what)
				case !by.Known && (current > 0 || desired == 0):
					t.Errorf("%s: taken away while others are not known", what)
				}
				if (n == 0) != (desired == 0) || n > desired || len(by.List) > 0 && n > by.List[0].Bounds.Max {
					t.Errorf("%s: not what was decided on", what)
				}
			}
		}
	}
	if owned == 0 {
		t.Error("nothing was ever set")
	}
}

func TestAnAnnotationMeansOneOfThree(t *testing.T) {
	for value, want := range map[string]struct {
		asks  Actuation
		valid bool
	}{
		"":        {"", true},
		"metrics": {ActuationMetrics, true},
		"zero":    {ActuationZero, true},
		"scale":   {ActuationScale, true},
		"Zero":    {"", false},
		"true":    {"", false},
	} {
		if asks, valid := ActuationOf(value); asks != want.asks || valid != want.valid {
			t.Errorf("%q: got %q, %t; want %q, %t", value, asks, valid, want.asks, want.valid)
		}
	}
}
