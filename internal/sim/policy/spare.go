package policy

import (
	"fmt"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// SpareParams are the parameters of the spare-capacity rule.
type SpareParams struct {
	KV         float64       // KV cache usage at which a replica is saturated, in [0.01, 1]
	Queue      float64       // queue length at which a replica is saturated, >= 0.001
	KVSpare    float64       // mean spare KV cache below which it grows, in [0, 1]
	QueueSpare float64       // mean spare queue below which it grows, >= 0
	Window     time.Duration // of the peaks of a replica, >= 15 s
	Tolerance  float64       // of the HPA in series, in [0, 0.99]
}

// DefaultSpareParams returns the published 0.80, 5, 0.10, 3 and 1 min, and the HPA's tolerance.
func DefaultSpareParams() SpareParams {
	return SpareParams{KV: 0.8, Queue: 5, KVSpare: 0.1, QueueSpare: 3, Window: time.Minute, Tolerance: 0.1}
}

func (p *SpareParams) fields() []field {
	return []field{
		number("kv-spare", "mean spare KV cache below which it grows", &p.KVSpare, 0, 1, "0.1", "0.2", "0.3", "0.4", "0.5"),
		number("queue-spare", "mean spare queue below which it grows", &p.QueueSpare, 0, unlimited, "2", "3"),
		number("kv", "KV cache usage at which a replica is saturated", &p.KV, 0.01, 1),
		number("queue", "queue length at which a replica is saturated", &p.Queue, milli, unlimited),
		span("window", "window of the peaks", &p.Window, 15*time.Second),
		number("tolerance", "of the HPA in series", &p.Tolerance, 0, 0.99),
	}
}

// Peak is the load of one replica, the largest values of the window.
type Peak struct {
	KV    float64 // KV cache usage, a ratio
	Queue float64 // waiting requests
}

// Spare is the result of MeasureSpare.
type Spare struct {
	KV, Queue float64 // mean over the replicas that are not saturated, 0 for none
	Grow      bool
	Shrink    bool // one less would still leave enough
}

// MeasureSpare returns the spare capacity of the replicas of a model by the published rule.
func MeasureSpare(peaks []Peak, p SpareParams) Spare {
	var kv, queue float64
	var n int
	for _, l := range peaks {
		if l.KV < p.KV && l.Queue < p.Queue {
			kv += l.KV
			queue += l.Queue
			n++
		}
	}
	var s Spare
	if n > 0 {
		s.KV, s.Queue = p.KV-kv/float64(n), p.Queue-queue/float64(n)
	}
	s.Grow = s.KV < p.KVSpare || s.Queue < p.QueueSpare
	if n >= 2 && !s.Grow {
		others := float64(n - 1)
		s.Shrink = p.KV-kv/others >= p.KVSpare && p.Queue-queue/others >= p.QueueSpare
	}
	return s
}

// spareLaw is the rule before the HPA. It moves one replica at a time.
type spareLaw struct {
	p       SpareParams
	peaks   peaksOverTime
	decided map[scaling.VariantKey]scaling.Replicas
}

// NewSpareCapacity returns the spare-capacity rule of this project as published, with the published
// HPA in series: the cheapest variant gains one replica, or the most expensive one with more than
// one loses one. The rule holds while an earlier decision is not carried out or replicas start.
func NewSpareCapacity(p SpareParams) (Autoscaler, error) {
	law := &spareLaw{p, peaksOverTime{window: p.Window}, map[scaling.VariantKey]scaling.Replicas{}}
	return newSeries(law, publishedBehavior(), p.Tolerance), check("spare-capacity", p.fields())
}

func (s *spareLaw) Interval() time.Duration { return 15 * time.Second }

func (s *spareLaw) Decide(now time.Time, in Observation) []Target {
	why := s.decide(now, in)
	return each(in, func(v Variant) (scaling.Replicas, string) {
		n, ok := s.decided[v.Key]
		if !ok {
			n = v.Replicas.Current
		}
		n = v.Bounds.Clamp(n)
		s.decided[v.Key] = n
		return n, "spare capacity: " + why
	})
}

func (s *spareLaw) decide(now time.Time, in Observation) string {
	peaks := s.observe(now, in)
	for _, v := range in.Variants {
		if n, ok := s.decided[v.Key]; ok && n != v.Replicas.Current || v.Replicas.Pending > 0 {
			return "hold, " + v.Key.Name + " is changing"
		}
	}
	if len(peaks) == 0 {
		return "hold, no replica reports"
	}
	spare := MeasureSpare(peaks, s.p)
	why := fmt.Sprintf("mean spare KV %.2f, queue %.1f", spare.KV, spare.Queue)
	order := byCost(in.Variants)
	switch {
	case spare.Grow:
		v := order[0]
		s.decided[v.Key] = v.Replicas.Current + 1
		return why + ", grows " + v.Key.Name
	case spare.Shrink:
		for _, v := range slices.Backward(order) {
			if v.Replicas.Current > 1 && v.Replicas.Current > v.Bounds.Min {
				s.decided[v.Key] = v.Replicas.Current - 1
				return why + ", shrinks " + v.Key.Name
			}
		}
	}
	return why
}

// observe returns the peaks of the existing pods that have reported within the window.
func (s *spareLaw) observe(now time.Time, in Observation) []Peak {
	var out []Peak
	for _, pods := range s.peaks.observe(now, in.Variants) {
		for _, p := range pods {
			if p.knownKV || p.knownQueue {
				out = append(out, p.Peak)
			}
		}
	}
	return out
}
