package fault

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Kind is a kind of fault.
type Kind string

// The kinds; see the package comment.
const (
	Crash   Kind = "crash"
	Silent  Kind = "silent"
	Flap    Kind = "flap"
	Stall   Kind = "stall"
	NoNode  Kind = "no-node"
	Deleted Kind = "deleted"
	Rollout Kind = "rollout"
	Clock   Kind = "clock"
	Outage  Kind = "outage"
)

// Kinds returns all kinds.
func Kinds() []Kind {
	return []Kind{Crash, Silent, Flap, Stall, NoNode, Deleted, Rollout, Clock, Outage}
}

// Fault is one fault. Fields that its Kind does not use are zero.
type Fault struct {
	Kind Kind
	// Variant is the affected variant; empty for a clock or an outage.
	Variant scaling.VariantKey
	// Model is the model whose requests an outage keeps out; zero means all models.
	Model scaling.ModelKey
	At    time.Duration // offset from the start of the run, >= 0
	For   time.Duration // > 0; 0 lasts to the end of the run, and is invalid for a rollout

	// Replicas is the number of pods that a crash, silent, flap, stall or no-node affects at a
	// time; 0 means all. For a deleted target it is the replicas of the target when it comes back,
	// 0 means 1.
	Replicas scaling.Replicas
	// Share is the share of the replicas that a rollout replaces at a time, a ratio in (0, 1]; 0
	// means 0.25, the default maxUnavailable of a Deployment.
	Share float64
	// Wait is how long a pod waits for a node; 0 means until the fault is over.
	Wait time.Duration
	// Period is the time from one crash, or one loss of readiness, to the next of the same pod, and
	// Ready for how long of it the pod is Ready: 0 < Ready < Period, or both 0 for a crash that
	// never becomes Ready.
	Period, Ready time.Duration
	// Step is added to the manager's clock; a negative Step sets it back.
	Step time.Duration
}

// FieldError says which field of a Fault is wrong and what would be right.
type FieldError struct {
	Field string // such as period
	Value string // as given
	Want  string // what is accepted
}

// Error names the field, its value and what is accepted.
func (e *FieldError) Error() string {
	return fmt.Sprintf("%s is %s, want %s", e.Field, e.Value, e.Want)
}

// Active reports whether f is in force at an offset.
func (f Fault) Active(at time.Duration) bool { return at >= f.At && at < f.End() }

// End returns the offset from which f is over, math.MaxInt64 if it lasts to the end of the run.
func (f Fault) End() time.Duration {
	if f.For == 0 {
		return math.MaxInt64
	}
	return f.At + f.For
}

// Concerns reports whether f affects a variant.
func (f Fault) Concerns(v scaling.VariantKey) bool { return f.Kind.ofVariant() && f.Variant == v }

// KeepsOut reports whether no request of a model arrives at an offset.
func (f Fault) KeepsOut(m scaling.ModelKey, at time.Duration) bool {
	return f.Kind == Outage && f.Active(at) && (f.Model == m || f.Model == scaling.ModelKey{})
}

// PerPod reports whether faults of a kind affect single pods.
func (k Kind) PerPod() bool {
	return k == Crash || k == Silent || k == Flap || k == Stall || k == NoNode
}

func (k Kind) ofVariant() bool { return k.PerPod() || k == Deleted || k == Rollout }

// Most returns how many pods a fault affects at a time, math.MaxInt for all.
func (f Fault) Most() scaling.Replicas {
	if f.Replicas == 0 {
		return math.MaxInt
	}
	return f.Replicas
}

// Back returns the replicas of a deleted target when it comes back.
func (f Fault) Back() scaling.Replicas { return max(1, f.Replicas) }

// Waves returns how many waves a rollout has, and how long each takes.
func (f Fault) Waves() (int, time.Duration) {
	share := f.Share
	if share == 0 {
		share = 0.25
	}
	n := int(math.Ceil(1/share - 1e-9))
	return n, f.For / time.Duration(n)
}

