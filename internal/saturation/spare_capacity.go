package saturation

import (
	"fmt"
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// load is one replica's measured load.
type load struct {
	variant scaling.VariantKey
	pod     string
	kv      float64 // ratio
	queue   float64 // requests
}

// Spare is what a model's replicas have left before they saturate.
type Spare struct {
	Replicas     int     // replicas counted
	NonSaturated int     // those of them below both thresholds
	KV           float64 // mean KV spare of the non-saturated, a ratio; 0 if there are none
	Queue        float64 // mean queue spare of the non-saturated, requests; 0 if there are none
	Variants     []VariantSpare
}

// VariantSpare is the Spare of one variant.
type VariantSpare struct {
	Variant         scaling.VariantKey
	Replicas        int
	NonSaturated    int
	KV, Queue       float64  // as in Spare
	MaxKV, MaxQueue float64  // the worst replica's load
	Saturated       []string // pods at or above a threshold, sorted
}

// measure computes the spare capacity of loads, which are sorted by variant.
func measure(loads []load, p Thresholds) Spare {
	s := Spare{Replicas: len(loads)}
	for first := 0; first < len(loads); {
		last := first
		for last < len(loads) && loads[last].variant == loads[first].variant {
			last++
		}
		v := measureVariant(loads[first:last], p)
		s.Variants = append(s.Variants, v)
		s.NonSaturated += v.NonSaturated
		s.KV += v.KV * float64(v.NonSaturated)
		s.Queue += v.Queue * float64(v.NonSaturated)
		first = last
	}
	if s.NonSaturated > 0 {
		s.KV /= float64(s.NonSaturated)
		s.Queue /= float64(s.NonSaturated)
	}
	return s
}

func measureVariant(loads []load, p Thresholds) VariantSpare {
	v := VariantSpare{Variant: loads[0].variant, Replicas: len(loads)}
	for _, l := range loads {
		v.MaxKV = max(v.MaxKV, l.kv)
		v.MaxQueue = max(v.MaxQueue, l.queue)
		if l.kv >= p.KVCacheThreshold || l.queue >= p.QueueLengthThreshold {
			v.Saturated = append(v.Saturated, l.pod)
			continue
		}
		v.NonSaturated++
		v.KV += p.KVCacheThreshold - l.kv
		v.Queue += p.QueueLengthThreshold - l.queue
	}
	if v.NonSaturated > 0 {
		v.KV /= float64(v.NonSaturated)
		v.Queue /= float64(v.NonSaturated)
	}
	slices.Sort(v.Saturated)
	return v
}

// short reports whether the spare capacity is below a trigger, and says which.
func (s Spare) short(p Thresholds) (bool, string) {
	kv, queue := s.KV < p.KVSpareTrigger, s.Queue < p.QueueSpareTrigger
	switch {
	case kv && queue:
		return true, fmt.Sprintf("both KV spare (%.3f < %.3f) and queue spare (%.1f < %.1f)",
			s.KV, p.KVSpareTrigger, s.Queue, p.QueueSpareTrigger)
	case kv:
		return true, fmt.Sprintf("KV spare Saturation low (%.3f < %.3f)", s.KV, p.KVSpareTrigger)
	case queue:
		return true, fmt.Sprintf("queue spare Saturation low (%.1f < %.1f)", s.Queue, p.QueueSpareTrigger)
	}
	return false, ""
}

// leastToShrink is the least number of non-saturated replicas for a reduction: the load of the last
// one would have nowhere to go.
const leastToShrink = 2

// allowsOneLess simulates the removal of one non-saturated replica and reports
// whether the others would keep the spare that the triggers ask for.
func (s Spare) allowsOneLess(p Thresholds) bool {
	if s.NonSaturated < leastToShrink {
		return false
	}
	n := float64(s.NonSaturated)
	kv := p.KVCacheThreshold - (p.KVCacheThreshold-s.KV)*n/(n-1)
	queue := p.QueueLengthThreshold - (p.QueueLengthThreshold-s.Queue)*n/(n-1)
	return kv >= p.KVSpareTrigger && queue >= p.QueueSpareTrigger
}
