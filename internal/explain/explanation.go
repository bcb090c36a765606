package explain

import (
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// Explanation is everything known about the last decision of one variant. `GET
// /debug/decisions/{namespace}/{name}` answers it as JSON. Objective, Actuation and StartUps are as
// of the request, the rest is of the cycle.
type Explanation struct {
	Cycle    scaling.CycleID `json:"cycle"`
	At       time.Time       `json:"at"` // when the cycle decided
	Interval Duration        `json:"interval"`
	// AnalyzedAt is when an analysis last stood behind the decision, zero if
	// never; it is At unless the decision is a fallback.
	AnalyzedAt time.Time        `json:"analyzedAt,omitzero"`
	Variant    scaling.Variant  `json:"variant"`
	Decision   scaling.Decision `json:"decision"`
	// Changed is the cycle and the step that settled the present number of replicas.
	Changed Change `json:"changed,omitzero"`
	// Decided is false when nothing could be decided and nothing is published.
	Decided  bool             `json:"decided"`
	Past     memory.Past      `json:"past"`
	Analysis scaling.Analysis `json:"analysis"`
	// Sizing is the analysis by queueing models and objectives, where the engine of the model makes
	// one. It equals Analysis where it decided.
	Sizing   scaling.Analysis   `json:"sizing,omitzero"`
	Snapshot scaling.Snapshot   `json:"snapshot"`
	Model    []scaling.Decision `json:"model"` // of all variants of the model, sorted
	// Objective is the objective of the model.
	Objective Objective `json:"objective,omitzero"`
	// Actuation says which scaler carries out the decision.
	Actuation Actuation `json:"actuation,omitzero"`
	// StartUps is how long pods of the variant take to start.
	StartUps StartUps `json:"startUps,omitzero"`
}

// Change is the cycle that changed the number of replicas, and the step that settled it. The zero
// value means unknown.
type Change struct {
	Cycle scaling.CycleID  `json:"cycle"`
	To    scaling.Replicas `json:"to"`
	Cause scaling.Step     `json:"cause"`
}

// Duration is a time.Duration that JSON shows as text, such as "15s".
type Duration time.Duration

// MarshalText returns the duration as time.Duration prints it.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText parses what MarshalText returns.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = Duration(v)
	return err
}
