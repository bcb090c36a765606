package analyzer

import (
	"fmt"
	"math"
)

// Config describes one replica and the requests it serves.
type Config struct {
	MaxBatch int          // requests computed together, 1 to 1,048,576
	MaxQueue int          // requests that can wait beyond those, 0 to 2,147,483,647
	Service  ServiceModel // such as FourParameter or ThreeParameter; not nil
	Size     RequestSize
}

// QueuePerBatch is the published length of the queue in batches: callers without a measured length
// use MaxQueue = QueuePerBatch x MaxBatch.
const QueuePerBatch = 10

const (
	// mostBatch limits the tables, which take 16 bytes for each request of the batch.
	mostBatch = 1 << 20
	// mostQueue is a whole number that every int and float64 holds.
	mostQueue = math.MaxInt32
	// perSecond converts requests/ms to requests/s.
	perSecond = 1000
	// leastShare and mostShare limit the rates, as published: leastShare relative to the rate of a
	// lone request, mostShare to the rate of a full batch.
	leastShare, mostShare = 0.001, 0.999
)

// QueueAnalyzer answers questions about one replica: which latency follows from a
// rate, and which rate a latency allows. The replica is a queue in front of a batch: n
// requests together are served at
//
//	r_n = n / Total(n),   n = 1 .. MaxBatch
//
// an MM1StateDependent with room for MaxBatch + MaxQueue requests.
//
// It is immutable and safe for concurrent use; copies share its tables. Its methods do not
// allocate. The zero value is not usable: its methods return an *InputError.
type QueueAnalyzer struct {
	config Config
	states states // rates in requests/ms
}

// NewQueueAnalyzer checks the configuration and prepares the tables. Errors are
// *InputError.
func NewQueueAnalyzer(c Config) (QueueAnalyzer, error) {
	if err := c.validate(); err != nil {
		return QueueAnalyzer{}, err
	}
	rates := make([]float64, c.MaxBatch)
	least := 0.0
	for i := range rates {
		n := float64(i + 1)
		// n/Total(n) never falls for an affine Total; least removes falls by rounding.
		least = max(least, n/c.Service.Total(n, c.Size))
		rates[i] = least
	}
	return QueueAnalyzer{c, newStates(rates, c.MaxQueue)}, nil
}

// RateRange returns the least and the greatest rate in requests/s that Size
// considers: a thousandth of the rate of a lone request, and 99.9% of the rate of a
// full batch. Analyze accepts 0 to maxRate. Both are 0 for the zero value.
func (q QueueAnalyzer) RateRange() (minRate, maxRate float64) {
	if len(q.states.rate) == 0 {
		return 0, 0
	}
	return q.states.rate[0] * leastShare * perSecond, q.states.full() * mostShare * perSecond
}

// Metrics holds the stationary means of one replica at one rate. Latencies are those of requests
// that find room in the queue.
type Metrics struct {
	Rate       float64 // requests/s that arrive
	Throughput float64 // requests/s that are served
	Blocking   float64 // ratio of the arrivals that find the queue full and are rejected

	TTFT     float64 // ms
	ITL      float64 // ms
	Wait     float64 // ms before entering the batch
	Prefill  float64 // ms
	Service  float64 // ms from entering the batch to the last token
	Response float64 // ms, Wait + Service

	InSystem    float64 // requests waiting and in the batch
	InService   float64 // requests in the batch, over all time
	QueueLength float64 // requests waiting
	Concurrency float64 // requests in the batch as a request meets it, itself included, 1 to MaxBatch
	Utilization float64 // ratio, InService / MaxBatch
}

// Analyze returns the metrics of the replica at a rate in requests/s, from 0 (the limit of no load:
// a request alone) to the end of RateRange. Errors are *InputError.
//
// An admitted request meets n others with probability p_n/(1-p_K) and is served in a batch of
// min(n+1, MaxBatch). Since the times of a ServiceModel are affine, their means are the times at
// the mean batch, Concurrency.
func (q QueueAnalyzer) Analyze(rate float64) (Metrics, error) {
	if err := q.validateRate(rate); err != nil {
		return Metrics{}, err
	}
	return q.at(q.inRange(rate)), nil
}

// at returns Analyze for a rate within the range.
func (q QueueAnalyzer) at(rate float64) Metrics {
	b := q.states.balance(rate / perSecond)
	service, size := q.config.Service, q.config.Size
	m := Metrics{
		Rate:        rate,
		Throughput:  rate * b.admitted,
		Blocking:    b.blocking,
		Prefill:     service.Prefill(b.found, size),
		ITL:         service.Decode(b.found, size),
		Service:     service.Total(b.found, size),
		InSystem:    b.inService + b.waiting,
		InService:   b.inService,
		QueueLength: b.waiting,
		Concurrency: b.found,
		Utilization: b.inService / float64(q.config.MaxBatch),
	}
	m.Wait, _ = b.times(m.Throughput/perSecond, m.Service)
	m.TTFT = m.Wait + service.FirstToken(b.found, size)
	m.Response = m.Wait + m.Service
	return m
}

// inRange returns rate, or the end of the range where rounding put rate above it.
func (q QueueAnalyzer) inRange(rate float64) float64 {
	return min(rate, q.states.full()*mostShare*perSecond)
}

// validateRate returns an error unless Analyze accepts rate.
func (q QueueAnalyzer) validateRate(rate float64) error {
	if err := q.built(); err != nil {
		return err
	}
	_, most := q.RateRange()
	if !(rate >= 0 && rate <= most*(1+rounding)) {
		return &InputError{Field: "rate", Value: rate, Want: fmt.Sprintf("0 to %v requests/s", most)}
	}
	return nil
}

// built returns an error for the zero value.
func (q QueueAnalyzer) built() error {
	if len(q.states.rate) == 0 {
		return notBuilt("QueueAnalyzer", "NewQueueAnalyzer")
	}
	return nil
}
