package cycle

import (
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/settings"
)

// Setup says how models are decided. The zero value decides every model by the documented
// settings.
type Setup struct {
	// Models has the settings of each model. A model without an entry uses settings.Default.
	Models map[scaling.ModelKey]settings.Model
	// Interval is the planned time to the next cycle, 0 where only a change starts one.
	Interval time.Duration
	// Inventory and Quotas bound the accelerators of limited models.
	Inventory scaling.Inventory
	Quotas    []scaling.Quota
}

// settings returns the settings of a model, the documented ones where it has no entry.
func (e Setup) settings(m scaling.ModelKey) settings.Model {
	if of, ok := e.Models[m]; ok {
		return of
	}
	return settings.Default()
}
