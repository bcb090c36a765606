package metrics

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// The names of the instruments. They are part of the contract with users.
const (
	DesiredReplicas        = "wva_desired_replicas"
	AdvisedReplicas        = "wva_advised_replicas"
	CurrentReplicas        = "wva_current_replicas"
	DesiredRatio           = "wva_desired_ratio"
	ReplicaScaling         = "wva_replica_scaling_total"
	SaturationLevel        = "wva_saturation_level"
	ScalingDecision        = "wva_scaling_decision"
	DecisionAge            = "wva_decision_age_seconds"
	CurrentLoad            = "wva_current_load"
	PredictedTTFT          = "wva_predicted_ttft_seconds"
	PredictedITL           = "wva_predicted_itl_seconds"
	LearnedWindows         = "wva_learned_windows"
	LearnedITL             = "wva_learned_itl_seconds"
	MeasuredITL            = "wva_measured_itl_seconds"
	ObjectiveTTFT          = "wva_objective_ttft_seconds"
	ObjectiveITL           = "wva_objective_itl_seconds"
	VariantInfo            = "wva_variant_info"
	Replicas               = "wva_replicas"
	ReplicaCost            = "wva_replica_cost"
	ReplicaGPUs            = "wva_replica_gpus"
	GrowthHeld             = "wva_growth_held"
	ScalerFollowing        = "wva_scaler_following"
	PlanCost               = "wva_plan_cost"
	SolverDuration         = "wva_solver_duration_seconds"
	SolverGap              = "wva_solver_gap_ratio"
	InventoryGPUs          = "wva_inventory_gpus"
	Paused                 = "wva_paused"
	AwaitingApproval       = "wva_awaiting_approval_replicas"
	TargetConflicts        = "wva_deployment_target_conflicts"
	ConflictResolution     = "wva_conflict_resolution_status"
	MetricsAge             = "wva_metrics_age_seconds"
	CycleDuration          = "wva_cycle_duration_seconds"
	Cycles                 = "wva_cycles_total"
	CollectorQueries       = "wva_collector_queries_total"
	CollectorQueryDuration = "wva_collector_query_duration_seconds"
	CollectorCacheHits     = "wva_collector_cache_hits_total"
	CollectorCacheMisses   = "wva_collector_cache_misses_total"
	BackgroundFetches      = "wva_collector_background_fetches_total"
	ScaleUpdates           = "wva_scale_updates_total"
	NamespaceLeftOut       = "wva_namespace_left_out"
	Errors                 = "wva_errors_total"
)

// LabelProbe is the label in a selector of External Metrics with which wva doctor --probe asks for
// its own number. No series has it.
const LabelProbe = "wva_probe"

// The names of the labels.
const (
	LabelVariant            = "variant_name"
	LabelVariantID          = "variant_id"
	LabelTarget             = "target_name"
	LabelTargetKind         = "target_kind"
	LabelDeployment         = "deployment"
	LabelNamespace          = "namespace"
	LabelAccelerator        = "accelerator_type"
	LabelControllerInstance = "controller_instance"
	LabelModel              = "model_name"
	LabelDirection          = "direction"
	LabelReason             = "reason"
	LabelSignal             = "signal"
	LabelQuantity           = "quantity"
	LabelOutcome            = "outcome"
	LabelQuery              = "query"
	LabelComponent          = "component"
	LabelResolution         = "resolution"
	LabelState              = "state"
	LabelPercentile         = "percentile"
	LabelWhat               = "what"
	LabelBound              = "bound"
)

// Kind is the kind of an instrument.
type Kind string

// The kinds of instruments, as in the exposition format.
const (
	Gauge     Kind = "gauge"
	Counter   Kind = "counter"
	Histogram Kind = "histogram"
)

// Instrument describes one metric family.
type Instrument struct {
	Name string
	Kind Kind
	// Unit is the base unit of the values, "" for a counter of events and where a label selects the
	// quantity and the help states the unit.
	Unit string
	// Labels are in the order of their values.
	Labels []string
	Help   string
}

// Catalogue returns every instrument, decision series first, without those of legacyInstruments.
// The labels are those of a process without a controller instance; with one, the replica families
// (byInstance) have LabelControllerInstance as their last label.
func Catalogue() []Instrument {
	return append(decisionInstruments(), healthInstruments()...)
}

// byInstance reports whether the family carries the controller instance.
func (i Instrument) byInstance() bool {
	switch i.Name {
	case DesiredReplicas, AdvisedReplicas, CurrentReplicas, DesiredRatio, ReplicaScaling:
		return true
	default:
		return false
	}
}

