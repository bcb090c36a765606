package analyzer

import (
	"fmt"
	"math"
)

// InputError reports an input out of range. Nothing was computed from it.
type InputError struct {
	Field string // the field or argument, in the caller's spelling: "Config.MaxBatch"
	Value any    // the value found, unchanged
	Want  string // the accepted values with their unit: "at least 1 request"
}

// Error returns a message with the field, the value and what is accepted.
func (e *InputError) Error() string {
	return fmt.Sprintf("analyzer: %s is %v, want %s", e.Field, e.Value, e.Want)
}

// TargetError reports that no rate of the range meets a target. Best is the best value that the
// replica achieves at any rate, for TPS while it meets the other targets.
type TargetError struct {
	Target string  // "TTFT", "ITL" or "TPS"
	Unit   string  // of Wanted and Best: "ms" or "tokens/s"
	Wanted float64 // the target
	Best   float64 // the best achievable: the least latency, or the greatest throughput
	// Percentile is the percentile of the target, in (0, 1); 0 for a mean and for TPS.
	Percentile float64
	// Search says how the search for the rate ended.
	Search Search
}

// Error returns a message with the target and the best achievable value.
func (e *TargetError) Error() string {
	name := "mean " + e.Target
	switch {
	case e.Target == targetTPS:
		name = e.Target
	case e.Percentile > 0:
		name = fmt.Sprintf("%s at percentile %v", e.Target, e.Percentile)
	}
	return fmt.Sprintf("analyzer: %s of %v %s cannot be met, the best achievable is %v %s",
		name, e.Wanted, e.Unit, e.Best, e.Unit)
}

// Names of the targets in a TargetError.
const (
	targetTTFT = "TTFT"
	targetITL  = "ITL"
	targetTPS  = "TPS"
)

// finite reports whether v is a number other than the infinities.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// notNegative returns an error unless v is finite and at least 0.
func notNegative(field string, v float64) error {
	if !finite(v) || v < 0 {
		return &InputError{Field: field, Value: v, Want: "a finite number of at least 0"}
	}
	return nil
}

// positive returns an error unless v is 1e-150 to 1e150, so that products and quotients of two such
// values stay finite and above 0.
func positive(field string, v float64) error {
	const least, most = 1e-150, 1e150
	if !(v >= least && v <= most) {
		return &InputError{Field: field, Value: v, Want: fmt.Sprintf("%v to %v", least, most)}
	}
	return nil
}

// atLeast returns an error unless v reaches least.
func atLeast(field string, v, least int) error {
	if v < least {
		return &InputError{Field: field, Value: v, Want: fmt.Sprintf("at least %d", least)}
	}
	return nil
}

// notBuilt returns the error for the zero value of a type that needs its constructor.
func notBuilt(name, constructor string) error {
	return &InputError{Field: name, Value: "the zero value", Want: "a value made by " + constructor}
}
