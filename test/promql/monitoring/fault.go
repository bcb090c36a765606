package monitoring

import (
	"github.com/llm-d-incubation/workload-variant-autoscaler/api/v1alpha1"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Fault is what goes wrong in a fleet from the time of the fault on; see faulty.
type Fault string

// The faults. Each hits the variant llama-h100 or its model, or the manager.
const (
	Healthy    Fault = "healthy"
	Gone       Fault = "manager gone"           // its page does not answer
	Hung       Fault = "manager hangs"          // its page answers; no cycle ends
	Failing    Fault = "cycles fail"            // each cycle ends with an error
	Undecided  Fault = "no decision"            // one variant gets no decision
	Blind      Fault = "model not scraped"      // no pod of the model is scraped
	HalfBlind  Fault = "one pod not scraped"    // the others are scraped
	Ignored    Fault = "scaler does not act"    // the target keeps its replicas
	Orphaned   Fault = "no scaler"              // and more is decided
	Confined   Fault = "scaler has one number"  // and the target has the decided replicas
	NoStock    Fault = "no accelerator free"    // and the model is saturated
	Held       Fault = "growth held"            // at maxReplicas
	Unnamed    Fault = "saturated and steady"   // no step of the decision has the reason
	Unplaced   Fault = "no node takes the pods" // those that were ordered last
	Crashing   Fault = "pods do not start"      // those that were ordered last
	Flapping   Fault = "decision flaps"         // one more, one less, in turn
	SlowTTFT   Fault = "TTFT far off"           // nine requests of ten
	SlowITL    Fault = "ITL far off"            // nine requests of ten
	SlowerTTFT Fault = "TTFT off for hours"     // four requests of ten
	SlowerITL  Fault = "ITL off for hours"      // four requests of ten
	MeanITL    Fault = "ITL off, its mean kept" // within the objective, and no fault
	Paused     Fault = "paused and not scraped" // a user's wish, and no fault; it has no scaler either
)

// Faults returns all of them.
func Faults() []Fault {
	return []Fault{
		Healthy, Gone, Hung, Failing, Undecided, Blind, HalfBlind, Ignored, Orphaned, Confined, NoStock, Held, Unnamed, Unplaced, Crashing, Flapping,
		SlowTTFT, SlowITL, SlowerTTFT, SlowerITL, MeanITL, Paused,
	}
}

// cycles reports whether the manager's cycles succeed.
func (f Fault) cycles() bool { return f != Gone && f != Hung && f != Failing }

// full reports whether the fault keeps the variant from the replicas that it needs.
func (f Fault) full() bool { return f == NoStock || f == Held || f == Unnamed }

// followed returns what the manager reports in the condition ScalerFollowing of the variant:
// whether the decision is carried out, and the reason.
func (f Fault) followed() (follows bool, reason scaling.Reason) {
	switch f {
	case Ignored:
		return false, scaling.ReasonTargetNotMoving
	case Orphaned, Paused:
		return false, scaling.Reason(v1alpha1.ReasonNoScaler)
	case Confined:
		return false, scaling.Reason(v1alpha1.ReasonHPALimited)
	case Unplaced:
		return false, scaling.ReasonPodsUnschedulable
	case Crashing:
		return true, scaling.ReasonPodsNotReady
	default:
		return true, scaling.Reason(v1alpha1.ReasonFollowing)
	}
}

// stuck reports whether the fault keeps ordered pods from becoming Ready.
func (f Fault) stuck() bool { return f == Unplaced || f == Crashing }

// slow returns the share of the requests that the fault makes slow, a ratio in [0, 1], and their
// TTFT and ITL [s], 0 where unchanged.
func (f Fault) slow() (share, ttft, itl float64) {
	switch f {
	case SlowTTFT:
		return 0.9, 6, 0
	case SlowITL:
		return 0.9, 0, 0.4
	case SlowerTTFT:
		return 0.4, 6, 0
	case SlowerITL:
		return 0.4, 0, 0.4
	case MeanITL:
		return 0.4, 0, 0.06
	default:
		return 0, 0, 0
	}
}
