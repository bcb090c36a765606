package constrain

import (
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Pacing is how fast and how far the decisions of a model may change. The zero
// value sets no limit.
type Pacing struct {
	// ScaleUpStabilization and ScaleDownStabilization are how long a change must
	// have been wanted before it is made, >= 0; 0 is at once.
	ScaleUpStabilization   time.Duration `json:"scaleUpStabilization"`
	ScaleDownStabilization time.Duration `json:"scaleDownStabilization"`
	// MaxScaleUpStep and MaxScaleDownStep are the most replicas that one decision
	// adds to a variant or takes from it, >= 0; 0 is no limit.
	MaxScaleUpStep   scaling.Replicas `json:"maxScaleUpStep"`
	MaxScaleDownStep scaling.Replicas `json:"maxScaleDownStep"`
	// Zero says whether the model may go to zero, and when.
	Zero Zero `json:"zero,omitzero"`
}
