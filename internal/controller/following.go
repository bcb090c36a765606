package controller

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// scalerGrace is how long an obstacle that may pass must last before it is named: four syncs of an
// HPA (every 15 s), which leave time for a scrape and an adapter.
const scalerGrace = time.Minute

// The reasons of ScalerFollowing that the scaler of the target gives.
const (
	noScaler   = scaling.Reason(v1alpha1.ReasonNoScaler)
	notReading = scaling.Reason(v1alpha1.ReasonHPANotReadingMetric)
	limited    = scaling.Reason(v1alpha1.ReasonHPALimited)
	tolerated  = scaling.Reason(v1alpha1.ReasonHPATolerance)
	halted     = scaling.Reason(v1alpha1.ReasonScalerPaused)
	notMoving  = scaling.ReasonTargetNotMoving
)

// byScaler are the reasons that no step gives: they stay until the scalers are known again.
var byScaler = []scaling.Reason{noScaler, notReading, limited, tolerated, halted}

// order is a decision, with all that says whether and by which scaler it is carried out.
type order struct {
	target           scaling.TargetRef
	bounds           scaling.Bounds   // of the variant
	desired, current scaling.Replicas // replicas decided on, and set at the target
	waited           time.Duration    // without progress of the target
	overdue          scaling.Reason
	last             report
	scalers          scaling.Scalers
	turn             scaling.Turn // which scaler has to carry it out; follow sets it
	scaled           scaleOutcome
	paused           bool
	zero             bool            // the model may go to zero
	podFailure       scaling.Trouble // why pods of the target are not created
	now              time.Time
}

// report is the condition ScalerFollowing of a stored status. The zero value means none.
type report struct {
	reason  scaling.Reason // the obstacle, "" for none
	message string
	follows bool // it says that the decision is followed
	atRest  bool // the target had the replicas decided on
}

// reported returns the condition ScalerFollowing of a stored status.
func reported(was v1alpha1.VariantAutoscalingStatus) report {
	c := meta.FindStatusCondition(was.Conditions, string(v1alpha1.ConditionScalerFollowing))
	if c == nil || c.Status == metav1.ConditionUnknown {
		return report{}
	}
	out := report{message: c.Message, atRest: was.Actuation != nil && was.Actuation.Applied}
	if out.follows = c.Reason == string(v1alpha1.ReasonFollowing); !out.follows {
		out.reason = scaling.Reason(c.Reason)
	}
	return out
}

// scalerFollowing returns the condition that says whether the decision is carried out, and the next
// one would be, and why not otherwise.
func scalerFollowing(va *v1alpha1.VariantAutoscaling, v view) metav1.Condition {
	const kind = v1alpha1.ConditionScalerFollowing
	switch {
	case !v.Variant.Replicas.Observed:
		return condition(kind, metav1.ConditionUnknown, v1alpha1.ReasonTargetNotFound, explain.Unmeasured())
	case !v.Decided:
		return condition(kind, metav1.ConditionUnknown, v1alpha1.ReasonMetricsUnavailable, explain.Unmeasured())
	}
	if v.Variant.Advisory { // advice is not carried out: the rest does not apply
		return condition(kind, metav1.ConditionUnknown, v1alpha1.ReasonAdvisory, explain.Advisory(v.scalers))
	}
	reason, message := orderOf(va, v).follow()
	switch reason {
	case "":
		return condition(kind, metav1.ConditionTrue, v1alpha1.ReasonFollowing, message)
	case scaling.ReasonPodsNotReady: // the scaler did its part
		return condition(kind, metav1.ConditionTrue, v1alpha1.ReasonPodsNotReady, message)
	default:
		return condition(kind, metav1.ConditionFalse, v1alpha1.ConditionReason(reason), message)
	}
}

func orderOf(va *v1alpha1.VariantAutoscaling, v view) order {
	o := order{
		target: v.Variant.Target, bounds: v.Variant.Bounds, desired: v.Decision.Target(), current: v.Variant.Replicas.Current,
		overdue: overdue(va.Status, v.Explanation), last: reported(va.Status), scalers: v.scalers,
		scaled: v.scaled, paused: v.Variant.Paused, zero: v.mayZero, podFailure: v.podFailure, now: v.At,
	}
	if since := v.Past.ProgressAt; !since.IsZero() {
		o.waited = v.At.Sub(since)
	}
	return o
}

// followState is a row of the table of outcomes of a decision.
type followState struct {
	turns []scaling.Turn // the row applies when one of these has to carry it out
	holds func(o order) bool
	says  func(o order) (scaling.Reason, string) // no reason where the decision is followed, or may still be
}

// The turns for which a row applies.
var (
	whenOwn     = []scaling.Turn{scaling.TurnOwn}
	whenUnknown = []scaling.Turn{scaling.TurnUnknown}
	whenScaler  = []scaling.Turn{scaling.TurnScaler}
	whenNone    = []scaling.Turn{scaling.TurnNone}
	whenManager = slices.Concat(whenOwn, whenUnknown)
	whenOthers  = slices.Concat(whenScaler, whenNone)
	whenAnyone  = slices.Concat(whenManager, whenOthers)
)

