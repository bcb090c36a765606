package constrain

import (
	"fmt"
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
	// ScaleDownStartUps is how long a reduction must have been wanted, in start-ups of its variant,
	// >= 0. The longer of this and ScaleDownStabilization counts.
	ScaleDownStartUps float64 `json:"scaleDownStartUps,omitempty"`
	// MaxScaleUpStep and MaxScaleDownStep are the most replicas that one decision
	// adds to a variant or takes from it, >= 0; 0 is no limit.
	MaxScaleUpStep   scaling.Replicas `json:"maxScaleUpStep"`
	MaxScaleDownStep scaling.Replicas `json:"maxScaleDownStep"`
	// SurplusAtOnce says that one decision may take more than MaxScaleDownStep from a variant where
	// no demand of the last hour needed them.
	SurplusAtOnce bool `json:"surplusAtOnce,omitempty"`
	// Zero says whether the model may go to zero, and when.
	Zero Zero `json:"zero,omitzero"`
}

// DownStep returns the setting maxScaleDownStep in words.
func (p Pacing) DownStep() string {
	if p.SurplusAtOnce {
		return fmt.Sprintf("maxScaleDownStep is auto: %d at a time, and more of a surplus", p.MaxScaleDownStep)
	}
	return fmt.Sprintf("maxScaleDownStep is %d", p.MaxScaleDownStep)
}

// reductionPeriod returns how long a reduction of v must have been wanted: ScaleDownStartUps
// start-ups, an hour at most, or ScaleDownStabilization where that is longer or the start-up time
// is unknown. A replica that is kept costs its price until it is wanted again; a replica that is
// given up costs the load that misses it while it starts. A policy that keeps replicas for as long
// as they take to start costs at most twice as much as one that knows when they are wanted again
// (ski rental: Karlin et al., Competitive Snoopy Caching, Algorithmica 3, 1988; for servers
// DELAYEDOFF, Gandhi et al., ACM TOCS 30(4), 2012).
func (p Pacing) reductionPeriod(v scaling.Variant) time.Duration {
	return max(p.ScaleDownStabilization, min(remembered, time.Duration(p.ScaleDownStartUps*float64(v.StartUp))))
}
