package core

import "cmp"

// Allocation is a number of replicas on one accelerator, with their cost and latency. The zero
// value is no allocation.
type Allocation struct {
	Accelerator string // name
	Type        string // type by which stock is counted
	Units       int    // accelerators of that type in one replica
	Replicas    int
	// Wanted is the number of replicas that the objectives need. Replicas is less where the stock
	// does not suffice; ITL, TTFT and Utilization are then those that Wanted replicas would give.
	Wanted      int
	MaxBatch    int     // requests in a batch
	Cost        float64 // of all replicas per hour
	Value       float64 // Cost less the cost of the current replicas, moves included; may be negative
	ITL, TTFT   float64 // mean, ms
	Utilization float64 // ratio, requests in service to MaxBatch
	MaxRate     float64 // requests/s that one replica serves within the objectives
	Demand      float64 // requests/s of the server
}

// Saturated reports whether a rate in requests/s is more than the replicas serve
// within the objectives.
func (a Allocation) Saturated(rate float64) bool {
	return rate > float64(a.Replicas)*a.MaxRate
}

// MovePenalty is the price of a move to another accelerator as a share of both costs, as published.
const MovePenalty = 0.1

// TransitionPenalty returns the value of going from a to b: 0 where nothing changes, the difference
// of their costs on the same accelerator, and a tenth of both costs more on another. It is negative
// for a saving.
func (a Allocation) TransitionPenalty(b Allocation) float64 {
	switch {
	case a.Accelerator != b.Accelerator:
		return b.Cost - a.Cost + MovePenalty*(a.Cost+b.Cost)
	case a.Replicas == b.Replicas:
		return 0
	}
	return b.Cost - a.Cost
}

// Limit returns the allocation with at most that many replicas, and cost and value in proportion,
// as published. Wanted does not change.
func (a Allocation) Limit(replicas int) Allocation {
	if replicas >= a.Replicas {
		return a
	}
	share := float64(max(replicas, 0)) / float64(a.Replicas)
	a.Replicas = max(replicas, 0)
	a.Cost *= share
	a.Value *= share
	return a
}

// Compare orders candidates: the lower value first, then the lower cost, then the
// accelerator's name. It returns -1, 0 or 1.
func (a Allocation) Compare(b Allocation) int {
	return cmp.Or(
		cmp.Compare(a.Value, b.Value), cmp.Compare(a.Cost, b.Cost), cmp.Compare(a.Accelerator, b.Accelerator))
}
