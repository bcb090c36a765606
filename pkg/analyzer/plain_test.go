package analyzer

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// plain is the obvious way: walk all states, halve a hundred times. It is the oracle of
// the tests and the yardstick of the benchmarks. Nothing in it is shared with what it
// judges but the service model.
type plain struct {
	c Config
	p []float64 // scratch: one weight for each state
}

func newPlain(c Config) *plain {
	return &plain{c, make([]float64, c.MaxBatch+c.MaxQueue+1)}
}

func (o *plain) rate(n int) float64 {
	b := float64(min(n, o.c.MaxBatch))
	return b / o.c.Service.Total(b, o.c.Size)
}

// solve fills p with the stationary probabilities at a rate in requests/ms.
func (o *plain) solve(arrival float64) {
	weigh(o.p, arrival, o.rate)
}

// weigh fills p with the stationary probabilities of a birth-death chain.
func weigh(p []float64, arrival float64, rate func(int) float64) {
	p[0] = 1
	total := 1.0
	for n := 1; n < len(p); n++ {
		p[n] = p[n-1] * arrival / rate(n)
		total += p[n]
		if p[n] > 1e200 {
			for i := range n + 1 {
				p[i] *= 1e-200
			}
			total *= 1e-200
		}
	}
	for n := range p {
		p[n] /= total
	}
}

// analyze takes a rate in requests/s.
func (o *plain) analyze(rate float64) Metrics {
	arrival := rate / 1000
	o.solve(arrival)
	full := len(o.p) - 1
	m := Metrics{Rate: rate, Blocking: o.p[full]}
	admitted := 0.0
	for n, p := range o.p {
		m.InSystem += float64(n) * p
		m.InService += float64(min(n, o.c.MaxBatch)) * p
		m.QueueLength += float64(max(0, n-o.c.MaxBatch)) * p
		if n < full {
			batch := float64(min(n+1, o.c.MaxBatch))
			admitted += p
			m.Concurrency += p * batch
			m.Prefill += p * o.c.Service.Prefill(batch, o.c.Size)
			m.ITL += p * o.c.Service.Decode(batch, o.c.Size)
			m.TTFT += p * o.c.Service.FirstToken(batch, o.c.Size)
			if ahead := n - o.c.MaxBatch + 1; ahead > 0 {
				m.Wait += p * float64(ahead) / o.rate(o.c.MaxBatch)
			}
		}
	}
	m.Concurrency /= admitted
	m.Prefill /= admitted
	m.ITL /= admitted
	m.Wait /= admitted
	m.TTFT = m.TTFT/admitted + m.Wait
	m.Throughput = rate * admitted
	m.Service = m.InService / (arrival * admitted)
	m.Response = m.Wait + m.Service
	m.Utilization = m.InService / float64(o.c.MaxBatch)
	return m
}

// within is the share of the requests whose TTFT is at most ttft.
func (o *plain) within(rate, ttft float64) float64 {
	o.solve(rate / 1000)
	admitted, within := 0.0, 0.0
	for n, p := range o.p[:len(o.p)-1] {
		admitted += p
		left := ttft - o.c.Service.FirstToken(float64(min(n+1, o.c.MaxBatch)), o.c.Size)
		switch ahead := n - o.c.MaxBatch + 1; {
		case left < 0:
		case ahead <= 0:
			within += p
		default:
			within += p * mathext.GammaIncReg(float64(ahead), left*o.rate(o.c.MaxBatch))
		}
	}
	return within / admitted
}

func (o *plain) percentile(rate, share float64) float64 {
	return halve(0, 1e9, func(t float64) bool { return o.within(rate, t) < share })
}

// percentileITL is the least ITL of a state within which the share lies.
func (o *plain) percentileITL(rate, share float64) float64 {
	o.solve(rate / 1000)
	last := len(o.p) - 1
	within := 0.0
	for n, p := range o.p[:last] {
		if within += p; within >= share*(1-o.p[last]) {
			return o.c.Service.Decode(float64(min(n+1, o.c.MaxBatch)), o.c.Size)
		}
	}
	return o.c.Service.Decode(float64(o.c.MaxBatch), o.c.Size)
}

// size is the greatest rate that keeps a mean TTFT and ITL.
func (o *plain) size(low, high, ttft, itl float64) float64 {
	byTTFT := halve(low, high, func(rate float64) bool { return o.analyze(rate).TTFT <= ttft })
	byITL := halve(low, high, func(rate float64) bool { return o.analyze(rate).ITL <= itl })
	return min(byTTFT, byITL)
}

// halve closes in on where keeps turns from true to false, a hundred times.
func halve(low, high float64, keeps func(float64) bool) float64 {
	for range 100 {
		if middle := (low + high) / 2; keeps(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return (low + high) / 2
}

// distance is the relative distance between two numbers.
func distance(a, b float64) float64 {
	if a == b {
		return 0
	}
	return math.Abs(a-b) / max(math.Abs(a), math.Abs(b))
}
