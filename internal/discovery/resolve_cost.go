package discovery

import (
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/config"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// UnitCost returns the cost of one accelerator of a type per hour in a namespace,
// and whether the configuration has one. It is finite and not negative, and in the unit of
// variantCost. Nil is a UnitCost that has none. It is called from several
// goroutines at once.
type UnitCost func(namespace, accelerator string) (cost float64, ok bool)

// ofReplica returns the cost of a replica per hour and where it comes from, by
// the rule of config.ReplicaCost. What the schema lets through and is no finite
// number counts as not set; wva config check says so.
func (u UnitCost) ofReplica(variantCost, namespace, accelerator string, gpus scaling.Accelerators) (float64, scaling.CostSource) {
	cost, source, _ := config.ReplicaCost(variantCost, int(gpus), func() (float64, bool) {
		if u == nil || accelerator == "" {
			return 0, false
		}
		return u(namespace, accelerator)
	})
	return cost, source
}
