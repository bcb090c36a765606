package explain

import (
	"fmt"
	"math"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// NoScaler says that no object scales the target.
func NoScaler(target scaling.TargetRef) string {
	return fmt.Sprintf("No HorizontalPodAutoscaler and no ScaledObject scales %s %s. "+
		"Create one that reads wva_desired_replicas of this variant, or set the annotation wva.llmd.ai/actuation of this object to \"scale\"",
		target.Kind, target.Name)
}

// Advisory says that the decision is advice, and which objects scale the target meanwhile. Where a
// scaler reads the decision, it says that the metric has no value.
func Advisory(by scaling.Scalers) string {
	text := "Advisory: the decision is published as wva_advised_replicas alone, and nothing carries it out. "
	switch {
	case !by.Known:
		return text + "Who scales the target is not known yet"
	case len(by.List) == 0:
		return text + "No HorizontalPodAutoscaler and no ScaledObject scales the target: it stays as it is"
	}
	var others, readers []string
	for _, s := range by.List {
		if s.Misread == "" {
			readers = append(readers, scaler(s))
		} else {
			others = append(others, scaler(s))
		}
	}
	if len(others) > 0 {
		text += strings.Join(others, " and ") + " scales the target. "
	}
	if len(readers) > 0 {
		text += strings.Join(readers, " and ") + " reads wva_desired_replicas, which has no value meanwhile: an HPA then keeps the replicas, " +
			"a ScaledObject goes to its minimum unless its trigger says ignoreNullValues: \"false\""
	}
	return strings.TrimSuffix(text, ". ")
}

// Rivals says that several objects scale one target, which stops them all.
func Rivals(all []scaling.Scaler) string {
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = scaler(s)
	}
	return fmt.Sprintf("%s scale the same target, and none acts on its metric while the others exist. Keep one of them", strings.Join(names, " and "))
}

// NotReading says why a scaler does not read the decision: what is wrong with its spec or its
// readings, and what its status says.
func NotReading(s scaling.Scaler) string {
	text := scaler(s) + " does not read the decision"
	switch {
	case s.Misread != "":
		text += ": " + s.Misread
	case s.Unread.Reason != "":
		text += ": " + s.Unread.Message
	}
	if s.Inactive.Reason != "" {
		text += ". It says: " + said(s.Inactive)
	}
	return text
}

// AtZero says that a scaler does not act because the target has no replicas.
func AtZero(s scaling.Scaler) string {
	text := scaler(s) + " stands still while its target has zero replicas (ScalingDisabled). "
	if s.Kind == scaling.KindHPA && s.Bounds.Min == 0 {
		text += "It starts only a target that it took to zero itself. "
	}
	return text + "Start the first replica, or set the annotation wva.llmd.ai/actuation of this object to \"zero\""
}

// KeptFromZero says that the minReplicas of an HPA keep the target from zero, and how to allow zero
// in this cluster.
func KeptFromZero(s scaling.Scaler, zero scaling.HPAZero) string {
	const annotation = `et the annotation wva.llmd.ai/actuation of this object to "zero"`
	text := fmt.Sprintf("%s keeps the target from zero: its minReplicas is %d. ", scaler(s), s.Bounds.Min)
	switch {
	case !zero.Known:
		return text + "S" + annotation
	case zero.May:
		return text + "Set it to 0, or s" + annotation
	}
	return text + fmt.Sprintf("Kubernetes %s refuses 0 unless its feature gate HPAScaleToZero is on, which it is by default from 1.37. S", zero.Release) + annotation
}

// BeyondBounds says that a decision is beyond the bounds of a scaler.
func BeyondBounds(s scaling.Scaler, desired scaling.Replicas, zero scaling.HPAZero) string {
	if desired == 0 && s.Kind == scaling.KindHPA {
		return KeptFromZero(s, zero)
	}
	least, most := boundNames(s)
	return fmt.Sprintf("%s keeps the target between %s %d and %s %d, and the decision is beyond. Change them, or the bounds of this object",
		scaler(s), least, s.Bounds.Min, most, s.Bounds.Max)
}

// Confined says that a scaler keeps the target at its present replicas, whatever is decided: by its
// bounds, or by them and a disabled direction.
func Confined(s scaling.Scaler) string {
	least, most := boundNames(s)
	var text strings.Builder
	fmt.Fprintf(&text, "%s keeps the target as it is: %s is %d and %s is %d", scaler(s), least, s.Bounds.Min, most, s.Bounds.Max)
	for _, d := range []struct {
		name     string
		disabled bool
	}{{"scaleUp", s.Up.Disabled}, {"scaleDown", s.Down.Disabled}} {
		if d.disabled {
			fmt.Fprintf(&text, ", and %s.%s.selectPolicy is Disabled", behavior(s), d.name)
		}
	}
	return text.String() + ". The bounds of this object allow other numbers, and none of them would be carried out. Change that, or the bounds of this object"
}

