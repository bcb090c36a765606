package watch

import (
	"fmt"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// idle names an idle model with more replicas than its least, "" for none: its retention period
// passes without any other change. After that period no cycle is needed.
func idle(record memory.Record, snapshots []scaling.Snapshot) string {
	over := map[scaling.ModelKey]bool{}
	for _, d := range record.Plan.Decisions {
		for _, step := range d.Steps {
			over[d.Model] = over[d.Model] || step.Stage == scaling.StageRetention && (step.Reason == scaling.ReasonIdle || step.Reason == scaling.ReasonLastReplica)
		}
	}
	for _, s := range snapshots {
		if over[s.Model] {
			continue
		}
		spare := scaling.Replicas(0)
		for _, v := range s.Variants {
			spare += max(0, v.Replicas.Current-v.Bounds.Min)
		}
		if spare > 0 && record.History.Model(s.Variants).Activity.Then(s).Life == scaling.LifeIdle {
			return fmt.Sprintf("model %s: is idle, for %d replicas too many", s.Model, spare)
		}
	}
	return ""
}
