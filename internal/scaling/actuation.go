package scaling

import (
	"cmp"
	"slices"
)

// Actuation is how the decision on a variant is carried out, as its object asks.
// The zero value asks for nothing, which is ActuationMetrics.
type Actuation string

// The ways.
const (
	// ActuationMetrics: by the scaler that reads the published decision. This process sets no
	// replicas.
	ActuationMetrics Actuation = "metrics"
	// ActuationZero: the same, but from and to zero by this process.
	ActuationZero Actuation = "zero"
	// ActuationScale: by this process alone.
	ActuationScale Actuation = "scale"
	// ActuationAdvisory: not at all. The decision is advice, and another scaler goes on. See
	// Variant.Advisory, which every variant of the model has then.
	ActuationAdvisory Actuation = "advisory"
)

// ActuationOf returns what the value of an annotation asks for: nothing by "", and
// nothing and false by a value that has no meaning.
func ActuationOf(value string) (a Actuation, valid bool) {
	switch a := Actuation(value); a {
	case ActuationMetrics, ActuationZero, ActuationScale, ActuationAdvisory:
		return a, true
	default:
		return "", value == ""
	}
}

// InForce returns how a decision is carried out, given who else sets the replicas
// of the target: two that both set them undo each other's work, so what asks for
// ActuationScale beside another has ActuationMetrics.
func (s Scalers) InForce() Actuation {
	if s.Own == ActuationScale && s.Known && len(s.List) > 0 {
		return ActuationMetrics
	}
	return cmp.Or(s.Own, ActuationMetrics)
}

// Turn says whose turn it is to bring a target to the replicas decided on. The
// zero value is that there is nothing to do.
type Turn string

// The turns.
const (
	TurnNone Turn = ""
	// TurnOwn: this process sets the replicas.
	TurnOwn Turn = "own"
	// TurnScaler: another does, if there is one.
	TurnScaler Turn = "scaler"
	// TurnUnknown: it may be this process's, but who else sets the replicas is not
	// known, so nothing is set.
	TurnUnknown Turn = "unknown"
)

// Turn returns whose turn it is while a target asks for current replicas and
// desired are decided on, and with TurnOwn the replicas to set.
//
//	in force   the change             turn
//	metrics    any                    scaler
//	zero       neither from nor to 0  scaler
//	           from or to 0           scaler, if that does it by itself; else own
//	scale      any                    own
//	advisory   any                    none
//
// Of what is not known, only the first replicas are started: nothing that may
// scale the target goes further down from zero. They are never more than another
// scaler would leave.
func (s Scalers) Turn(current, desired Replicas) (turn Turn, replicas Replicas) {
	mode := s.InForce()
	starts, ends := current == 0 && desired > 0, current > 0 && desired == 0
	switch {
	case current == desired, mode == ActuationAdvisory:
		return TurnNone, current
	case mode == ActuationMetrics, mode == ActuationZero && !starts && !ends:
		return TurnScaler, current
	case !s.Known && !starts:
		return TurnUnknown, current
	case slices.ContainsFunc(s.List, func(o Scaler) bool { return o.crossesZero(current) }):
		return TurnScaler, current
	}
	for _, o := range s.List {
		desired = min(desired, o.Bounds.Max)
	}
	return TurnOwn, desired
}

// crossesZero reports whether a scaler itself takes the target from current
// replicas to zero or back. A ScaledObject with a minimum takes it back at once
// whenever it is at zero, one without goes there and comes back by its trigger. A
// HorizontalPodAutoscaler does so where its minimum is zero, which HPAZero says the
// cluster takes or not; but it comes back only from where it went itself, and says so
// (kubernetes.io/enhancements KEP-2021).
func (s Scaler) crossesZero(current Replicas) bool {
	if s.Kind == KindScaledObject {
		return true
	}
	return s.Bounds.Min == 0 && (current > 0 || !s.AtZero)
}

// AtZeroBy returns the scaler that takes the target to zero and back by itself, and
// false where none does.
func (s Scalers) AtZeroBy() (Scaler, bool) {
	for _, o := range s.List {
		if o.crossesZero(1) {
			return o, true
		}
	}
	return Scaler{}, false
}
