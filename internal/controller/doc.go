// Package controller is where decisions meet the objects that users see: it
// writes what the ledger knows into the status of each VariantAutoscaling,
// tells changes as events, wakes the loop when something to scale changes, and
// gives a new process the decisions of the last one. It computes no number.
//
// Status, one object at a time, after every cycle:
//
//	ledger.Record ──> every VariantAutoscaling ──> next(object, view) ──> differs? ──> write, tell
//
// A status is written when its meaning changes. The times and averages that
// move by themselves (lastRunTime, ttftAverage, itlAverage) are refreshed with a
// write and are no reason for one, and messages hold no such thing: a steady
// fleet causes no writes. Events follow from the difference between the status
// that was stored and the one that was written, so that a restart repeats none;
// but for Limited, costs and the time to end, which no status holds. Each ends with the id of
// its cycle:
//
//	ScaledUp, ScaledDown, ScaledToZero, ScaledFromZero
//	                     the decision is another number
//	Held                 a fallback begins, or a pause; the first metrics of a variant
//	                     were awaited, and did not come
//	NotFollowed          ScalerFollowing names something else
//	TargetConflict       others name the target, or other others
//	InvalidConfiguration ConfigurationValid is False, or for another reason; the
//	                     costs of variants of one model cannot be compared; or pods
//	                     that the manager takes away may not end as slowly as
//	                     requests do
//	Limited              a step keeps it from what its load calls for
//
// lastUpdate is the last change of the decision:
//
//	number     fallback        reason              updateTime, numReplicasChanged
//	differs    any             of the decision     when it was decided, the difference
//	same       began or ended  of the decision     now, 0
//	same       as before       the stored one      as stored
//
// The conditions, from what the ledger knows. "Own" are the Ready or reporting
// pods of the variant, or of the model while the variant has none:
//
//	TargetResolved     True  TargetFound            the target was read
//	                   False TargetNotFound         it was not
//	MetricsAvailable   False PrometheusError        the snapshot has a fault
//	                   False MetricsStale           a reading of an own pod is Stale
//	                   True  MetricsAging           the oldest is Aging
//	                   True  MetricsFound           all are Fresh; none, and a pod is stuck
//	                   False MetricsMissing         there is none
//	OptimizationReady  False MetricsUnavailable     nothing was decided
//	                   True  FallbackUsed           decided without an analysis
//	                   False OptimizationFailed     no variant of the model can meet its
//	                                                objectives; decided by saturation
//	                   True  OptimizationSucceeded  decided by one
//	ScalerFollowing    Unknown                      nothing was decided or read
//	                   True or False                see below
//	DeploymentTargetConflict
//	                   True  ConflictResolvedByArbitration  this one scales the target
//	                   True  SuppressedDueToConflict        another does
//	                   absent                       nobody else names the target
//	ConfigurationValid False InvalidConfiguration   an entry that concerns it, or part of
//	                                                its spec or annotations, is not in
//	                                                force
//	                   False ServiceClassMissing    nor the class that it names, or its
//	                                                engine needs one and there is none
//	                   False ProfileMissing         its engine needs a profile, likewise
//	                   False ProfileContradicted    more than half off what is measured,
//	                                                until that is found to be otherwise
//	                   True  ConfigurationAccepted  else
//	Ready              False, with the reason of the first of the first four that
//	                   is not True; SuppressedDueToConflict for the suppressed
//	                   True  Ready                  else
//
// A suppressed object keeps everything else that its status held, but for what
// is said of its configuration.
//
// Configuration keeps a config.Store up to date with the ConfigMaps of the system
// namespace and of those with VariantAutoscalings:
//
//	ConfigMap ──> Store ──> may a decision come out otherwise? ──> one cycle
//	                   └──> findings ──> events of the ConfigMap, conditions
//
// ScalerFollowing, while the target has other replicas than were decided on and it is
// for the manager to set them (scaling.Scalers.Turn), names at once:
//
//	TargetNotMoving      the variant is paused
//	                     who else scales the target is not known, for a minute
//	                     they could not be set
//	                     they were, and do not stay so
//	Following            else
//
// While it is for others, the first that holds, of the one object that scales the
// target. A decision has a minute without progress, four syncs of an HPA, before
// anybody is named; what was named before is so until it no longer holds.
//
//	NoScaler             there is no such object
//	HPANotReadingMetric  there are several, which stops them all
//	                     it stands still because the target is at zero
//	TargetNotMoving      it is paused
//	HPANotReadingMetric  its metrics are not this variant's, or it cannot read them
//	HPALimited           the decision is beyond its bounds, or in a direction in
//	                     which it never goes
//	HPATolerance         the decision is within its tolerance
//	TargetNotMoving      it may not set the replicas
//	TargetNotMoving      a step says so, and the scaler's window and policies have
//	                     had their time as well
//	Following            else
//
// Where the target has the replicas decided on, PodsUnschedulable if a step says
// so, else Following. Who scales the target may be unknown; then the steps alone
// decide.
//
// While a decision holds for reasons that say nothing about an overdue order
// (another variant of the model is on its way, there is no analysis), the order
// stays as it was last reported, so that ScalerFollowing does not flap.
package controller
