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
//	Decided              the decision is another number
//	ScaledUp, ScaledDown, ScaledToZero, ScaledFromZero
//	                     the target was set to another number, towards the decision
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
//	                   True  MetricsAging           the oldest is Aging, or not of its replica alone
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
//	                   absent                       no other object names the target
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
// ScalerFollowing says whether the decision is carried out, and the next one would be.
// While the target has other replicas than were decided on and it is for the manager to
// set them (scaling.Scalers.Turn), it names at once:
//
//	TargetNotMoving      the variant is paused
//	                     who else scales the target is not known, for a minute
//	                     they could not be set
//	                     they were, and do not stay so
//	Following            else
//
// Otherwise it names the first that holds, of the one object that scales the target. An
// obstacle to any decision counts while the target has what was decided, too, unless the
// manager itself would set one replica more or less; one to this decision while that is
// for the object to carry out. What may pass counts after a minute, four syncs of an
// HPA: "lasts" is that it has been so for that time, "waits" that the decision has made
// no progress for it. What was named before is named until it no longer holds. The
// table of the code is obstacles.
//
//	NoScaler             any    there is no such object
//	HPANotReadingMetric  any    there are several, which stops them all
//	                     any    it stands still because the target is at zero
//	ScalerPaused         any    it is paused
//	HPANotReadingMetric  any    what it is told to read is not this decision
//	                     any    it says that it cannot read it, and that lasts
//	                     any    it has not read it so far, and that lasts: it is new, or
//	                            has values of other metrics alone
//	HPALimited           this   the decision is beyond its bounds
//	                     this   the decision is in a direction in which it never goes
//	                     any    these leave no number but the present one
//	HPATolerance         this   the decision is within the tolerance that it sets
//	                     this   it is within that of the cluster, and waits
//	TargetNotMoving      any    it cannot read or write the scale, and that lasts
//	                     this   the same, and the decision waits
//	                     this   a step says so, and the scaler's window and policies have
//	                            had their time as well
//	                     any    the target cannot create its pods, and that lasts
//	PodsUnschedulable    any    a step says so
//	PodsNotReady (True)  any    a step says so
//	Following (True)            else
//
// Who scales the target may be unknown; then what was named stays, and else the steps
// alone decide. A gauge says the same as the condition.
//
// While a decision holds for reasons that say nothing about an overdue order
// (another variant of the model is on its way, there is no analysis), the order
// stays as it was last reported, so that ScalerFollowing does not flap.
package controller
