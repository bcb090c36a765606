package memory

import "github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"

// Reductions is the memory of a variant while Approval.Required.
type Reductions struct {
	// Known is true once a cycle has seen the variant with approval required.
	Known bool `json:"known,omitempty"`
	// Ran is the number of replicas that run: the most that were Ready at one time, at first the
	// current ones; at most as many as the target has.
	Ran scaling.Replicas `json:"ran,omitempty"`
	// Reduction is the reduction that waits or is under way.
	Reduction scaling.Reduction `json:"reduction,omitzero"`
}

// Then returns r updated by the replicas of v; empty if v needs no approval.
func (r Reductions) Then(v scaling.Variant) Reductions {
	switch {
	case !v.Approval.Required:
		return Reductions{}
	case !v.Replicas.Observed:
	case !r.Known:
		r.Known, r.Ran = true, v.Replicas.Current
	default:
		r.Ran = min(v.Replicas.Current, max(r.Ran, v.Replicas.Ready))
	}
	return r
}
