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
	// ScaleDownStartUps is for how many start-ups of its variant a reduction must have been
	// wanted, where that is longer than ScaleDownStabilization, >= 0.
	ScaleDownStartUps float64 `json:"scaleDownStartUps,omitempty"`
	// MaxScaleUpStep and MaxScaleDownStep are the most replicas that one decision
	// adds to a variant or takes from it, >= 0; 0 is no limit.
	MaxScaleUpStep   scaling.Replicas `json:"maxScaleUpStep"`
	MaxScaleDownStep scaling.Replicas `json:"maxScaleDownStep"`
	// Zero says whether the model may go to zero, and when.
	Zero Zero `json:"zero,omitzero"`
}

// reductionPeriod is how long a reduction of v must have been wanted, an hour at most unless
// more is configured. A replica that is kept costs its price until it is wanted again, one that
// is given up the load that misses it while it starts. Without knowing when it is wanted again,
// the cost is at most twice that of a policy that knows, where it is kept for as long as it takes to
// start (ski rental: Karlin et al., Competitive Snoopy Caching, Algorithmica 3, 1988; for
// servers DELAYEDOFF, Gandhi et al., ACM TOCS 30(4), 2012). It is the configured time while the
// start-up time is not known.
func (p Pacing) reductionPeriod(v scaling.Variant) time.Duration {
	return max(p.ScaleDownStabilization, min(remembered, time.Duration(p.ScaleDownStartUps*float64(v.StartUp))))
}
