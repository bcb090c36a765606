package constrain

import "github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"

// Limits are what bounds decisions from outside of their models. The zero value
// bounds nothing.
type Limits struct {
	// Models are those that are limited. Others take what they want, and leave the
	// less.
	Models    map[scaling.ModelKey]Standing
	Inventory scaling.Inventory
	Quotas    []scaling.Quota // one for a namespace and a type at most
}

// Standing is how a limited model stands among the others.
type Standing struct {
	Rank int // 1 to 100, lower comes first
	// Utilization of each variant, a ratio: among equals the fullest comes first.
	Utilization map[scaling.VariantKey]float64
}
