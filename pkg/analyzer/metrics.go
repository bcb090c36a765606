package analyzer

// QueueMetrics holds the stationary means of one queue. Times are in the inverse unit of the rates,
// and are those of the requests that find room.
type QueueMetrics struct {
	Throughput  float64 // requests served per unit of time
	Blocking    float64 // ratio of the arrivals that find no room
	Idle        float64 // ratio of the time without a request
	Utilization float64 // ratio of the time with a request, 1 - Idle

	InSystem    float64 // mean requests waiting and in service
	InService   float64 // mean requests in service
	QueueLength float64 // mean requests waiting

	Response float64 // mean time from arrival to the end of service
	Wait     float64 // mean time in the queue
	Service  float64 // mean time in service
}

// metrics returns the rates and times of a balance; alone is the time in service of a lone request,
// the limit without arrivals.
func (b balance) metrics(arrival, alone float64) QueueMetrics {
	m := QueueMetrics{
		Throughput:  arrival * b.admitted,
		Blocking:    b.blocking,
		Idle:        b.idle,
		Utilization: b.busy,
		InSystem:    b.inService + b.waiting,
		InService:   b.inService,
		QueueLength: b.waiting,
	}
	m.Wait, m.Service = b.times(m.Throughput, alone)
	m.Response = m.Wait + m.Service
	return m
}

// times applies Little's law. At a throughput too small to divide by, it returns the limit without
// arrivals.
func (b balance) times(throughput, alone float64) (wait, service float64) {
	const least = 1e-300
	if throughput < least || b.inService < least {
		return 0, alone
	}
	return b.waiting / throughput, b.inService / throughput
}