// Up reports whether a pod that crashes or flaps is Ready at an offset. The pod was Ready until
// since; from then on it is down first, then Ready, and so on in each Period.
func (f Fault) Up(since, at time.Duration) bool {
	return f.Period > 0 && at >= since && (at-since)%f.Period >= f.Period-f.Ready
}

// Offset returns how far the clock of the manager is off at an offset.
func Offset(all []Fault, at time.Duration) time.Duration {
	sum := time.Duration(0)
	for _, f := range all {
		if f.Kind == Clock && f.Active(at) {
			sum += f.Step
		}
	}
	return sum
}

// Validate returns nil, or the first field that is wrong, a *FieldError.
func (f Fault) Validate() error {
	if !slices.Contains(Kinds(), f.Kind) {
		return &FieldError{"kind", fmt.Sprintf("%q", string(f.Kind)), fmt.Sprintf("one of %v", Kinds())}
	}
	for _, validate := range []func() error{f.validateTimes, f.validateSubject, f.validateExtent, f.validateCourse} {
		if err := validate(); err != nil {
			return err
		}
	}
	return nil
}

// validateTimes checks that no time is negative, and that times that the kind does not use are
// zero.
func (f Fault) validateTimes() error {
	loops := f.Kind == Crash || f.Kind == Flap
	for _, d := range []struct {
		field string
		value time.Duration
		used  bool
	}{
		{"at", f.At, true},
		{"for", f.For, true},
		{"wait", f.Wait, f.Kind == NoNode},
		{"period", f.Period, loops},
		{"ready", f.Ready, loops},
	} {
		switch {
		case d.value < 0:
			return &FieldError{d.field, d.value.String(), "0s or more"}
		case d.value != 0 && !d.used:
			return &FieldError{d.field, d.value.String(), "nothing: a fault of kind " + string(f.Kind) + " has none"}
		}
	}
	return nil
}

// validateSubject checks the variant and the model of the fault.
func (f Fault) validateSubject() error {
	switch {
	case f.Kind.ofVariant() && f.Variant == scaling.VariantKey{}:
		return &FieldError{"variant", "none", "the variant that is concerned"}
	case !f.Kind.ofVariant() && f.Variant != scaling.VariantKey{}:
		return &FieldError{"variant", f.Variant.String(), "nothing: a fault of kind " + string(f.Kind) + " has none"}
	case f.Kind != Outage && f.Model != scaling.ModelKey{}:
		return &FieldError{"model", f.Model.String(), "nothing: a fault of kind " + string(f.Kind) + " has none"}
	}
	return nil
}

// validateExtent checks the number and the share of the replicas.
func (f Fault) validateExtent() error {
	switch counted := f.Kind.PerPod() || f.Kind == Deleted; {
	case f.Replicas < 0 || f.Replicas > 0 && !counted:
		return &FieldError{"replicas", fmt.Sprint(f.Replicas), "0 or more, and nothing of kind " + string(f.Kind)}
	case !(f.Share >= 0 && f.Share <= 1) || f.Share > 0 && f.Kind != Rollout:
		return &FieldError{"share", fmt.Sprint(f.Share), "a ratio above 0, up to 1, of a rollout"}
	}
	return nil
}

// validateCourse checks the length of a rollout, the period of a crash or a flap, and the step of a
// clock.
func (f Fault) validateCourse() error {
	switch {
	case f.Kind == Rollout && f.For == 0:
		return &FieldError{"for", "0s", "how long the rollout takes"}
	case (f.Period > 0 || f.Ready > 0 || f.Kind == Flap) && (f.Ready <= 0 || f.Ready >= f.Period):
		return &FieldError{"ready", f.Ready.String(), "more than 0s and less than period, " + f.Period.String()}
	case f.Kind == Clock && f.Step == 0 || f.Kind != Clock && f.Step != 0:
		return &FieldError{"step", f.Step.String(), "what a clock is off by, and nothing of other kinds"}
	}
	return nil
}
