// Package controller is where decisions meet the objects that users see: it
// writes the decisions of the ledger into the status of each VariantAutoscaling,
// reports changes as events, wakes the loop when something to scale changes, and
// gives a new process the decisions of the last one. It computes no number.
//
// Status, one object at a time, after every cycle:
//
//	ledger.Record ──> every VariantAutoscaling ──> next(object, view) ──> differs? ──> write, tell
//
// A status is written when its meaning changes. The times and averages that
// move by themselves (lastRunTime, ttftAverage, itlAverage) are refreshed with a
// write and cause none, and messages hold no such number: a steady fleet causes
// no writes. Most events follow from the difference between the stored status
// and the written one, so a restart repeats none. It may repeat those that no
// status holds, marked with *. Events about a decision or a condition end with
// the id of the cycle:
//
//	Decided              the decision is another number
//	Advised              the same, for a decision that is advice
//	ScaledUp, ScaledDown, ScaledToZero, ScaledFromZero
//	                     the target was set to another number, towards the decision
//	Held                 a fallback or a pause begins, or the variant cannot be decided
//	                     on; the first metrics of a variant did not come in time
//	NotFollowed          ScalerFollowing names another obstacle
//	TargetConflict       the set of variants that name the target changed
//	InvalidConfiguration ConfigurationValid becomes False, or changes its reason
//	InvalidConfiguration* costs of variants of one model cannot be compared; requests
//	                     take longer than the grace period of pods that the manager
//	                     removes
//	BudgetExceeded       the object is beyond the budget of its namespace
//	BudgetExceeded*      metrics pages or events of its namespace are left out
//	AwaitingApproval     a reduction begins to wait for approval
//	Frozen               a freeze window begins
//	Limited*             a step keeps it from the replicas that its load calls for
//	StatusNotWritten*    the API server forbids writing the status
//	OlderDefinition*     the definition in the cluster drops a part of the status
//	NotServed*           the namespace is excluded
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
//	                   True  Held                   the variant cannot be decided on
//	                   True  Paused                 the decision is frozen
//	                   True  FallbackUsed           decided without an analysis
//	                   False OptimizationFailed     no variant of the model can meet its
//	                                                objectives; sized to the best possible
//	                   True  OptimizationSucceeded  decided by an analysis
//	ScalerFollowing    Unknown                      nothing was decided or read, or the
//	                                                decision is advice
//	                   True or False                see below
//	DeploymentTargetConflict
//	                   True  ConflictResolvedByArbitration  this object scales the target
//	                   True  SuppressedDueToConflict        another object does
//	                   absent                       no other object names the target
//	WithinBudget       False BudgetExceeded         the object is left out
//	                   absent                       else
//	ChangesAllowed     False AwaitingApproval       a reduction waits for approval
//	                   False GrowthOnly, Frozen     a freeze window holds
//	                   True  Approved               an approved reduction is under way
//	                   absent                       else
//	ConfigurationValid False InvalidConfiguration   an entry that concerns it, or part of
//	                                                its spec or annotations, is not in
//	                                                force
//	                   False ServiceClassMissing    the class that it names is not in force,
//	                                                or its engine needs one and has none
//	                   False ProfileMissing         its engine needs a profile: none is
//	                                                learned, shared, stated or computed
//	                   False ProfileContradicted    measurements contradict the profile,
//	                                                until a comparison finds otherwise
//	                   True  ConfigurationAccepted  else
//	Ready              False, with the reason of the first of the first four that is
//	                   not True, or is Paused or Held; SuppressedDueToConflict for a
//	                   suppressed object, BudgetExceeded for one that is left out
//	                   True  Ready                  else
//
// A suppressed object, and one that is left out, keeps the rest of its status; only
// ConfigurationValid is updated, and actuation.applied becomes false.
//
// Configuration keeps a config.Store up to date with the ConfigMaps of the system
// namespace and of those with VariantAutoscalings:
//
//	ConfigMap ──> Store ──> may a decision come out otherwise? ──> one cycle
//	                   └──> findings ──> events of the ConfigMap, conditions
//
// ScalerFollowing says whether the decision is carried out, and the next one would be.
// While the target does not have the replicas decided on and the manager has to set them
// (scaling.Scalers.Turn), it names at once:
//
//	TargetNotMoving      the variant is paused
//	                     the other scalers of the target are unknown for a minute
//	                     the manager could not set the replicas
//	                     it set them, and they do not stay so
//	Following            else
//
// Otherwise it names the first row that holds for the one scaler of the target. An
// obstacle to any decision also counts while the target has the replicas decided on,
// unless the manager itself would set one replica more or less. An obstacle to this
// decision counts while the scaler has to carry it out. An obstacle that may pass counts
// after a minute, four syncs of an HPA: "lasts" means that it has held for a minute,
// "waits" that the decision has made no progress for a minute. An obstacle that was named
// is named until it no longer holds. In the code, the table is obstacles.
//
//	NoScaler             any    no object scales the target
//	HPANotReadingMetric  any    several do, which stops them all
//	                     any    it does not act because the target is at zero
//	ScalerPaused         any    it is paused
//	HPANotReadingMetric  any    its spec does not read this decision
//	                     any    it says that it cannot read it, and that lasts
//	                     any    it has not read it so far, and that lasts: it is new, or
//	                            has values of other metrics alone
//	HPALimited           this   the decision is beyond its bounds
//	                     this   its selectPolicy disables the direction of the decision
//	                     any    both together allow no number but the present one
//	HPATolerance         this   the decision is within the tolerance that it sets
//	                     this   it is within that of the cluster, and waits
//	TargetNotMoving      any    it cannot read or write the scale, and that lasts
//	                     this   the same, and the decision waits
//	                     this   a step says so, and the time of the scaler's window and
//	                            policies has passed, too
//	PodsNotReady (True)  any    pods cannot pull their image, and that lasts
//	TargetNotMoving      any    the target cannot create its pods, and that lasts
//	PodsUnschedulable    any    a step says so
//	PodsNotReady (True)  any    a step says so
//	Following (True)            else
//
// While the scalers of the target are unknown, an obstacle that was named stays, and
// without one the steps alone decide. A gauge says the same as the condition.
//
// While a decision holds for reasons that say nothing about an overdue order
// (another variant of the model is in transition, there is no analysis), the order
// stays as last reported, so that ScalerFollowing does not flap.
package controller
