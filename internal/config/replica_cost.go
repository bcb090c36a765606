package config

import (
	"fmt"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// DefaultCost is the cost of a replica whose cost is not set, in units per hour. The schema writes
// it as the variantCost of every object that has none, so this variantCost counts as not set.
const DefaultCost = 10.0

// ReplicaCost returns the cost of one replica per hour and its source: variantCost when set and not
// 10; else count times the cost of one accelerator, if unit has it; else 10. A variantCost that is
// no decimal number is an error; the cost is then that without it.
func ReplicaCost(variantCost string, count int, unit func() (float64, bool)) (float64, scaling.CostSource, error) {
	var err error
	if variantCost != "" {
		x, ok := cost(variantCost)
		if ok && x != DefaultCost {
			return x, scaling.CostVariant, nil
		}
		if !ok {
			err = fmt.Errorf("costing a replica: %w", &FieldError{Key: "variantCost", Value: shorten(variantCost), Want: "a decimal number such as 10 or 2.5"})
		}
	}
	if each, ok := unit(); ok {
		return each * float64(max(count, 1)), scaling.CostUnitCost, err
	}
	return DefaultCost, scaling.CostDefault, err
}

// ReplicaCost calls ReplicaCost with the unit cost of an accelerator in a namespace.
func (s *Snapshot) ReplicaCost(namespace, variantCost, accelerator string, count int) (float64, scaling.CostSource, error) {
	return ReplicaCost(variantCost, count, func() (float64, bool) {
		u, ok := s.UnitCost(namespace, accelerator)
		return u.Cost, ok
	})
}