// decisionInstruments returns the families that Publish fills.
func decisionInstruments() []Instrument {
	target := []string{LabelVariant, LabelTarget, LabelTargetKind, LabelNamespace, LabelAccelerator}
	variant := []string{LabelVariant, LabelNamespace}
	return []Instrument{
		{
			DesiredReplicas, Gauge, "replicas", target,
			"Replicas that the variant should run, as decided by the latest cycle.",
		},
		{
			AdvisedReplicas, Gauge, "replicas", target,
			"Replicas that the variant should run, as decided by the latest cycle, where decisions are advice (WVA_ADVISORY, or the " +
				"annotation wva.llmd.ai/actuation: advisory). The variant then has no wva_desired_replicas.",
		},
		{
			CurrentReplicas, Gauge, "replicas", target,
			"Replicas that the scale target is asked to run now. No series while the target cannot be read.",
		},
		{
			DesiredRatio, Gauge, "ratio", target,
			"Desired replicas divided by current replicas; the desired replicas where the current ones are 0.",
		},
		{
			ReplicaScaling, Counter, "", append(slices.Clip(target), LabelDirection, LabelReason),
			"Changes of the desired replicas, by direction (up or down) and the reason of the decision.",
		},
		{
			Replicas, Gauge, "replicas", append(slices.Clip(variant), LabelState),
			"Replicas that the scale target is asked to run, by what has become of them: state ready, starting (on a node and " +
				"not Ready, or yet to be created) and unschedulable (no node takes them). No series while the target cannot be read.",
		},
		{
			VariantInfo, Gauge, "", append(slices.Clip(variant), LabelModel, LabelAccelerator),
			"The model that a variant serves and the accelerator of its replicas. The value is always 1.",
		},
		{
			ReplicaCost, Gauge, "", variant,
			"Cost of one replica of the variant for an hour, in the unit of the configured costs.",
		},
		{
			ReplicaGPUs, Gauge, "", variant,
			"Accelerators that one replica of the variant takes: those that its pods request, at least 1.",
		},
		{
			GrowthHeld, Gauge, "", append(slices.Clip(variant), LabelReason),
			"1 while a variant is not given the replicas that its load calls for, with the reason. No series otherwise.",
		},
		{
			ScalerFollowing, Gauge, "", append(slices.Clip(variant), LabelReason),
			"The condition ScalerFollowing with its reason: 1 while the decision on a variant is carried out and nothing is known " +
				"that would stop the next one, else 0. No series while that is not known.",
		},
		{
			SaturationLevel, Gauge, "", append(slices.Clip(variant), LabelSignal),
			"Saturation of a variant, the mean over its replicas that report of each one's peak over the window: " +
				"signal kv_cache is the part of the KV cache in use (ratio), queue the waiting requests per replica.",
		},
		{
			ScalingDecision, Gauge, "", variant,
			"Direction of the decision against the current replicas: -1 down, 0 hold, 1 up.",
		},
		{
			DecisionAge, Gauge, "seconds", variant,
			"Time since the analysis behind the decision. It grows while a fallback stands; where no analysis " +
				"was ever made, it is the time since the fallback began.",
		},
		{
			Paused, Gauge, "", variant,
			"Whether the annotation wva.llmd.ai/paused asks that the decision stays as it is: 1 if so, else 0.",
		},
		{
			AwaitingApproval, Gauge, "", variant,
			"Replicas of a variant that wait for approval to be given up. No series where the annotation wva.llmd.ai/approve does not ask for it.",
		},
		{
			PlanCost, Gauge, "", nil,
			"Cost of the decided replicas of all variants together, in the unit of the configured costs, for an hour.",
		},
		{
			PredictedTTFT, Gauge, "seconds", append(slices.Clip(variant), LabelModel),
			"Mean time to first token that the queueing model expects of the measured load on the Ready replicas of the " +
				"model, the same for each of its variants. No series while it expects nothing.",
		},
		{
			PredictedITL, Gauge, "seconds", append(slices.Clip(variant), LabelModel),
			"Mean inter-token latency that the queueing model expects of the measured load on the Ready replicas of the " +
				"model, the same for each of its variants. No series while it expects nothing.",
		},
		{
			LearnedWindows, Gauge, "", variant,
			"Windows of the replicas of a variant that count in what is learned of their speed: 3 are enough, and 10 count at " +
				"most of each band of concurrency.",
		},
		{
			MeasuredITL, Gauge, "seconds", variant,
			"Mean inter-token latency that the replicas of a variant show over the window. No series while none decodes.",
		},
		{
			LearnedITL, Gauge, "seconds", append(slices.Clip(variant), LabelBound),
			"Mean inter-token latency that what is learned of a variant comes to for the requests that its replicas compute now: " +
				"bound mean, and low and high, which hold it with a probability of 0.9. No series while none decodes or nothing is known.",
		},
		{
			ObjectiveTTFT, Gauge, "seconds",
			[]string{LabelNamespace, LabelModel, LabelPercentile},
			"TTFT that the service class of a model asks for, and of which percentile of its requests. No series without one.",
		},
		{
			ObjectiveITL, Gauge, "seconds",
			[]string{LabelNamespace, LabelModel, LabelPercentile},
			"ITL that the service class of a model asks for, and of which percentile of its tokens. No series without one.",
		},
		{
			SolverDuration, Gauge, "seconds", nil,
			"Time that the latest cycle took to decide, after everything was collected.",
		},
		{
			SolverGap, Gauge, "ratio", nil,
			"How far the cost of what limited models share may be from the least possible, 0 to 1. No series while " +
				"nothing has to be shared out.",
		},
		{
			InventoryGPUs, Gauge, "",
			[]string{LabelAccelerator, LabelState},
			"Accelerators of the nodes that pods can be placed on, while a model is limited by them: state total, and " +
				"free for those that no pod asks for. No series while the stock is not known.",
		},
		{
			TargetConflicts, Gauge, "",
			[]string{LabelDeployment, LabelTargetKind, LabelNamespace},
			"VariantAutoscalings that name the same scale target, where there is more than one. No series without a conflict.",
		},
		{
			ConflictResolution, Gauge, "",
			[]string{LabelVariant, LabelNamespace, LabelDeployment, LabelResolution},
			"What became of each VariantAutoscaling in a conflict over a scale target: 1 with resolution winner, 0 with " +
				"resolution suppressed. No series without a conflict.",
		},
		{
			CurrentLoad, Gauge, "", append(slices.Clip(variant), LabelModel, LabelQuantity),
			"Load of the model that the variant serves, the same for each of the model's variants: quantity " +
				"arrival_rate (requests per second), input_tokens and output_tokens (mean tokens per request).",
		},
		{
			MetricsAge, Gauge, "seconds",
			[]string{LabelNamespace, LabelModel},
			"Time since the oldest scrape among those that the latest cycle knew of the model's live replicas. " +
				"It grows between cycles. No series while none of them was scraped.",
		},
	}
}

