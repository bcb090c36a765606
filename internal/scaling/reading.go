package scaling

import "fmt"

// Freshness says how far a Reading may be trusted. Its zero value is Absent.
type Freshness uint8

// The states of a Reading, from nothing to certain.
const (
	// Absent means that a value was expected and is missing.
	Absent Freshness = iota
	// NotApplicable means that this cluster has no source for the value, so
	// no decision waits for it.
	NotApplicable
	// Stale means that the value is too old to act on.
	Stale
	// Aging means that the value may justify growth but never a reduction.
	Aging
	// Fresh means that the value is current.
	Fresh
)

// String returns the state's name in lower case.
func (f Freshness) String() string {
	switch f {
	case NotApplicable:
		return "not applicable"
	case Stale:
		return "stale"
	case Aging:
		return "aging"
	case Fresh:
		return "fresh"
	default:
		return "absent"
	}
}

// Reading is one measured number or its absence. The zero value is Absent,
// which is not 0. The unit is that of the field that holds the Reading.
type Reading struct {
	Value float64   `json:"value"`
	State Freshness `json:"state"`
}

// Largest is more than any quantity of this package, in its own unit: requests, tokens, tokens of a
// KV cache, a rate per second; as milliseconds it is 31 years. Smallest is less than any quantity
// but 0. Between the two, sums, products and quotients over a fleet stay far from the limits of
// float64.
const (
	Largest  = 1e12
	Smallest = 1e-12
)

// Measured returns a Reading of v in the given state; values below Smallest become 0. A number that
// no quantity can take (NaN, negative, above Largest) is Absent. Values enter only here, so no
// other code checks this.
func Measured(v float64, state Freshness) Reading {
	switch {
	case !(v >= 0 && v <= Largest):
		return Reading{}
	case v < Smallest:
		v = 0
	}
	return Reading{Value: v, State: state}
}

// Known reports whether the value may be used at all: it is Fresh or Aging.
func (r Reading) Known() bool { return r.State >= Aging }

// Or returns the value when it is known, else otherwise.
func (r Reading) Or(otherwise float64) float64 {
	if r.Known() {
		return r.Value
	}
	return otherwise
}

// String returns the value to three significant digits, or the state.
func (r Reading) String() string {
	switch r.State {
	case Fresh:
		return fmt.Sprintf("%.3g", r.Value)
	case Aging:
		return fmt.Sprintf("%.3g (aging)", r.Value)
	default:
		return r.State.String()
	}
}
