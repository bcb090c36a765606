package controller

import (
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// reach says which decisions an obstacle blocks.
type reach int

const (
	// anyDecision: the scaler carries out no number but the present one, so the obstacle is named
	// whether the target has to move or not.
	anyDecision reach = iota
	// thisDecision: the scaler does not carry out the last decision until a user changes an object.
	thisDecision
	// thisPerhaps: as thisDecision, but it may pass by itself, so it counts after scalerGrace
	// without progress.
	thisPerhaps
)

// obstacle is a row of the table of what may keep the one scaler of a target from acting.
type obstacle struct {
	reason  scaling.Reason
	reach   reach
	holds   func(o order, s scaling.Scaler) bool
	message func(o order, s scaling.Scaler) string
}

// obstacles are what may keep the one scaler of a target from acting. The first that holds is
// named.
//
// The spec of an object is certain. What its status reports may pass by itself, such as a metric
// that was not read once or twice, or an object that is new: it counts once it has lasted for
// scalerGrace.
var obstacles = []obstacle{
	{notReading, anyDecision, order.stoppedAtZero, says(explain.AtZero)},
	{halted, anyDecision, func(_ order, s scaling.Scaler) bool { return s.Paused }, says(explain.ScalerPaused)},
	{notReading, anyDecision, func(_ order, s scaling.Scaler) bool { return s.Misread != "" }, says(explain.NotReading)},
	{notReading, anyDecision, func(o order, s scaling.Scaler) bool { return o.lasts(s.Inactive, notReading) }, says(explain.NotReading)},
	{notReading, anyDecision, func(o order, s scaling.Scaler) bool { return o.lasts(s.Unread, notReading) }, says(explain.NotReading)},
	{limited, thisDecision, order.outOfBounds, order.beyondBounds},
	{limited, thisDecision, order.neverThere, order.disabled},
	{limited, anyDecision, order.confined, says(explain.Confined)},
	{tolerated, thisDecision, func(o order, s scaling.Scaler) bool { return o.explicit(s) && o.tolerates(s) }, order.tolerated},
	{tolerated, thisPerhaps, order.tolerates, order.tolerated},
	{notMoving, anyDecision, func(o order, s scaling.Scaler) bool { return o.lasts(s.Unable, notMoving) }, says(explain.Refused)},
	{notMoving, thisPerhaps, func(_ order, s scaling.Scaler) bool { return s.Unable.Reason != "" }, says(explain.Refused)},
}

// says returns a message function that ignores the order.
func says(message func(scaling.Scaler) string) func(order, scaling.Scaler) string {
	return func(_ order, s scaling.Scaler) string { return message(s) }
}

// obstacle returns what keeps the scaler of the target from carrying out the last decision
// (TurnScaler), or the next one (TurnNone); "" where no obstacle is known.
func (o order) obstacle() (reason scaling.Reason, message string) {
	all := o.scalers.List
	switch {
	case o.turn == scaling.TurnNone && !o.relies():
		return "", ""
	case len(all) == 0:
		return noScaler, explain.NoScaler(o.target)
	case len(all) > 1:
		return notReading, explain.Rivals(all)
	}
	for _, row := range obstacles {
		if o.counts(row) && row.holds(o, all[0]) {
			return row.reason, row.message(o, all[0])
		}
	}
	return "", ""
}

// counts reports whether an obstacle of this row may be named now.
func (o order) counts(row obstacle) bool {
	switch row.reach {
	case thisDecision:
		return o.turn == scaling.TurnScaler
	case thisPerhaps:
		return o.turn == scaling.TurnScaler && (o.waited >= scalerGrace || o.last.reason == row.reason)
	default:
		return true
	}
}

// relies reports whether another scaler than this process would carry out a decision for one
// replica more or less that the bounds of the variant allow. Where this process sets no replicas,
// another scaler must also undo changes by users.
func (o order) relies() bool {
	if o.scalers.InForce() == scaling.ActuationMetrics {
		return true
	}
	more, _ := o.scalers.Turn(o.current, o.current+1)
	less, _ := o.scalers.Turn(o.current, o.current-1)
	return o.mayGrow() && more == scaling.TurnScaler || o.mayShrink() && less == scaling.TurnScaler
}

// mayGrow and mayShrink report whether the bounds of the variant allow one replica more, or one
// less.
func (o order) mayGrow() bool   { return o.current < o.bounds.Max }
func (o order) mayShrink() bool { return o.current > o.bounds.Min }

// stoppedAtZero reports whether a scaler does not act because the target is at zero.
func (o order) stoppedAtZero(s scaling.Scaler) bool { return o.current == 0 && s.AtZero }

// outOfBounds reports whether the decision is beyond the bounds of a scaler.
func (o order) outOfBounds(s scaling.Scaler) bool { return s.Bounds.Clamp(o.desired) != o.desired }

func (o order) beyondBounds(s scaling.Scaler) string {
	return explain.BeyondBounds(s, o.desired, o.scalers.Zero)
}

// neverThere reports whether a scaler disables the direction of the decision.
func (o order) neverThere(s scaling.Scaler) bool {
	_, rules := o.direction(s)
	return rules.Disabled
}

// keptFromZero returns the HPA that keeps the target from zero although the model may go to zero;
// false where none does. Few HPAs are meant to go to zero, so this is an obstacle only once the
// decision is 0.
func (o order) keptFromZero() (scaling.Scaler, bool) {
	if !o.zero || o.bounds.Min > 0 || o.scalers.InForce() != scaling.ActuationMetrics || len(o.scalers.List) != 1 {
		return scaling.Scaler{}, false
	}
	s := o.scalers.List[0]
	return s, s.Kind == scaling.KindHPA && s.Bounds.Min > 0
}

func (o order) disabled(s scaling.Scaler) string {
	direction, _ := o.direction(s)
	return explain.Disabled(s, direction)
}

// confined reports whether a scaler keeps the target at its present replicas although the variant
// may have others. An HPA that only does not go to zero does not count: few are meant to.
func (o order) confined(s scaling.Scaler) bool {
	grows := !s.Up.Disabled && o.mayGrow() && o.current < s.Bounds.Max
	shrinks := !s.Down.Disabled && o.mayShrink() && o.current > s.Bounds.Min
	zero, _ := o.scalers.Turn(o.current, 0)
	ends := o.current > 0 && o.bounds.Min == 0 && zero == scaling.TurnOwn
	return !grows && !shrinks && !ends && (o.mayGrow() || o.mayShrink() && o.current > 1)
}

// explicit reports whether the scaler itself sets its tolerance. The tolerance of the cluster is
// only assumed.
func (o order) explicit(s scaling.Scaler) bool {
	_, rules := o.direction(s)
	return rules.Explicit
}

// tolerates reports whether the decision is within the tolerance of a scaler, so that it does not
// act.
func (o order) tolerates(s scaling.Scaler) bool {
	_, rules := o.direction(s)
	return scaling.Tolerates(rules.Tolerance, o.desired, o.current)
}

func (o order) tolerated(s scaling.Scaler) string {
	direction, rules := o.direction(s)
	return explain.Tolerated(s, direction, rules)
}
