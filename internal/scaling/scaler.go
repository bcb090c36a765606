package scaling

import (
	"fmt"
	"time"
)

// Scalers describes who sets the replicas of a target: this process where the variant's object asks
// for it, and scaler objects in the cluster. The zero value is unknown, which is not the same as
// none.
type Scalers struct {
	// Own is the actuation that the variant's object asks for; see InForce. It is valid even if the
	// scaler objects are unknown.
	Own   Actuation
	Known bool
	Fault string   // why List is unknown
	List  []Scaler // sorted by Kind, Name
	// ReadAs is the name by which an annotated scaler reads the decision, if it is neither the
	// variant's nor that of another variant; else "".
	ReadAs string
	Zero   HPAZero // whether an HPA of the cluster may scale to zero
	// ByValue is true if the only scaler that reads the decision Multiplies and reads it from the
	// External Metrics API of this process, whose answer allows for the ready pods.
	ByValue bool
}

// FollowedBy returns v with the fields that depend on the scalers of its target. A variant that is
// itself a scaler (Origin) and misreads its decision cannot be decided on, because no decision
// would take effect. This does not hold for an advisory variant, whose decisions should not take
// effect.
func (v Variant) FollowedBy(by Scalers) Variant {
	v.ReadAs, v.ByValue = by.ReadAs, by.ByValue
	if v.Advisory { // its scaler reads another metric
		v.Paused = v.Paused || v.Undecidable != ""
		return v
	}
	for _, s := range by.List {
		if v.Origin == "" || s.Kind != v.Origin || s.Name != v.Key.Name || s.Misread == "" {
			continue
		}
		v.Withheld = s.Multiplies
		if v.Undecidable == "" {
			v.Undecidable = fmt.Sprintf("%s %s has the annotation llm-d.ai/managed and does not read its decision: %s", s.Kind, s.Name, s.Misread)
		}
	}
	v.Paused = v.Paused || v.Undecidable != ""
	return v
}

// The kinds of a Scaler.
const (
	KindHPA          = "HorizontalPodAutoscaler"
	KindScaledObject = "ScaledObject"
)

// Scaler is an object that sets the replicas of a target, seen from one variant: a
// HorizontalPodAutoscaler, or a KEDA ScaledObject with the HorizontalPodAutoscaler that KEDA made
// for it.
type Scaler struct {
	Kind   string // KindHPA or KindScaledObject
	Name   string
	Bounds Bounds // of its own, in replicas

	// Misread says why the scaler does not read the variant's decision, judged by its spec; "" if
	// it does. Only a change of the spec ends this.
	Misread string
	// Unread says why the scaler has not read the decision yet, judged by its status: it, or the
	// HorizontalPodAutoscaler that KEDA makes for it, is too new, or it has values of other metrics
	// only. This may end by itself.
	Unread Trouble
	// Multiplies is true if the scaler reads the decision by the target type Value: it sets the
	// metric times its ready pods. If Misread is not "" either, that is another mistake.
	Multiplies bool
	// Others is true if the scaler also reads other metrics: the highest result counts.
	Others bool
	// Paused is true while the scaler is told to leave the target alone.
	Paused bool
	// AtZero is true while the scaler is inactive because the target has no replicas.
	AtZero bool
	// Asks is the number of replicas that the scaler last wanted, 0 for none.
	Asks Replicas

	Up   ScalerRules
	Down ScalerRules

	// Inactive says why the scaler reports that it cannot compute a number of replicas, Unable why
	// it reports that it cannot set one. Each is zero without such a report.
	Inactive Trouble
	Unable   Trouble
}

// ScalerRules are the rules of a Scaler for one direction.
type ScalerRules struct {
	// Tolerance is the part of the present replicas, a ratio >= 0, up to which the scaler ignores a
	// difference. It is the cluster's value unless Explicit.
	Tolerance float64
	Explicit  bool
	// Window is how long a change must be wanted before it is made; Period is the longest time over
	// which its speed is limited.
	Window time.Duration
	Period time.Duration
	// Disabled is true if the scaler never changes replicas in this direction.
	Disabled bool
}

// DefaultTolerance is the tolerance of an HPA where neither it nor its cluster sets one
// (--horizontal-pod-autoscaler-tolerance).
const DefaultTolerance = 0.1

// Tolerates reports whether an HPA with this tolerance ignores the difference between desired and
// current replicas. It copies the arithmetic of an HPA that reads an average of 1, where the last
// bit decides whether 11 of 10 are within 10 % (k8s.io/kubernetes, podautoscaler,
// GetExternalPerPodMetricReplicas).
func Tolerates(tolerance float64, desired, current Replicas) bool {
	const milli = 1000
	ratio := float64(milli*desired) / (float64(milli) * float64(current))
	if desired < current {
		return 1.0-tolerance <= ratio
	}
	return ratio <= 1.0+tolerance
}

// Trouble is a problem that an object reports in its status.
type Trouble struct {
	Reason  string    // CamelCase, "" for no trouble
	Message string    // in the words of its controller
	Since   time.Time // when it began, zero while unknown
}

// ImageNotPulled is the reason of the Trouble of pods that wait for an image.
const ImageNotPulled = "ImageNotPulled"
