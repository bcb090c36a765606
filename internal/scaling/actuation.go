package scaling

import (
	"cmp"
	"slices"
)

// Actuation says how the decision on a variant is carried out, as its object asks. The zero value
// asks for nothing and stands for ActuationMetrics.
type Actuation string

// The values of an Actuation.
const (
	// ActuationMetrics: a scaler reads the published decision. This process sets no replicas.
	ActuationMetrics Actuation = "metrics"
	// ActuationZero: the same, except that this process scales from and to zero.
	ActuationZero Actuation = "zero"
	// ActuationScale: this process alone sets the replicas.
	ActuationScale Actuation = "scale"
	// ActuationAdvisory: the decision is advice and is not carried out; another scaler goes on. It
	// makes every variant of the model advisory; see Variant.Advisory.
	ActuationAdvisory Actuation = "advisory"
)

// ActuationOf returns the Actuation that the value of an annotation names. "" is valid and asks for
// nothing; an unknown value returns "" and false.
func ActuationOf(value string) (a Actuation, valid bool) {
	switch a := Actuation(value); a {
	case ActuationMetrics, ActuationZero, ActuationScale, ActuationAdvisory:
		return a, true
	default:
		return "", value == ""
	}
}

// InForce returns how the decision is carried out beside the other scalers of the target. Two that
// set replicas would undo each other's work, so ActuationScale beside another scaler becomes
// ActuationMetrics.
func (s Scalers) InForce() Actuation {
	if s.Own == ActuationScale && s.Known && len(s.List) > 0 {
		return ActuationMetrics
	}
	return cmp.Or(s.Own, ActuationMetrics)
}

// Turn says who sets the target to the replicas decided on. The zero value: there is nothing to do.
type Turn string

// The values of a Turn.
const (
	TurnNone Turn = ""
	// TurnOwn: this process sets the replicas.
	TurnOwn Turn = "own"
	// TurnScaler: another scaler does, if there is one.
	TurnScaler Turn = "scaler"
	// TurnUnknown: the other scalers are unknown, so this process sets nothing, although it may
	// have to.
	TurnUnknown Turn = "unknown"
)

// Turn returns who changes a target from current to desired replicas. With TurnOwn it also returns
// the replicas to set, at most the least maximum of the other scalers.
//
//	in force   the change             turn
//	any        no change              none
//	metrics    any                    scaler
//	zero       neither from nor to 0  scaler
//	           from or to 0           scaler, if it does that by itself; else own
//	scale      any                    own
//	advisory   any                    none
//
// While the other scalers are unknown, this process only starts a target that is at zero, because
// no scaler can reduce that one further; else own becomes unknown.
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

// crossesZero reports whether a scaler takes the target from current replicas to zero or back by
// itself. A ScaledObject with a minimum leaves zero at once; one without goes to zero and comes
// back by its trigger. A HorizontalPodAutoscaler does so where its minimum is zero, which the
// cluster allows or not (HPAZero). But it comes back only if it went to zero itself, and its status
// says so (kubernetes.io/enhancements KEP-2021).
func (s Scaler) crossesZero(current Replicas) bool {
	if s.Kind == KindScaledObject {
		return true
	}
	return s.Bounds.Min == 0 && (current > 0 || !s.AtZero)
}

// AtZeroBy returns the scaler that takes the target to zero and back by itself, and false for none.
func (s Scalers) AtZeroBy() (Scaler, bool) {
	for _, o := range s.List {
		if o.crossesZero(1) {
			return o, true
		}
	}
	return Scaler{}, false
}
