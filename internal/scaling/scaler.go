package scaling

import (
	"fmt"
	"time"
)

// Scalers is who sets the replicas of a target: this process where the variant's
// object asks for it, and objects that the cluster carries out. The zero value knows
// nothing of those, which is not the same as none.
type Scalers struct {
	// Own is what the variant's object asks of this process; see InForce. It is known
	// whether the others are or not.
	Own   Actuation
	Known bool
	Fault string   // why it is not known
	List  []Scaler // sorted by Kind, Name
	// ReadAs is the name by which an annotated scaler asks for the decision, where that is not
	// the variant's and no other variant has it; "" else.
	ReadAs string
	Zero   HPAZero // whether an HPA of the cluster may go to zero
	// ByValue is true when the one scaler that reads the decision Multiplies, and what it reads is
	// the External Metrics API of this process, which answers it by the ready pods.
	ByValue bool
}

// FollowedBy returns v as the scalers of its target read it. A variant that is itself a scaler
// (Origin) and does not learn its decision cannot be decided on: nothing that is decided arrives. An
// advisory one can, because nothing is to arrive.
func (v Variant) FollowedBy(by Scalers) Variant {
	v.ReadAs, v.ByValue = by.ReadAs, by.ByValue
	if v.Advisory { // the scaler is to read something else
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

// Scaler is an object that sets the replicas of a target, as one variant of it
// sees it: a HorizontalPodAutoscaler, or a ScaledObject of KEDA together with the
// HorizontalPodAutoscaler that KEDA made for it.
type Scaler struct {
	Kind   string // KindHPA or KindScaledObject
	Name   string
	Bounds Bounds // of its own, in replicas

	// Misread says why it does not learn the variant's decision, going by what it
	// is told to read; "" when it does. Nothing but a change of its spec ends that.
	Misread string
	// Unread is why it has not learnt the decision so far, going by its status: it, or
	// the HorizontalPodAutoscaler that KEDA makes for it, is too new, or it has a value
	// of other metrics alone. That may pass by itself.
	Unread Trouble
	// Multiplies is true when it reads the decision by the target type Value: it sets what it reads
	// times its ready pods. Where Misread is not "", too, it does so beside another mistake.
	Multiplies bool
	// Others is true when it scales on something else too: the highest counts.
	Others bool
	// Paused is true while it is told to leave the target alone.
	Paused bool
	// AtZero is true while it stands still because the target has no replicas.
	AtZero bool
	// Asks is the number of replicas that it last wanted, 0 while it wanted none.
	Asks Replicas

	Up   ScalerRules
	Down ScalerRules

	// Inactive is why it says that it cannot compute a number of replicas, Unable
	// why it says that it cannot set one. The zero value when it says no such thing.
	Inactive Trouble
	Unable   Trouble
}

// ScalerRules is how a Scaler goes in one direction.
type ScalerRules struct {
	// Tolerance is the share of the present replicas, a ratio of 0 or more, up to
	// which a difference counts for none. It is the cluster's where Explicit is
	// false.
	Tolerance float64
	Explicit  bool
	// Window is for how long a change must be wanted before it is made, Period the
	// longest time over which its speed is limited.
	Window time.Duration
	Period time.Duration
	// Disabled is true when it never goes in this direction.
	Disabled bool
}

// DefaultTolerance is that of an HPA where neither it nor its cluster sets another
// (--horizontal-pod-autoscaler-tolerance).
const DefaultTolerance = 0.1

// Tolerates reports whether an HPA with such a tolerance takes desired replicas for no
// difference to the current ones. It is the arithmetic of an HPA that reads an average of 1:
// whether 11 of 10 are within 10 % is decided by the last bit
// (k8s.io/kubernetes, podautoscaler, GetExternalPerPodMetricReplicas).
func Tolerates(tolerance float64, desired, current Replicas) bool {
	const milli = 1000
	ratio := float64(milli*desired) / (float64(milli) * float64(current))
	if desired < current {
		return 1.0-tolerance <= ratio
	}
	return ratio <= 1.0+tolerance
}

// Trouble is what an object says is wrong with it.
type Trouble struct {
	Reason  string    // CamelCase, "" for no trouble
	Message string    // in the words of its controller
	Since   time.Time // when it began, zero where that is not told
}

// ImageNotPulled is the reason of the trouble that pods of a target wait for an image.
const ImageNotPulled = "ImageNotPulled"
