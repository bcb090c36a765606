package controller

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/explain"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// scalerGrace is how long a decision may take before anybody is named for not
// carrying it out, on top of what the scaler itself waits for: four syncs of an
// HPA (every 15 s), in which also a scrape and an adapter find their time.
const scalerGrace = time.Minute

// The reasons of ScalerFollowing that follow from who scales the target.
const (
	noScaler   = scaling.Reason(v1alpha1.ReasonNoScaler)
	notReading = scaling.Reason(v1alpha1.ReasonHPANotReadingMetric)
	limited    = scaling.Reason(v1alpha1.ReasonHPALimited)
	tolerated  = scaling.Reason(v1alpha1.ReasonHPATolerance)
	notMoving  = scaling.ReasonTargetNotMoving
)

// byScaler are the reasons that no step gives: they hold until more is known.
var byScaler = []scaling.Reason{noScaler, notReading, limited, tolerated}

// order is a decision with all that says whether it is carried out, and by whom.
type order struct {
	target           scaling.TargetRef
	desired, current int           // replicas decided on, and set at the target
	waited           time.Duration // without coming closer to it
	overdue          scaling.Reason
	stood            scaling.Reason // what was reported before, "" for nothing
	said             string         // the message of that
	scalers          scaling.Scalers
	hand             handSays
	paused           bool
	podFailure       scaling.Trouble // why pods of the target are not created
	now              time.Time
}

// scalerFollowing says whether the decision is carried out, and who does not
// where it is not.
func scalerFollowing(va *v1alpha1.VariantAutoscaling, v view) metav1.Condition {
	const kind = v1alpha1.ConditionScalerFollowing
	switch {
	case !v.Variant.Replicas.Observed:
		return condition(kind, metav1.ConditionUnknown, v1alpha1.ReasonTargetNotFound, explain.Unmeasured())
	case !v.Decided:
		return condition(kind, metav1.ConditionUnknown, v1alpha1.ReasonMetricsUnavailable, explain.Unmeasured())
	}
	reason, message := orderOf(va, v).follow()
	switch reason {
	case "", scaling.ReasonPodsNotReady: // the scaler did its part
		return condition(kind, metav1.ConditionTrue, v1alpha1.ReasonFollowing, message)
	default:
		return condition(kind, metav1.ConditionFalse, v1alpha1.ConditionReason(reason), message)
	}
}

func orderOf(va *v1alpha1.VariantAutoscaling, v view) order {
	o := order{
		target: v.Variant.Target, desired: v.Decision.Target(), current: v.Variant.Replicas.Current,
		overdue: overdue(va.Status, v.Explanation), stood: overdueIn(va.Status), said: following(va.Status), scalers: v.scalers,
		hand: v.hand, paused: v.Variant.Paused, podFailure: v.podFailure, now: v.At,
	}
	if since := v.Past.ProgressAt; !since.IsZero() {
		o.waited = v.At.Sub(since)
	}
	return o
}

// follow says why the decision is not carried out, "" where it is or may still
// be. What was named before stays named for as long as it is so, without another
// grace: a decision that moves on is not a scaler that follows, nor is one of
// which nothing is known.
func (o order) follow() (reason scaling.Reason, message string) {
	switch turn, _ := o.scalers.Turn(o.current, o.desired); turn {
	case scaling.TurnNone:
	case scaling.TurnOwn, scaling.TurnUnknown:
		if reason, message = o.byHand(turn); reason != "" {
			return reason, message
		}
	case scaling.TurnScaler:
		reason, message = o.obstacle()
		switch {
		case !o.scalers.Known && slices.Contains(byScaler, o.stood):
			return o.stood, o.said // a new process has not read them yet
		case reason != "" && (o.waited >= scalerGrace || reason == o.stood):
			return reason, message
		case o.overdue == notMoving && o.waited < o.allowance():
			return "", o.onItsWay()
		case o.overdue == notMoving:
			return notMoving, explain.NotMoving(o.scalers, o.desired)
		}
	}
	switch {
	case o.podless(): // it was given them, and cannot have the pods
		return notMoving, explain.PodsRefused(o.target, o.podFailure)
	case o.overdue == "", o.overdue == notMoving: // the target has what was decided on
		return "", o.onItsWay()
	default:
		return o.overdue, explain.NotFollowing(o.overdue)
	}
}

