package analyzer

import (
	"fmt"
	"math"
)

// MG1Model is the M/G/1 queue: Poisson arrivals, one server, any distribution of the service time,
// and an unbounded queue. Only the first two moments of the service time matter. The solution is
// exact (Pollaczek and Khinchine):
//
//	wait = u/(1-u) x (1 + SCV)/2 x ServiceTime,    u = ArrivalRate x ServiceTime < 1
type MG1Model struct {
	ArrivalRate float64 // requests per unit of time, at least 0
	ServiceTime float64 // mean, in that unit of time, 1e-150 to 1e150
	SCV         float64 // squared coefficient of variation of the service time, at least 0; 1 is exponential
}

// Solve returns the stationary metrics. Errors are *InputError. A load of 1 or more is an error,
// because the queue then grows without limit.
func (m MG1Model) Solve() (QueueMetrics, error) {
	if err := validateService("MG1Model", m.ArrivalRate, m.ServiceTime, m.SCV); err != nil {
		return QueueMetrics{}, err
	}
	u := m.ArrivalRate * m.ServiceTime
	if u >= 1 {
		return QueueMetrics{}, &InputError{
			Field: "MG1Model.ArrivalRate", Value: m.ArrivalRate,
			Want: fmt.Sprintf("less than 1/ServiceTime = %v", 1/m.ServiceTime),
		}
	}
	wait := u / (1 - u) * (1 + m.SCV) / 2 * m.ServiceTime
	return QueueMetrics{
		Throughput:  m.ArrivalRate,
		Idle:        1 - u,
		Utilization: u,
		InSystem:    u + m.ArrivalRate*wait,
		InService:   u,
		QueueLength: m.ArrivalRate * wait,
		Response:    wait + m.ServiceTime,
		Wait:        wait,
		Service:     m.ServiceTime,
	}, nil
}

// MG1KModel is the M/G/1/K queue, with room for Capacity requests, by a two-moment approximation.
// The blocking is that of J. MacGregor Smith (Properties and performance modelling of finite buffer
// M/G/1/K networks, Computers & Operations Research 38, 2011, after Kimura): with B = K-1 and a = 2
// + sqrt(u) (SCV-1)
//
//	p_K = u^((a+2B)/a) (u-1) / (u^(2(a+B)/a) - 1)
//
// The states between an idle server and a full queue are taken as geometric, with the ratio that
// gives Pollaczek's and Khinchine's wait in an unbounded queue
//
//	x = u (1+SCV) / (2 + u (SCV-1)),    p_n ~ x^(n-1) for n = 1 .. K-1
//
// Both are exact for SCV = 1. The accuracy for other values is in the README.
type MG1KModel struct {
	ArrivalRate float64 // requests per unit of time, at least 0
	ServiceTime float64 // mean, in that unit of time, 1e-150 to 1e150
	SCV         float64 // squared coefficient of variation of the service time, at least 0
	Capacity    int     // requests, at least 1, the one in service included
}

// Solve returns the stationary metrics. Errors are *InputError: besides values out of
// range, a load of 2/(1-SCV) or more with SCV below 1, where the approximation ends.
func (m MG1KModel) Solve() (QueueMetrics, error) {
	if err := validateService("MG1KModel", m.ArrivalRate, m.ServiceTime, m.SCV); err != nil {
		return QueueMetrics{}, err
	}
	if err := atLeast("MG1KModel.Capacity", m.Capacity, 1); err != nil {
		return QueueMetrics{}, err
	}
	u := m.ArrivalRate * m.ServiceTime
	spread := 2 + u*(m.SCV-1)
	if !finite(u) || spread <= 0 {
		return QueueMetrics{}, &InputError{
			Field: "MG1KModel.ArrivalRate", Value: m.ArrivalRate,
			Want: fmt.Sprintf("less than 2/((1-SCV) ServiceTime) = %v", 2/((1-m.SCV)*m.ServiceTime)),
		}
	}
	blocking := m.blocking(u)
	r := QueueMetrics{
		Throughput: m.ArrivalRate * (1 - blocking),
		Blocking:   blocking,
		Service:    m.ServiceTime,
	}
	r.Utilization = r.Throughput * m.ServiceTime
	r.Idle = 1 - r.Utilization
	r.InService = r.Utilization
	// Requests wait in states 2..K: K-1 in the full state, and in the states between the mean of
	// the geometric distribution.
	if m.Capacity > 1 {
		g := newGeometric(u*(1+m.SCV), spread, m.Capacity-2)
		partial := max(0, r.Utilization-blocking)
		r.QueueLength = partial*g.moment/(g.open+g.last) + blocking*float64(m.Capacity-1)
	}
	r.InSystem = r.InService + r.QueueLength
	if r.Throughput > 0 {
		r.Wait = r.QueueLength / r.Throughput
	}
	r.Response = r.Wait + r.Service
	return r, nil
}

// blocking returns p_K at load u. It uses logarithms, which are stable near u = 1.
func (m MG1KModel) blocking(u float64) float64 {
	if u == 0 {
		return 0
	}
	a, places := 2+math.Sqrt(u)*(m.SCV-1), float64(m.Capacity-1)
	exponent := 2 * (a + places) / a
	log := math.Log(u)
	switch {
	case u == 1:
		return 1 / exponent
	case u > 1:
		return (1 - 1/u) / -math.Expm1(-exponent*log)
	}
	return math.Exp((a+2*places)/a*log) * math.Expm1(log) / math.Expm1(exponent*log)
}

func validateService(of string, arrival, service, scv float64) error {
	if err := notNegative(of+".ArrivalRate", arrival); err != nil {
		return err
	}
	if err := positive(of+".ServiceTime", service); err != nil {
		return err
	}
	return notNegative(of+".SCV", scv)
}
