package analyzer

// MM1KModel is the M/M/1/K queue: Poisson arrivals, exponential service, one server,
// room for Capacity requests, the one in service included. With u = arrival / service
//
//	p_n = u^n (1-u) / (1-u^(K+1)),    p_n = 1/(K+1) at u = 1
//
// The sums over p_n are taken in closed forms that are accurate at and around u = 1
// and finite far above it. Source: Kleinrock, Queueing Systems I, section 3.6.
type MM1KModel struct {
	ArrivalRate float64 // requests per unit of time, at least 0
	ServiceRate float64 // requests per unit of time, 1e-150 to 1e150
	Capacity    int     // requests, at least 1
}

// Solve returns the stationary metrics. Errors are *InputError.
func (m MM1KModel) Solve() (QueueMetrics, error) {
	if err := m.validate(); err != nil {
		return QueueMetrics{}, err
	}
	h := head{none: 1, last: m.ArrivalRate / m.ServiceRate}
	if h.last > 1 {
		h = head{none: m.ServiceRate / m.ArrivalRate, last: 1}
	}
	g := newGeometric(m.ArrivalRate, m.ServiceRate, m.Capacity-1)
	return newBalance(h, g, 1).metrics(m.ArrivalRate, 1/m.ServiceRate), nil
}

func (m MM1KModel) validate() error {
	if err := notNegative("MM1KModel.ArrivalRate", m.ArrivalRate); err != nil {
		return err
	}
	if err := positive("MM1KModel.ServiceRate", m.ServiceRate); err != nil {
		return err
	}
	return atLeast("MM1KModel.Capacity", m.Capacity, 1)
}
