package watch

import (
	"fmt"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// waiting names a model that the recorded cycle decided to have no replica and for which
// requests wait or arrive, "" for none. If the cycle starts no replica, because the
// variants are paused or no node has room, the next pass asks for a cycle again, so that
// the cycle notices when one may start.
func waiting(record memory.Record, snapshots []scaling.Snapshot) string {
	ordered := map[scaling.ModelKey]scaling.Replicas{}
	for _, d := range record.Plan.Decisions {
		ordered[d.Model] += d.Target()
	}
	for _, s := range snapshots {
		waiting, arriving := s.Load.GatewayQueue.Or(0), s.Load.ArrivalRate.Or(0)
		if total, decided := ordered[s.Model]; decided && total == 0 && (waiting > 0 || arriving > 0) {
			return fmt.Sprintf("model %s: %.3g requests wait, %.3g requests/s arrive, and it has no replica", s.Model, waiting, arriving)
		}
	}
	return ""
}
