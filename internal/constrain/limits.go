package constrain

import "github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"

// Limits are what bounds decisions from outside of their models. The zero value
// bounds nothing.
type Limits struct {
	// Models are those that are limited. What the others take is not there for these.
	Models    map[scaling.ModelKey]LimitedModel
	Inventory scaling.Inventory
	Quotas    []scaling.Quota // one for a namespace and a type at most
}

// LimitedModel is by what limited models are ordered that compete for accelerators.
type LimitedModel struct {
	Rank int // 1 to 100, lower comes first
	// Utilization of each variant, a ratio: among equals the fullest comes first.
	Utilization map[scaling.VariantKey]float64
}
