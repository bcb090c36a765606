package discovery

import (
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// UnitCost returns the cost of one accelerator of a type per hour in a namespace, and whether the
// configuration has one. The cost is finite, 0 or more, and in the unit of variantCost. A nil
// UnitCost has none. It must be safe for concurrent use.
type UnitCost func(namespace, accelerator string) (cost float64, ok bool)

// ofReplica returns the cost of a replica per hour and its source, by the rule of
// config.ReplicaCost. A variantCost that the schema accepts and that is no finite number counts as
// not set; wva config check reports it.
func (u UnitCost) ofReplica(variantCost, namespace, accelerator string, gpus scaling.Accelerators) (float64, scaling.CostSource) {
	cost, source, _ := config.ReplicaCost(variantCost, int(gpus), func() (float64, bool) {
		if u == nil || accelerator == "" {
			return 0, false
		}
		return u(namespace, accelerator)
	})
	return cost, source
}
