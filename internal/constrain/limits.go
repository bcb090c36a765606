package constrain

import "github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"

// Limits are the bounds that come from outside the models: accelerators and quotas. The
// zero value bounds nothing.
type Limits struct {
	// Models are the limited models. Accelerators that other models use are not available
	// to these.
	Models    map[scaling.ModelKey]LimitedModel
	Inventory scaling.Inventory
	Quotas    []scaling.Quota // one for a namespace and a type at most
}

// LimitedModel holds the values that order limited models which compete for accelerators.
type LimitedModel struct {
	Rank int // 1 to 100, lower comes first
	// Utilization of each variant, a ratio: among equals the fullest comes first.
	Utilization map[scaling.VariantKey]float64
}
