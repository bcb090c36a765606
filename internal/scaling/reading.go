package scaling

import (
	"fmt"
	"math"
)

// Freshness says how far a Reading may be trusted. Its zero value is Absent.
type Freshness uint8

// The states of a Reading, from nothing to certain.
const (
	// Absent means that a value was expected and there is none.
	Absent Freshness = iota
	// NotApplicable means that this cluster has no source for the value, so
	// nobody waits for it.
	NotApplicable
	// Stale means that the value is older than anything that may be acted on.
	Stale
	// Aging means that the value may justify growth and never a reduction.
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

// Measured returns a Reading of v in the given state. A number that no
// quantity of this package can take (NaN, infinite, negative) is Absent: the
// guard stands here once, where values enter.
func Measured(v float64, state Freshness) Reading {
	if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
		return Reading{}
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
