package scaling

import (
	"slices"
	"time"
)

// Stage names a part of the pipeline that may change the number of replicas.
type Stage string

// The stages, in the order in which they run.
const (
	StageOptimize  Stage = "optimize"
	StageRetention Stage = "retention"
	StageBounds    Stage = "bounds"
	StageStabilize Stage = "stabilize"
	StageApproval  Stage = "approval"
	StageSchedule  Stage = "schedule"
	StageCapacity  Stage = "capacity"
	StageRoles     Stage = "roles"
)

// Reason is a CamelCase word fit for a condition or an event.
type Reason string

// The reasons of a Step.
const (
	// ReasonSteady: neither growth nor a reduction is needed.
	ReasonSteady Reason = "Steady"
	// ReasonSaturated: too little spare capacity is left; a replica is added.
	ReasonSaturated Reason = "Saturated"
	// ReasonSpareCapacity: the remaining replicas can carry the load of those removed.
	ReasonSpareCapacity Reason = "SpareCapacity"
	// ReasonOtherVariant: another variant of the model grows or shrinks.
	ReasonOtherVariant Reason = "OtherVariant"
	// ReasonInTransition: ordered replicas are not Ready yet, or the readings do not show them yet.
	ReasonInTransition Reason = "InTransition"
	// ReasonRemovalCancelled: a reduction under way is no longer safe.
	ReasonRemovalCancelled Reason = "RemovalCancelled"
	// ReasonOrderCancelled: ordered replicas that never became Ready are no longer needed.
	ReasonOrderCancelled Reason = "OrderCancelled"
	// ReasonNoCandidate: growth is needed, and no variant can grow.
	ReasonNoCandidate Reason = "NoCandidate"
	// ReasonAtFloor: a reduction is possible and every variant is at its minimum.
	ReasonAtFloor Reason = "AtFloor"
	// ReasonTargetNotMoving: no scaler set the target to the replicas decided on.
	ReasonTargetNotMoving Reason = "TargetNotMoving"
	// ReasonPodsUnschedulable: pods were created and the scheduler finds no node for them.
	ReasonPodsUnschedulable Reason = "PodsUnschedulable"
	// ReasonPodsNotReady: pods have nodes and do not become Ready, or report no metrics.
	ReasonPodsNotReady Reason = "PodsNotReady"
	// ReasonNoData: the load is unknown; the last decision holds.
	ReasonNoData Reason = "NoData"
	// ReasonTargetUnreadable: the target's replicas are unknown.
	ReasonTargetUnreadable Reason = "TargetUnreadable"
	// ReasonFirstReplica: nothing runs and nothing was decided; one replica starts.
	ReasonFirstReplica Reason = "FirstReplica"
	// ReasonBelowMin and ReasonAboveMax: a bound of the variant was applied.
	ReasonBelowMin Reason = "BelowMin"
	ReasonAboveMax Reason = "AboveMax"
	// ReasonStabilizing: the change has not been wanted for long enough.
	ReasonStabilizing Reason = "Stabilizing"
	// ReasonStepLimited: the change is larger than one decision may make.
	ReasonStepLimited Reason = "StepLimited"
	// ReasonDemand: the demand exceeds the running and ordered replicas.
	ReasonDemand Reason = "Demand"
	// ReasonCheaperMix: other variants carry the demand at a lower cost.
	ReasonCheaperMix Reason = "CheaperMix"
	// ReasonServiceClassMissing, ReasonProfileMissing and ReasonObjectiveInfeasible say why a model
	// cannot be sized to objectives.
	ReasonServiceClassMissing Reason = "ServiceClassMissing"
	ReasonProfileMissing      Reason = "ProfileMissing"
	ReasonObjectiveInfeasible Reason = "ObjectiveInfeasible"
	// ReasonShared: models want more accelerators than there are, and share them.
	ReasonShared Reason = "Shared"
	// ReasonInventoryUnknown: nothing grows while the stock is unknown.
	ReasonInventoryUnknown Reason = "InventoryUnknown"
	// ReasonNoStock: no node has the accelerators of one more replica, or of one that
	// waits for a node.
	ReasonNoStock Reason = "NoStock"
	// ReasonOverQuota: the quota of the namespace is used up.
	ReasonOverQuota Reason = "OverQuota"
	// ReasonReturned: accelerators go back to the namespace that owns them, or to a
	// model of higher priority.
	ReasonReturned Reason = "Returned"
	// ReasonIdle: no request was seen for longer than the retention period.
	ReasonIdle Reason = "Idle"
	// ReasonLastReplica: the model is not to go to zero, so one replica stays.
	ReasonLastReplica Reason = "LastReplica"
	// ReasonRetained: no replica is needed, but the retention period is not over, or the requests
	// in it are unknown.
	ReasonRetained Reason = "Retained"
	// ReasonLoadReturned: requests come back after a lull, and the variant gets the replicas that
	// carried as many before.
	ReasonLoadReturned Reason = "LoadReturned"
	// ReasonRequestsWaiting: requests wait for a model without a Ready replica.
	ReasonRequestsWaiting Reason = "RequestsWaiting"
	// ReasonNotReadyInTime: requests wait, and the variant that was woken first is not Ready
	// in time, or no node takes its pod.
	ReasonNotReadyInTime Reason = "NotReadyInTime"
	// ReasonPaused: an annotation of the variant freezes its decision.
	ReasonPaused Reason = "Paused"
	// ReasonHeld: the variant cannot be decided on, and stays at the larger of the last decision
	// and the current replicas (Variant.Undecidable).
	ReasonHeld Reason = "Held"
	// ReasonAwaitingApproval: the reduction waits for approval, which an annotation asks for.
	ReasonAwaitingApproval Reason = "AwaitingApproval"
	// ReasonFrozen: a freeze window allows no change.
	ReasonFrozen Reason = "Frozen"
	// ReasonGrowthOnly: a freeze window allows no reduction.
	ReasonGrowthOnly Reason = "GrowthOnly"
	// ReasonOtherRole: prefill and decode of a model change together, and one of them cannot
	// change.
	ReasonOtherRole Reason = "OtherRole"
)

