package discovery

import (
	"math"
	"strconv"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// defaultCost is the cost of a replica that no source names, per hour. The
// schema fills it in as the variantCost of every object that has none, so that a
// variantCost of 10 says nothing.
const defaultCost = 10

// UnitCost returns the cost of one accelerator of a type per hour in a namespace,
// and whether the configuration has one. It is finite and not negative, and in the unit of
// variantCost. Nil is a UnitCost that has none. It is called from several
// goroutines at once.
type UnitCost func(namespace, accelerator string) (cost float64, ok bool)

// ofReplica returns the cost of a replica per hour and where it comes from:
// variantCost where it is set and not 10, else the unit cost of the accelerator
// times their number, else 10. What the schema lets through and is no finite
// number counts as not set.
func (u UnitCost) ofReplica(variantCost, namespace, accelerator string, gpus int) (float64, scaling.CostSource) {
	c, err := strconv.ParseFloat(variantCost, 64)
	if err == nil && c >= 0 && !math.IsInf(c, 0) && c != defaultCost {
		return c, scaling.CostVariant
	}
	if u != nil && accelerator != "" {
		if unit, ok := u(namespace, accelerator); ok {
			return unit * float64(gpus), scaling.CostUnitCost
		}
	}
	return defaultCost, scaling.CostDefault
}