// obstacle says what keeps the target from the decision for as long as nobody
// changes it, "" where nothing is known of one.
func (o order) obstacle() (reason scaling.Reason, message string) {
	switch all := o.scalers.List; {
	case !o.scalers.Known:
		return "", ""
	case len(all) == 0:
		return noScaler, explain.Nobody(o.target)
	case len(all) > 1:
		return notReading, explain.Rivals(all)
	}
	s := o.scalers.List[0]
	direction, rules := o.direction(s)
	switch {
	case o.current == 0 && s.AtZero:
		return notReading, explain.AtZero(s)
	case s.Paused:
		return notMoving, explain.ScalerPaused(s)
	case s.Misread != "" || o.inactive(s):
		return notReading, explain.NotReading(s)
	case s.Bounds.Clamp(o.desired) != o.desired:
		return limited, explain.BeyondBounds(s, o.desired)
	case rules.Disabled:
		return limited, explain.Disabled(s, direction)
	case tolerates(rules, o.desired, o.current):
		return tolerated, explain.Tolerated(s, direction, rules)
	case s.Unable.Reason != "":
		return notMoving, explain.Refused(s)
	}
	return "", ""
}

// latent says what would keep the target from any other decision than the one that it
// has, "" where nothing is known of it: nobody is named for what they need not do yet,
// and whoever looks learns of it before the first peak does. At zero a scaler rests.
func (o order) latent() string {
	if o.current != o.desired || !o.scalers.Known || o.scalers.InForce() != scaling.ActuationMetrics || o.paused || o.current == 0 {
		return ""
	}
	switch all := o.scalers.List; {
	case len(all) == 0:
		return explain.Nobody(o.target)
	case len(all) > 1:
		return explain.Rivals(all)
	case all[0].Paused:
		return explain.ScalerPaused(all[0])
	case all[0].Misread != "" || o.inactive(all[0]):
		return explain.NotReading(all[0])
	}
	return ""
}

// direction returns where the decision goes, in the words of an HPA's spec, and
// how the scaler goes there.
func (o order) direction(s scaling.Scaler) (string, scaling.ScalerRules) {
	if o.desired < o.current {
		return "scaleDown", s.Down
	}
	return "scaleUp", s.Up
}

// inactive reports whether a scaler has said for long enough that it cannot
// compute a number. A failed read or two mean nothing.
func (o order) inactive(s scaling.Scaler) bool {
	return s.Inactive.Reason != "" && (o.stood == notReading || o.now.Sub(s.Inactive.Since) >= scalerGrace)
}

// podless reports whether the target has said for long enough that its pods cannot
// be created. A webhook that restarts means nothing.
func (o order) podless() bool {
	return o.podFailure.Reason != "" && (o.stood == notMoving || o.now.Sub(o.podFailure.Since) >= scalerGrace)
}

// allowance is how long a scaler without an obstacle may take for its next step.
func (o order) allowance() time.Duration {
	if len(o.scalers.List) == 0 {
		return 0
	}
	_, rules := o.direction(o.scalers.List[0])
	return scalerGrace + rules.Window + rules.Period
}

// tolerates reports whether a scaler takes desired replicas for no difference to
// the current ones, in the very arithmetic of an HPA that reads an average of 1:
// whether 11 of 10 are within 10 % is decided by the last bit
// (k8s.io/kubernetes, podautoscaler, GetExternalPerPodMetricReplicas).
func tolerates(r scaling.ScalerRules, desired, current int) bool {
	const milli = 1000
	ratio := float64(milli*desired) / (float64(milli) * float64(current))
	if desired < current {
		return 1.0-r.Tolerance <= ratio
	}
	return ratio <= 1.0+r.Tolerance
}
