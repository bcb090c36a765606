package config

import (
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/saturation"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// ModelSettings are the complete settings for the decisions about one model.
type ModelSettings struct {
	Model scaling.ModelKey
	// Saturation holds the thresholds of the spare capacity analysis.
	Saturation saturation.Thresholds
	// Analyzer is the measure of saturation, one of Analyzers.
	Analyzer string
	// NamesSpare is whether an entry sets how spare capacity is measured: a trigger of it, or
	// analyzerName. Engine hybrid then measures saturation by Analyzer, else in tokens.
	NamesSpare bool
	// ScaleUpThreshold and ScaleDownBoundary are utilizations, ratios in (0, 1], the first the
	// larger. The token capacity analysis (AnalyzerTokens) grows above the first and shrinks below
	// the second.
	ScaleUpThreshold, ScaleDownBoundary float64
	// Engine is the engine that decides, one of Engines.
	Engine string
	// Limited is whether decisions stay within the inventory.
	Limited bool
	// ShareProfiles is Settings.ShareProfiles.
	ShareProfiles bool
	// ScaleUpStabilization and ScaleDownStabilization are how long a change must have been wanted,
	// 0 to 1h; 0 is at once.
	ScaleUpStabilization, ScaleDownStabilization time.Duration
	// ScaleDownStartUps is the same for a reduction as a number of start-ups of a replica, 0 to 10.
	// The longer of both applies.
	ScaleDownStartUps float64
	// MaxScaleUpStep and MaxScaleDownStep are the most replicas that one decision adds or removes,
	// 0 for no limit. MaxScaleDownStep may be StepAuto.
	MaxScaleUpStep, MaxScaleDownStep int
	// TTFTPercentile and ITLPercentile are the percentiles that must meet the objectives, ratios in
	// [0, 1); 0 is the mean.
	TTFTPercentile, ITLPercentile float64
	// Attainment is the share of requests that must meet the objective, a ratio in [0.5, 0.999].
	// AttainmentWindow is the time over which they are counted, 1h to 7d.
	Attainment       float64
	AttainmentWindow time.Duration
	// Objective is what requests of the model should meet.
	Objective   Objective
	ScaleToZero ScaleToZero
}

// ScaleToZero says whether a model may be scaled to zero, and when.
type ScaleToZero struct {
	Enabled bool
	// Retention is how long the model is kept without a request, > 0.
	Retention time.Duration
}

// The analyzers of saturation.
const (
	AnalyzerSpare  = ""           // spare capacity of KV cache and queue
	AnalyzerTokens = "saturation" // capacity and demand in tokens
)

// Analyzers returns the analyzers of saturation, the default first.
func Analyzers() []string { return []string{AnalyzerSpare, AnalyzerTokens} }

// SizesToObjectives reports whether the engine needs objectives, and profiles to meet them.
func (p ModelSettings) SizesToObjectives() bool {
	return p.Engine == EngineQueueing || p.Engine == EngineHybrid
}

// CountsTokens reports whether saturation is measured in tokens. Otherwise it is measured by the
// spare capacity of replicas.
func (p ModelSettings) CountsTokens() bool {
	return p.Engine == EngineTokens || p.Analyzer == AnalyzerTokens || p.Engine == EngineHybrid && !p.NamesSpare
}

// namesSpare reports whether an entry with these fields sets how spare capacity is measured.
func (v values) namesSpare() bool {
	return slices.ContainsFunc([]string{"kvSpareTrigger", "queueSpareTrigger", "analyzerName"}, func(name string) bool { _, ok := v[name]; return ok })
}

// The engines.
const (
	EngineTokens     = "tokens"     // from the tokens that replicas hold and can hold
	EngineSaturation = "saturation" // from the spare capacity that replicas report
	EngineQueueing   = "queueing"   // from a queueing model and objectives
	EngineHybrid     = "hybrid"     // queueing and tokens; either may grow, both must agree to shrink
	EnginePublished  = "published"  // spare capacity by the published rule, one replica at a time
)

// engineModel is the published name of EngineQueueing.
const engineModel = "model"

// Engines returns the engines.
func Engines() []string {
	return []string{EngineTokens, EngineSaturation, EngineQueueing, EngineHybrid, EnginePublished}
}

// engineDefault describes the engine of an entry that names none. Without an objective there is
// nothing to size to, and nothing to report as missing. Users who tuned spare capacity keep it.
// docs/user-guide/objectives.md gives the reasons.
const engineDefault = EngineHybrid + " for a model that a service class names, else " + EngineTokens +
	", or " + EngineSaturation + " where kvSpareTrigger, queueSpareTrigger or analyzerName is set"

// withEngine returns the settings with an engine, the default where none is named. Token thresholds
// that leave no gap then select spare capacity and are accepted, because published versions read
// them only where analyzerName asked for it.
func (p ModelSettings) withEngine() ModelSettings {
	if p.Engine != "" {
		return p
	}
	p.NamesSpare = p.NamesSpare || p.ScaleUpThreshold <= p.ScaleDownBoundary
	switch {
	case p.Objective.Class != "":
		p.Engine = EngineHybrid
	case p.NamesSpare:
		p.Engine = EngineSaturation
	default:
		p.Engine = EngineTokens
	}
	return p
}

// StepAuto is the MaxScaleDownStep of one replica, or of more where no demand of the last hour needed
// them; stepAuto is how it is written.
const (
	StepAuto = -1
	stepAuto = "auto"
)

// autoField accepts stepAuto for StepAuto, beside what f accepts.
func autoField(f field[ModelSettings]) field[ModelSettings] {
	count := f.parse
	f.Accepts += ", or " + stepAuto
	f.parse = func(raw any) (any, bool) {
		if written, ok := text(raw); ok && written == stepAuto {
			return StepAuto, true
		}
		return count(raw)
	}
	return f
}

// limiterKey is the field that sets ModelSettings.Limited. Where it is not set, WVA_LIMITED_MODE
// does.
const limiterKey = "enableLimiter"

// policyFields are the fields of an entry of KindSaturation.
func policyFields() []field[ModelSettings] {
	const (
		mostRequests = 1_000_000 // no real queue is longer
		mostReplicas = 10_000
	)
	ratio := func(name, def, meaning string, at func(*ModelSettings) *float64) field[ModelSettings] {
		return numberField(Key{Name: name, Default: def, Accepts: "a ratio from 0 to 1", Meaning: meaning}, 0, 1, at)
	}
	requests := func(name, def, meaning string, at func(*ModelSettings) *float64) field[ModelSettings] {
		return numberField(Key{Name: name, Default: def, Meaning: meaning}, 0, mostRequests, at)
	}
	positive := func(name, def, meaning string, at func(*ModelSettings) *float64) field[ModelSettings] {
		f := numberField(Key{Name: name, Default: def, Accepts: "a ratio above 0, up to 1", Meaning: meaning}, 0, 1, at)
		return f.excluding(0.0)
	}
	percentile := func(name, def, meaning string, at func(*ModelSettings) *float64) field[ModelSettings] {
		f := numberField(Key{Name: name, Default: def, Accepts: "a ratio from 0 to below 1: 0.9 is the 90th percentile, 0 the mean", Meaning: meaning}, 0, 1, at)
		return f.excluding(1.0)
	}
	pause := func(name, def, meaning string, at func(*ModelSettings) *time.Duration) field[ModelSettings] {
		return durationField(Key{Name: name, Default: def, Meaning: meaning}, 0, time.Hour, at)
	}
	step := func(name, def, meaning string, at func(*ModelSettings) *int) field[ModelSettings] {
		return countField(Key{Name: name, Default: def, Meaning: meaning}, 0, mostReplicas, at)
	}
	fields := []field[ModelSettings]{
		ratio("kvCacheThreshold", "0.8", "KV cache usage from which a replica counts as saturated [ratio]", func(p *ModelSettings) *float64 { return &p.Saturation.KVCacheThreshold }),
		requests("queueLengthThreshold", "5", "queue length from which a replica counts as saturated [requests]", func(p *ModelSettings) *float64 { return &p.Saturation.QueueLengthThreshold }),
		ratio("kvSpareTrigger", "0.1", "mean spare KV cache usage below which a replica is added [ratio]", func(p *ModelSettings) *float64 { return &p.Saturation.KVSpareTrigger }),
		requests("queueSpareTrigger", "3", "mean spare queue length below which a replica is added [requests]", func(p *ModelSettings) *float64 { return &p.Saturation.QueueSpareTrigger }),
		truthField(Key{Name: limiterKey, Default: "WVA_LIMITED_MODE", Meaning: "whether the inventory bounds decisions"}, func(p *ModelSettings) *bool { return &p.Limited }),
		choiceField(Key{Name: "analyzerName", Meaning: "how saturation is measured: empty for spare capacity, saturation for token capacity; engine hybrid counts tokens unless this, kvSpareTrigger or queueSpareTrigger is set"}, Analyzers(), func(p *ModelSettings) *string { return &p.Analyzer }),
		positive("scaleUpThreshold", "0.85", "utilization above which token capacity grows [ratio]", func(p *ModelSettings) *float64 { return &p.ScaleUpThreshold }),
		positive("scaleDownBoundary", "0.7", "utilization below which token capacity shrinks [ratio]", func(p *ModelSettings) *float64 { return &p.ScaleDownBoundary }),
		formerly(choiceField(Key{Name: "engine", Default: engineDefault, Meaning: "what decides"}, Engines(), func(p *ModelSettings) *string { return &p.Engine }), engineModel, EngineQueueing),
		pause("scaleUpStabilization", "0s", "how long growing must have been wanted", func(p *ModelSettings) *time.Duration { return &p.ScaleUpStabilization }),
		pause("scaleDownStabilization", "2m", "how long shrinking must have been wanted", func(p *ModelSettings) *time.Duration { return &p.ScaleDownStabilization }),
		numberField(Key{Name: "scaleDownStartUps", Default: "1", Accepts: "a number from 0 to 10", Meaning: "for how many start-ups of a replica shrinking must have been wanted, where that is longer than scaleDownStabilization; an hour at most"}, 0, 10, func(p *ModelSettings) *float64 { return &p.ScaleDownStartUps }),
		step("maxScaleUpStep", "0", "most replicas added by one decision, 0 for no limit", func(p *ModelSettings) *int { return &p.MaxScaleUpStep }),
		autoField(step("maxScaleDownStep", stepAuto, "most replicas removed by one decision, 0 for no limit; auto is one, and up to a third of the replicas where they serve more than twice the largest demand of the last hour", func(p *ModelSettings) *int { return &p.MaxScaleDownStep })),
		percentile("ttftPercentile", "0.9", "percentile that TTFT is held to", func(p *ModelSettings) *float64 { return &p.TTFTPercentile }),
		percentile("itlPercentile", "0", "percentile that ITL is held to", func(p *ModelSettings) *float64 { return &p.ITLPercentile }),
	}
	fields = append(fields,
		numberField(Key{Name: "attainment", Default: "0.95", Accepts: "a ratio from 0.5 to 0.999", Meaning: "part of the requests that are to meet the objectives"}, 0.5, 0.999, func(p *ModelSettings) *float64 { return &p.Attainment }),
		durationField(Key{Name: "attainmentWindow", Default: "8h", Meaning: "time over which those are counted"}, time.Hour, 7*24*time.Hour, func(p *ModelSettings) *time.Duration { return &p.AttainmentWindow }),
	)
	for i := range fields {
		fields[i].In, fields[i].PerNamespace = KindSaturation, true
	}
	return fields
}

// defaultPolicy returns the settings where no entry sets any.
func defaultPolicy() ModelSettings {
	var p ModelSettings
	for _, f := range policyFields() {
		if v, ok := f.parse(plainText(f.Default)); ok {
			f.apply(&p, v)
		}
	}
	return p
}

// contradiction reports whether thresholds that are each accepted contradict each other, and what
// would be accepted.
func (p ModelSettings) contradiction() (want string, found bool) {
	switch t := p.Saturation; {
	case t.KVCacheThreshold < t.KVSpareTrigger:
		return "kvCacheThreshold (" + plainNumber(t.KVCacheThreshold) + ") at least kvSpareTrigger (" + plainNumber(t.KVSpareTrigger) + ")", true
	case p.CountsTokens() && p.ScaleUpThreshold <= p.ScaleDownBoundary:
		return "scaleUpThreshold (" + plainNumber(p.ScaleUpThreshold) + ") above scaleDownBoundary (" + plainNumber(p.ScaleDownBoundary) + ")", true
	}
	return "", false
}

// doubt describes an effect of the thresholds that no user can want, "" for none.
func (p ModelSettings) doubt() string {
	switch t := p.Saturation; {
	case t.KVCacheThreshold == 0 || t.QueueLengthThreshold == 0:
		return "with a threshold of 0 every replica counts as saturated, and the model grows to its bounds"
	case t.QueueLengthThreshold < t.QueueSpareTrigger:
		return "queueSpareTrigger (" + plainNumber(t.QueueSpareTrigger) + ") is above queueLengthThreshold (" +
			plainNumber(t.QueueLengthThreshold) + "): an idle replica has less to spare, and the model grows to its bounds"
	}
	return ""
}
