package metrics

import (
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// metricsAge adds the age of the oldest scrape among the replicas of the model.
func (p *press) metricsAge(s scaling.Snapshot) {
	var oldest time.Time
	for _, r := range s.Replicas {
		if !r.At.IsZero() && (oldest.IsZero() || r.At.Before(oldest)) {
			oldest = r.At
		}
	}
	if !oldest.IsZero() {
		p.since("model "+s.Model.String(), MetricsAge, oldest, Label(s.Model.Namespace), Label(s.Model.ID))
	}
}

// saturation adds the mean of what the replicas of each variant report.
func (p *press) saturation(s scaling.Snapshot) {
	for _, v := range s.Variants {
		var kv, queue mean
		for _, r := range s.Replicas {
			if r.Variant == v.Key {
				kv.add(r.KVCacheUsage)
				queue.add(r.QueueLength)
			}
		}
		p.addMean(v.Key, "kv_cache", kv)
		p.addMean(v.Key, "queue", queue)
	}
}

// addMean adds the mean of a signal, if any replica reported it.
func (p *press) addMean(key scaling.VariantKey, signal string, m mean) {
	if m.n > 0 {
		p.add(key, SaturationLevel, m.sum/float64(m.n), append(variant(key), signal)...)
	}
}

// load adds the known readings of the load of a model, for each of its variants.
func (p *press) load(s scaling.Snapshot) {
	quantities := []struct {
		name    string
		reading scaling.Reading
	}{
		{"arrival_rate", s.Load.ArrivalRate},
		{"input_tokens", s.Load.InputTokens},
		{"output_tokens", s.Load.OutputTokens},
	}
	for _, v := range s.Variants {
		for _, q := range quantities {
			if q.reading.Known() {
				p.add(v.Key, CurrentLoad, q.reading.Value, append(variant(v.Key), Label(s.Model.ID), q.name)...)
				p.legacyLoad(v, q.name, q.reading.Value)
			}
		}
	}
}

// mean sums up the known readings.
type mean struct {
	sum float64
	n   int
}

func (m *mean) add(r scaling.Reading) {
	if r.Known() {
		m.sum += r.Value
		m.n++
	}
}
