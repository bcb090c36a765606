package v1alpha1

// ConditionType is the type of a condition of a VariantAutoscaling. Every
// condition carries observedGeneration, its lastTransitionTime moves only when
// its status flips, and its message holds nothing that moves by itself.
type ConditionType string

// The conditions.
const (
	// ConditionTargetResolved is True while the scale target exists. Reasons:
	// TargetFound; TargetNotFound.
	ConditionTargetResolved ConditionType = "TargetResolved"

	// ConditionMetricsAvailable is True while the metrics of the model are young
	// enough to decide on. Reasons: MetricsFound, MetricsAging; MetricsMissing,
	// MetricsStale, PrometheusError.
	ConditionMetricsAvailable ConditionType = "MetricsAvailable"

	// ConditionOptimizationReady is True while a decision stands. Reasons:
	// OptimizationSucceeded, FallbackUsed, Paused, Held; OptimizationFailed,
	// MetricsUnavailable.
	ConditionOptimizationReady ConditionType = "OptimizationReady"

	// ConditionConfigurationValid is False while an entry that concerns this
	// object cannot be used. It does not stand in the way of Ready, because the
	// last good value or the default is in force. Reasons: ConfigurationAccepted;
	// InvalidConfiguration, ProfileMissing, ServiceClassMissing,
	// ProfileContradicted.
	ConditionConfigurationValid ConditionType = "ConfigurationValid"

	// ConditionScalerFollowing is False while the scaler that should carry out the decision
	// does not, or would not carry out the next one, and Unknown while the target
	// cannot be read or nothing is decided, with TargetNotFound or MetricsUnavailable.
	// Reasons: Following, PodsNotReady; NoScaler, HPANotReadingMetric, HPALimited,
	// HPATolerance, ScalerPaused, TargetNotMoving, PodsUnschedulable.
	ConditionScalerFollowing ConditionType = "ScalerFollowing"

	// ConditionDeploymentTargetConflict is True while several objects scale one
	// target, on the winner as on the losers, and absent otherwise. Reasons:
	// ConflictResolvedByArbitration, SuppressedDueToConflict.
	ConditionDeploymentTargetConflict ConditionType = "DeploymentTargetConflict"

	// ConditionWithinBudget is False while the object is not served, because it is
	// beyond what the manager does for one namespace, and absent otherwise. Reason:
	// BudgetExceeded.
	ConditionWithinBudget ConditionType = "WithinBudget"

	// ConditionChangesAllowed is False while a reduction waits for approval, or a freeze window is
	// in force; True while an approved reduction is under way; and absent otherwise. It does not
	// stand in the way of Ready. Reasons: Approved; AwaitingApproval, Frozen, GrowthOnly.
	ConditionChangesAllowed ConditionType = "ChangesAllowed"

	// ConditionReady is True while nothing stands in the way. Reasons: Ready;
	// else the reason of the first of the conditions above that does.
	ConditionReady ConditionType = "Ready"
)

// ConditionReason is the reason of a condition of a VariantAutoscaling.
type ConditionReason string

// Reasons of TargetResolved.
const (
	// ReasonTargetFound (True): the scale target exists.
	ReasonTargetFound ConditionReason = "TargetFound"
	// ReasonTargetNotFound (False): the scale target does not exist, or has no
	// scale subresource.
	ReasonTargetNotFound ConditionReason = "TargetNotFound"
)

// Reasons of MetricsAvailable.
const (
	// ReasonMetricsFound (True): the metrics are Fresh.
	ReasonMetricsFound ConditionReason = "MetricsFound"
	// ReasonMetricsAging (True): the metrics are between the fresh and the stale
	// limit, or are not those of each replica alone, which the message says; the
	// variant may grow, shrinking waits.
	ReasonMetricsAging ConditionReason = "MetricsAging"
	// ReasonMetricsMissing (False): there are no metrics for this model. The
	// message names what to check and the model names that do exist.
	ReasonMetricsMissing ConditionReason = "MetricsMissing"
	// ReasonMetricsStale (False): the metrics are older than the stale limit.
	ReasonMetricsStale ConditionReason = "MetricsStale"
	// ReasonPrometheusError (False): Prometheus cannot be reached or answers with
	// an error.
	ReasonPrometheusError ConditionReason = "PrometheusError"
)

// Reasons of OptimizationReady.
const (
	// ReasonOptimizationSucceeded (True): the decision rests on an analysis of
	// this cycle.
	ReasonOptimizationSucceeded ConditionReason = "OptimizationSucceeded"
	// ReasonFallbackUsed (True): there was no analysis; the larger of the
	// previous decision and what runs stands.
	ReasonFallbackUsed ConditionReason = "FallbackUsed"
	// ReasonPaused (True, and False on Ready): the annotation AnnotationPaused
	// freezes the decision.
	ReasonPaused ConditionReason = "Paused"
	// ReasonHeld (True, and False on Ready): the variant cannot be decided on, and stays
	// at the larger of the previous decision and what runs. The message says why: an
	// annotation of a scaler that is a variant is wrong, the groups of a LeaderWorkerSet differ
	// in size, or the roles of the model's variants do not serve a request together.
	ReasonHeld ConditionReason = "Held"
	// ReasonOptimizationFailed (False): no variant of the model can meet its
	// objectives. The message holds the latencies that are possible, to which the
	// replicas are sized.
	ReasonOptimizationFailed ConditionReason = "OptimizationFailed"
	// ReasonMetricsUnavailable (False): there is no analysis, no previous
	// decision, and the target cannot be read; nothing is published.
	ReasonMetricsUnavailable ConditionReason = "MetricsUnavailable"
)

