package analyzer

import (
	"fmt"
	"slices"
)

// MM1StateDependent is the M/M/1 queue with finite capacity, whose service rate depends on the
// number of its requests: r_1 .. r_N, and r_N beyond.
//
//	p_n = p_(n-1) arrival / r_min(n, N)
//
// It models a server that computes requests in batches of up to N. It is immutable and safe for
// concurrent use; the zero value is not usable.
type MM1StateDependent struct {
	states states
}

// NewMM1StateDependent returns the queue with the service rates at 1, 2, .. N requests, each 1e-150
// to 1e150 and in any order of size. The capacity in requests, at least N, includes those in
// service. It keeps a copy of rates. Errors are *InputError.
func NewMM1StateDependent(rates []float64, capacity int) (MM1StateDependent, error) {
	if err := atLeast("the number of rates", len(rates), 1); err != nil {
		return MM1StateDependent{}, err
	}
	for i, r := range rates {
		if err := positive(fmt.Sprintf("rates[%d]", i), r); err != nil {
			return MM1StateDependent{}, err
		}
	}
	if err := atLeast("capacity", capacity, len(rates)); err != nil {
		return MM1StateDependent{}, err
	}
	return MM1StateDependent{newStates(slices.Clone(rates), capacity-len(rates))}, nil
}

// Solve returns the stationary metrics at an arrival rate of at least 0. Errors are
// *InputError.
func (m MM1StateDependent) Solve(arrival float64) (QueueMetrics, error) {
	if len(m.states.rate) == 0 {
		return QueueMetrics{}, notBuilt("MM1StateDependent", "NewMM1StateDependent")
	}
	if err := notNegative("arrival", arrival); err != nil {
		return QueueMetrics{}, err
	}
	return m.states.balance(arrival).metrics(arrival, m.states.inverse[0]), nil
}
