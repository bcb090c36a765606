package config

import (
	"fmt"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// DefaultCost is the cost of a replica of which nothing is said, in units per
// hour. The schema fills it in as the variantCost of every object that has none,
// so a variantCost of as much counts as not set.
const DefaultCost = 10.0

// ReplicaCost returns the cost of one replica per hour and where it comes from:
// variantCost when set and not 10; else that of one of its count accelerators, if
// unit has one, times their number; else 10. A variantCost that is no decimal
// number is an error, and the cost is then the one without it.
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

// ReplicaCost is ReplicaCost by the unit cost of an accelerator in a namespace.
func (s *Snapshot) ReplicaCost(namespace, variantCost, accelerator string, count int) (float64, scaling.CostSource, error) {
	return ReplicaCost(variantCost, count, func() (float64, bool) {
		u, ok := s.UnitCost(namespace, accelerator)
		return u.Cost, ok
	})
}