// followStates are the outcomes of a decision: the first row that has the turn and holds gives the
// reason and the message. A reason that was named stays for as long as it holds, without another
// grace: neither a decision that changes nor a scaler that is unknown means that the decision is
// followed.
var followStates = []followState{
	{whenManager, func(o order) bool { return o.paused }, stuck(func(order) string { return explain.ManagerPaused() })},
	// A new process does not know the other scalers yet, or has not tried yet.
	{whenUnknown, func(o order) bool { return o.last.reason == notMoving }, order.asBefore},
	{whenOwn, func(o order) bool { return o.last.reason == notMoving && !o.scaled.acted }, order.asBefore},
	{whenUnknown, func(o order) bool { return o.waited >= scalerGrace }, stuck(func(o order) string { return explain.ManagerBlind(o.target, o.scalers) })},
	{whenOwn, func(o order) bool { return o.scaled.trouble.Reason == string(notMoving) }, stuck(func(o order) string {
		return explain.ManagerUndone(o.target) + "; " + o.scaled.trouble.Message
	})},
	{whenOwn, func(o order) bool { return o.scaled.trouble.Reason != "" }, stuck(func(o order) string {
		return explain.ManagerRefused(o.target, o.scaled.trouble)
	})},
	// Until the target is seen to have the replicas.
	{whenOwn, func(o order) bool { return o.overdue == notMoving && o.last.reason == notMoving }, order.asBefore},
	{whenOwn, func(o order) bool { return o.overdue == notMoving }, stuck(func(o order) string { return explain.ManagerUndone(o.target) })},

	{whenOthers, order.obstructed, order.obstacle},
	// A new process has not read the scalers yet.
	{whenScaler, order.namedByScaler, order.asBefore},
	{whenNone, func(o order) bool { return o.namedByScaler() && o.last.atRest }, order.asBefore},
	// The windows and policies of the scaler take time.
	{whenScaler, func(o order) bool { return o.overdue == notMoving && o.waited < o.allowance() }, order.followed},
	{whenScaler, func(o order) bool { return o.overdue == notMoving }, stuck(func(o order) string { return explain.NotMoving(o.scalers, o.desired) })},

	// The target has the replicas decided on, and cannot have the pods.
	{whenAnyone, order.imageless, func(o order) (scaling.Reason, string) {
		return scaling.ReasonPodsNotReady, explain.ImageNotPulled(o.target, o.podFailure)
	}},
	{whenAnyone, order.podless, stuck(func(o order) string { return explain.PodsRefused(o.target, o.podFailure) })},
	// No order is overdue, the target has the replicas decided on, or its scalers are not known
	// yet.
	{whenAnyone, func(o order) bool { return o.overdue == "" || o.overdue == notMoving }, order.followed},
	{whenAnyone, func(order) bool { return true }, func(o order) (scaling.Reason, string) { return o.overdue, explain.NotFollowing(o.overdue) }},
}

// stuck returns a row function that says that the target does not move, and why.
func stuck(why func(o order) string) func(order) (scaling.Reason, string) {
	return func(o order) (scaling.Reason, string) { return notMoving, why(o) }
}

// follow returns why the decision is not carried out, or the next one would not be; "" where it is,
// or may still be.
func (o order) follow() (reason scaling.Reason, message string) {
	o.turn, _ = o.scalers.Turn(o.current, o.desired)
	for _, s := range followStates {
		if slices.Contains(s.turns, o.turn) && s.holds(o) {
			return s.says(o)
		}
	}
	return "", "" // the last row is for every turn
}

func (o order) asBefore() (scaling.Reason, string) { return o.last.reason, o.last.message }
func (o order) followed() (scaling.Reason, string) { return "", o.onItsWay() }

// namedByScaler reports whether the last status names an obstacle of the scaler, and the scalers
// are unknown now.
func (o order) namedByScaler() bool {
	return !o.scalers.Known && slices.Contains(byScaler, o.last.reason)
}

// obstructed reports whether an obstacle is known.
func (o order) obstructed() bool {
	reason, _ := o.obstacle()
	return o.scalers.Known && reason != ""
}

// onItsWay returns the message that the decision is being carried out, and by which scaler. A new
// process that has not read the other scalers of the target repeats the last message.
func (o order) onItsWay() string {
	if !o.scalers.Known && (o.scalers.InForce() != scaling.ActuationMetrics || o.zero) && o.last.follows {
		return o.last.message
	}
	text := explain.FollowingBy(o.scalers)
	if s, kept := o.keptFromZero(); kept {
		text += ". " + explain.KeptFromZero(s, o.scalers.Zero)
	}
	return text
}

// podless reports whether the target has failed for scalerGrace to create pods. A webhook that
// restarts does not count.
func (o order) podless() bool {
	return o.podFailure.Reason != scaling.ImageNotPulled && o.lasts(o.podFailure, notMoving)
}

// imageless reports whether pods of the target have waited for an image for scalerGrace. A registry
// that is busy does not count.
func (o order) imageless() bool {
	return o.podFailure.Reason == scaling.ImageNotPulled && o.lasts(o.podFailure, scaling.ReasonPodsNotReady)
}

// lasts reports whether a trouble that may pass has lasted for scalerGrace, or was named before.
func (o order) lasts(t scaling.Trouble, as scaling.Reason) bool {
	return t.Reason != "" && (o.last.reason == as || !t.Since.IsZero() && o.now.Sub(t.Since) >= scalerGrace)
}

// allowance returns how long a scaler without an obstacle may take for its next step, 0 without a
// scaler.
func (o order) allowance() time.Duration {
	if len(o.scalers.List) == 0 {
		return 0
	}
	_, rules := o.direction(o.scalers.List[0])
	return scalerGrace + rules.Window + rules.Period
}

// direction returns the direction of the decision, as the field of an HPA's spec, and the rules of
// the scaler for it.
func (o order) direction(s scaling.Scaler) (string, scaling.ScalerRules) {
	if o.desired < o.current {
		return "scaleDown", s.Down
	}
	return "scaleUp", s.Up
}