// Step is one stage's contribution to a Decision.
type Step struct {
	Stage  Stage    `json:"stage"`
	From   Replicas `json:"from"` // replicas before the stage
	To     Replicas `json:"to"`   // replicas after it
	Reason Reason   `json:"reason"`
	Detail string   `json:"detail"` // one sentence with its numbers
}

// Decision is the number of replicas decided for one variant, and why: a chain of steps, each of
// which begins where the last one ended.
type Decision struct {
	Variant VariantKey `json:"variant"`
	Model   ModelKey   `json:"model"`
	// Role is the role of the variant in a model that is served in parts, else "".
	Role    Role     `json:"role,omitempty"`
	Current Replicas `json:"current"` // replicas when the Snapshot was taken
	// Fallback is true when the decision is made without an analysis.
	Fallback bool `json:"fallback,omitempty"`
	// Spare counts the replicas that the load does not need beyond those that the decision removes.
	Spare Replicas `json:"spare,omitempty"`
	// Withheld is true when the analysis calls for a reduction, or would if its readings were
	// Fresh, and the cycle makes none because the readings do not show the last change yet or are
	// not Fresh. Such a cycle does not count as one that wanted the replicas.
	Withheld bool `json:"withheld,omitempty"`
	// Reduction is the reduction that waits for approval, or was approved and is under way.
	Reduction Reduction `json:"reduction,omitzero"`
	Steps     []Step    `json:"steps"`
}

// Part returns the part that d was decided with: its model, or one role of it.
func (d Decision) Part() Part { return Part{d.Model, d.Role} }

// Target returns the replicas decided on: To of the last step, or Current without a step.
func (d Decision) Target() Replicas {
	if n := len(d.Steps); n > 0 {
		return d.Steps[n-1].To
	}
	return d.Current
}

// Moves reports whether d grows to move the model to cheaper variants.
func (d Decision) Moves() bool { return d.MoveTo() > 0 }

// MoveTo returns how many replicas d asks for to move the model to cheaper variants,
// before any constraint; 0 if it does not.
func (d Decision) MoveTo() Replicas {
	i := slices.IndexFunc(d.Steps, func(s Step) bool { return s.Reason == ReasonCheaperMix && s.To > s.From })
	if i < 0 {
		return 0
	}
	return d.Steps[i].To
}

// Then returns a copy of d with one more step, from Target to to.
func (d Decision) Then(stage Stage, to Replicas, reason Reason, detail string) Decision {
	step := Step{Stage: stage, From: d.Target(), To: to, Reason: reason, Detail: detail}
	d.Steps = append(slices.Clip(slices.Clone(d.Steps)), step)
	return d
}

// Cause returns the step that explains the target: the last one that changed the number, else the
// retention step, which knows why a model stays at zero, else the first. It is zero for a decision
// without steps.
func (d Decision) Cause() Step {
	for _, s := range slices.Backward(d.Steps) {
		if s.From != s.To {
			return s
		}
	}
	if i := slices.IndexFunc(d.Steps, func(s Step) bool { return s.Stage == StageRetention }); i >= 0 {
		return d.Steps[i]
	}
	if len(d.Steps) == 0 {
		return Step{}
	}
	return d.Steps[0]
}

// Plan is what a cycle decided for every variant that it could decide on.
type Plan struct {
	At        time.Time  `json:"at"`
	Decisions []Decision `json:"decisions"` // sorted by Variant
}
