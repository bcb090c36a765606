package core

import (
	"fmt"

	"github.com/llm-d-incubation/workload-variant-autoscaler/pkg/analyzer"
)

// maxAmount is the largest cost, objective or rate: beyond any fleet, and small
// enough for products with maxReplicas to keep their digits.
const maxAmount = 1e12

// validate returns an *analyzer.InputError that names the first number out of its range. The load,
// the batch and the inputs of the queueing model are checked where they are used.
func (p Placement) validate() error {
	for _, n := range [...]struct {
		field string
		value int
	}{
		{"Server.MinReplicas", p.Server.MinReplicas},
		{"Server.Current.Replicas", p.Server.Current.Replicas},
		{"Accelerator.Multiplicity", p.Accelerator.Multiplicity},
		{"Profile.Count", p.Profile.Count},
		{"Profile.MaxBatch", p.Profile.MaxBatch},
		{"Profile.AtTokens", p.Profile.AtTokens},
	} {
		if n.value < 0 || n.value > maxReplicas {
			return &analyzer.InputError{Field: n.field, Value: n.value, Want: fmt.Sprintf("0 to %d", maxReplicas)}
		}
	}
	if p.Server.MaxBatch < 0 { // queue checks its upper end
		return &analyzer.InputError{Field: "Server.MaxBatch", Value: p.Server.MaxBatch, Want: "0 or more"}
	}
	for _, x := range [...]struct {
		field string
		value float64
	}{
		{"Server.Current.Cost", p.Server.Current.Cost},
		{"Accelerator.Cost", p.Accelerator.Cost},
		{"Target.TPS", p.Target.TPS},
		{"Profile.Capacity", p.Profile.Capacity},
	} {
		if !(x.value >= 0 && x.value <= maxAmount) { // NaN included
			return &analyzer.InputError{Field: x.field, Value: x.value, Want: fmt.Sprintf("0 to %g", maxAmount)}
		}
	}
	return nil
}
