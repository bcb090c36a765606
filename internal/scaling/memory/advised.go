package memory

import (
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Advised returns p of an advisory variant, with the current replicas, which another scaler set, as
// the last decision: the next decision, and the first one that is carried out, start from them.
// Measurements and wanted replicas stay. Moves, wake-ups and failures are dropped, since no advice
// was carried out.
func (p Past) Advised(seen scaling.ReplicaCounts, now time.Time) Past {
	p.MoveTo, p.MoveCost, p.Failures = 0, 0, Failures{}
	p.Called, p.Refused = time.Time{}, time.Time{}
	if !seen.Observed {
		return p
	}
	return p.Decide(seen.Current, now)
}