// healthInstruments returns the families about the process itself.
func healthInstruments() []Instrument {
	return []Instrument{
		{CycleDuration, Histogram, "seconds", nil, "Duration of a cycle from its start to the plan."},
		{Cycles, Counter, "", []string{LabelOutcome}, "Cycles run, by outcome (success or failure)."},
		{
			CollectorQueries, Counter, "",
			[]string{LabelQuery, LabelOutcome},
			"Queries sent to the metrics source, by query and outcome (success or failure).",
		},
		{
			CollectorQueryDuration, Histogram, "seconds",
			[]string{LabelQuery},
			"Duration of a query to the metrics source.",
		},
		{CollectorCacheHits, Counter, "", nil, "Models whose measurement was found in the collector's cache."},
		{CollectorCacheMisses, Counter, "", nil, "Models whose measurement was not found in the collector's cache, or had expired."},
		{
			BackgroundFetches, Counter, "",
			[]string{LabelOutcome},
			"Passes of background fetching, which keeps the cache warm between cycles, by outcome (success or failure).",
		},
		{
			ScaleUpdates, Counter, "",
			[]string{LabelOutcome},
			"Attempts to set the replicas of a target by its scale subresource, which wva.llmd.ai/actuation asks for, by " +
				"outcome (success, failure, conflict or forbidden).",
		},
		{
			NamespaceLeftOut, Gauge, "",
			[]string{LabelNamespace, LabelWhat},
			"What is left out of a namespace because it is beyond its budget (WVA_NAMESPACE_*): VariantAutoscalings for what variants, " +
				"object_bytes and batch_sizes, pods whose pages are not kept for page_bytes and series, findings, and events " +
				"since it last was within its budget of them. No series for a namespace that is within its budget.",
		},
		{Errors, Counter, "", []string{LabelComponent}, "Errors, by the component that met them."},
	}
}

// family returns the instrument as client_golang needs it. Where a controller instance is set, its
// label is the last one of the families byInstance.
func (i Instrument) family(controllerInstance string) family {
	labels := i.Labels
	if controllerInstance != "" && i.byInstance() {
		labels = append(slices.Clip(labels), LabelControllerInstance)
	}
	kind := prometheus.GaugeValue
	if i.Kind == Counter {
		kind = prometheus.CounterValue
	}
	return family{desc: prometheus.NewDesc(i.Name, i.Help, labels, nil), kind: kind}
}
