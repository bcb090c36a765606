package explain

import (
	"fmt"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// The texts about replicas that the manager itself sets by the scale subresource.

// byManager says, as a separate sentence, which replicas the manager sets itself, or why it does
// not although the variant asks for it; "" where the variant does not ask.
func byManager(by scaling.Scalers) string {
	s, found := by.AtZeroBy()
	switch mode := by.InForce(); {
	case mode == scaling.ActuationScale:
		return ". The manager sets them by the scale subresource"
	case mode != scaling.ActuationZero:
		return ""
	case found && s.Kind == scaling.KindScaledObject:
		return fmt.Sprintf(". Whether there are any is for %s to set, so the manager does not", scaler(s))
	case found:
		return fmt.Sprintf(". %s has minReplicas 0 and goes to zero and back itself, so the manager does not", scaler(s))
	}
	return ". From and to zero, the manager sets them by the scale subresource"
}

// FollowingBy says that the decision is being carried out, and which part the manager carries out.
func FollowingBy(by scaling.Scalers) string { return Following() + byManager(by) }

// TwoScalers says that a variant asks the manager to set all replicas of a target that another
// scaler sets too, and what is in force instead.
func TwoScalers(other scaling.Scaler) string {
	return fmt.Sprintf(`annotation wva.llmd.ai/actuation is "scale": want no other that sets the replicas, and %s does; in force: "metrics"`, scaler(other))
}

// ManagerPaused says that the manager does not set the replicas because the variant is paused.
func ManagerPaused() string {
	return "Paused: the manager does not set the replicas, which are others than those decided on. " +
		"Remove the annotation wva.llmd.ai/paused to go on"
}

// ManagerBlind says that the manager sets no replicas because the other scalers are unknown.
func ManagerBlind(target scaling.TargetRef, by scaling.Scalers) string {
	return fmt.Sprintf("Who else scales %s %s is not known, so the manager leaves its replicas as they are: %s", target.Kind, target.Name, steady(by.Fault))
}

// ManagerRefused says why the manager could not set the replicas.
func ManagerRefused(target scaling.TargetRef, t scaling.Trouble) string {
	return fmt.Sprintf("The replicas of %s %s stay as they are, and each cycle tries again: %s", target.Kind, target.Name, said(t))
}

// ManagerUndone says that the manager sets the replicas and they do not stay so.
func ManagerUndone(target scaling.TargetRef) string {
	return fmt.Sprintf("The manager sets the replicas of %s %s, and they do not stay so. "+
		"Check what else sets spec.replicas, such as a tool that applies manifests", target.Kind, target.Name)
}

// ShortGracePeriod says that requests may take longer than the pods of a variant may take to end:
// their grace period and the estimated response time, both in seconds.
func ShortGracePeriod(target scaling.TargetRef, grace, response float64) string {
	return fmt.Sprintf("pods of %s %s have terminationGracePeriodSeconds %.0f, and 1 of 100 requests takes longer than about %.0f s "+
		"(estimated from TTFT, ITL and output tokens, as if their number were exponential): "+
		"what then runs is cut off when a replica is removed. Give them as long",
		target.Kind, target.Name, grace, response)
}