// Reasons of ConfigurationValid.
const (
	// ReasonConfigurationAccepted (True): every entry that concerns the object is
	// in force.
	ReasonConfigurationAccepted ConditionReason = "ConfigurationAccepted"
	// ReasonInvalidConfiguration (False): an entry has no valid value. The
	// message names the key, the value and the accepted range.
	ReasonInvalidConfiguration ConditionReason = "InvalidConfiguration"
	// ReasonProfileMissing (False): the latency model of the variant has no
	// coefficients.
	ReasonProfileMissing ConditionReason = "ProfileMissing"
	// ReasonServiceClassMissing (False): no service class holds objectives for
	// the model.
	ReasonServiceClassMissing ConditionReason = "ServiceClassMissing"
	// ReasonProfileContradicted (False): the measured latency contradicts the
	// profile. The message holds both numbers.
	ReasonProfileContradicted ConditionReason = "ProfileContradicted"
)

// Reasons of WithinBudget.
const (
	// ReasonBudgetExceeded (False, and on Ready): the namespace has more objects, or
	// larger ones, than its budget allows; the older ones are served. The message holds
	// the limit and its setting.
	ReasonBudgetExceeded ConditionReason = "BudgetExceeded"
)

// Reasons of ChangesAllowed.
const (
	// ReasonApproved (True): a reduction was approved, by wva approve or by the time that
	// passed, and the target has not the number of replicas yet.
	ReasonApproved ConditionReason = "Approved"
	// ReasonAwaitingApproval (False): a reduction waits for approval, as the annotation
	// AnnotationApprove asks. The message holds the numbers and the command.
	ReasonAwaitingApproval ConditionReason = "AwaitingApproval"
	// ReasonFrozen (False): a freeze window allows no change.
	ReasonFrozen ConditionReason = "Frozen"
	// ReasonGrowthOnly (False): a freeze window allows no reduction.
	ReasonGrowthOnly ConditionReason = "GrowthOnly"
)

// Reasons of ScalerFollowing.
const (
	// ReasonFollowing (True): the target has the decided number of replicas or is
	// on its way there, and nothing is known that would stop the next decision.
	ReasonFollowing ConditionReason = "Following"
	// ReasonPodsNotReady (True): the target was given the decided number of replicas,
	// and pods of it are not Ready, for longer than is usual. The scaler did its part.
	ReasonPodsNotReady ConditionReason = "PodsNotReady"
	// ReasonAdvisory (Unknown, and False on Ready): the decision is advice, and is neither
	// published to scalers nor carried out. The message names the scaler of the target.
	ReasonAdvisory ConditionReason = "Advisory"
	// ReasonNoScaler (False): nothing scales the target on the decision: no HPA,
	// no KEDA ScaledObject, no actuation by the scale subresource. Named before
	// anything has to be scaled.
	ReasonNoScaler ConditionReason = "NoScaler"
	// ReasonHPANotReadingMetric (False): the HPA or ScaledObject does not read the
	// decision, cannot, or is not alone. Named before anything has to be scaled.
	ReasonHPANotReadingMetric ConditionReason = "HPANotReadingMetric"
	// ReasonHPALimited (False): the bounds or the behavior of the HPA or
	// ScaledObject keep it from the decided number, or from every number but the
	// present one.
	ReasonHPALimited ConditionReason = "HPALimited"
	// ReasonHPATolerance (False): the tolerance of the HPA, 10 % unless set,
	// swallows the change.
	ReasonHPATolerance ConditionReason = "HPATolerance"
	// ReasonScalerPaused (False): the ScaledObject is told to leave the target alone.
	// Named before anything has to be scaled.
	ReasonScalerPaused ConditionReason = "ScalerPaused"
	// ReasonTargetNotMoving (False): the target did not get the replicas in the time
	// that its scaler may take, its pods cannot be created, or reading or writing its
	// scale is refused. The message says which.
	ReasonTargetNotMoving ConditionReason = "TargetNotMoving"
	// ReasonPodsUnschedulable (False): pods of the target wait for a node.
	ReasonPodsUnschedulable ConditionReason = "PodsUnschedulable"
)

// Reasons of DeploymentTargetConflict.
const (
	// ReasonConflictResolvedByArbitration (True): other objects name the same
	// target, and this one, the oldest, scales it.
	ReasonConflictResolvedByArbitration ConditionReason = "ConflictResolvedByArbitration"
	// ReasonSuppressedDueToConflict (True): an older object scales the same
	// target; this one publishes nothing and keeps its last decision.
	ReasonSuppressedDueToConflict ConditionReason = "SuppressedDueToConflict"
)

// Reasons of Ready.
const (
	// ReasonReady (True): nothing stands in the way.
	ReasonReady ConditionReason = "Ready"
)