// Disabled says that a scaler disables a direction, scaleUp or scaleDown.
func Disabled(s scaling.Scaler, direction string) string {
	return fmt.Sprintf("%s never goes there: %s.%s.selectPolicy is Disabled", scaler(s), behavior(s), direction)
}

// Tolerated says that the decision is within the tolerance of a scaler.
func Tolerated(s scaling.Scaler, direction string, r scaling.ScalerRules) string {
	setting := fmt.Sprintf("%s.%s.tolerance", behavior(s), direction)
	percent := math.Round(1000*r.Tolerance) / 10
	if !r.Explicit {
		return fmt.Sprintf(`%s takes the decision for no difference to what runs: its tolerance is the cluster's, %g %% unless changed. Set %s to "0"`,
			scaler(s), percent, setting)
	}
	return fmt.Sprintf(`%s takes the decision for no difference to what runs: %s is %g %%. Set it to "0"`, scaler(s), setting, percent)
}

// ScalerPaused says that an annotation pauses a scaler.
func ScalerPaused(s scaling.Scaler) string {
	return scaler(s) + " is paused (an annotation autoscaling.keda.sh/paused or paused-replicas)"
}

// Refused says why a scaler could not set the replicas.
func Refused(s scaling.Scaler) string {
	return scaler(s) + " could not scale the target: " + said(s.Unable)
}

// NotMoving says that the target does not have the replicas decided on although no obstacle is
// known, and what is known of its scaler.
func NotMoving(by scaling.Scalers, desired scaling.Replicas) string {
	text := NotFollowing(scaling.ReasonTargetNotMoving)
	switch {
	case !by.Known && by.Fault != "":
		return text + ". Who scales it is not known: " + by.Fault
	case len(by.List) == 0:
		return text
	}
	s := by.List[0]
	switch {
	case s.Asks == desired:
		text = fmt.Sprintf("%s asks for the replicas decided on, and the target does not keep them. "+
			"Check what else sets spec.replicas, such as a tool that applies manifests", scaler(s))
	case s.Others:
		text = scaler(s) + " reads the decision and other metrics, of which the highest counts, and the target was not given the replicas decided on"
	default:
		text = scaler(s) + " reads the decision, and the target was not given the replicas decided on, for longer than its windows and policies explain"
	}
	return text
}

// scaler names a scaler.
func scaler(s scaling.Scaler) string { return s.Kind + " " + s.Name }

// boundNames returns the names of the bounds in the spec of a scaler.
func boundNames(s scaling.Scaler) (least, most string) {
	if s.Kind == scaling.KindScaledObject {
		return "minReplicaCount", "maxReplicaCount"
	}
	return "minReplicas", "maxReplicas"
}

// behavior returns the field of the spec of a scaler that limits its pace.
func behavior(s scaling.Scaler) string {
	if s.Kind == scaling.KindScaledObject {
		return "spec.advanced.horizontalPodAutoscalerConfig.behavior"
	}
	return "spec.behavior"
}

// said returns the trouble that an object reports.
func said(t scaling.Trouble) string {
	if t.Message == "" {
		return t.Reason
	}
	return fmt.Sprintf("%s: %s", t.Reason, steady(t.Message))
}

// steady returns a message of another program without the parts that differ from time to time, cut
// to faultAtMost.
func steady(message string) string {
	text := []rune(localAddress.ReplaceAllString(message, "$1 $2 "))
	if len(text) > faultAtMost {
		text = append(text[:faultAtMost], '…')
	}
	return string(text)
}

// PodsRefused says that a target has the replicas decided on and cannot create their pods, and why.
func PodsRefused(target scaling.TargetRef, why scaling.Trouble) string {
	return fmt.Sprintf("%s %s has the replicas decided on and cannot create pods for them: %s", target.Kind, target.Name, said(why))
}

// ImageNotPulled says that pods of a target wait for an image that cannot be pulled.
func ImageNotPulled(target scaling.TargetRef, why scaling.Trouble) string {
	return fmt.Sprintf("%s %s has the replicas decided on, and its pods are not Ready: %s cannot be pulled. "+
		"Check the name of the image, and the pull secret of the pods", target.Kind, target.Name, why.Message)
}
