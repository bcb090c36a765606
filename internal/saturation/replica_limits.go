package saturation

import "github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"

// ceilings returns the known limits of a replica beside its KV cache. A replica is full when its
// memory is full, its batch, or the time in which it computes prompts and outputs: short answers to
// long prompts fill the last long before the first.
func (m meter) ceilings() []scaling.Ceiling {
	var out []scaling.Ceiling
	if running, known := m.running(m.snap.Load.ArrivalRate.Or(0)); known {
		c := scaling.Ceiling{Name: "batch", Unit: scaling.UnitRequests, Demand: running / m.policy.ScaleUpThreshold}
		for i, n := range m.batches() {
			if n > 0 {
				c.Variants = append(c.Variants, scaling.Limit{Variant: m.variants[i].Key, PerReplica: n})
			}
		}
		if len(c.Variants) > 0 {
			out = append(out, c)
		}
	}
	l := m.snap.Load
	if l.ArrivalRate.Known() && l.InputTokens.Known() && l.OutputTokens.Known() {
		c := scaling.Ceiling{Name: "prefill and decode", Unit: scaling.UnitRequestRate, Demand: l.ArrivalRate.Value / m.policy.ScaleUpThreshold}
		input := l.InputTokens.Value * (1 - min(1, l.PrefixHits.Or(0)))
		for _, v := range m.variants {
			if rate := throughput(v, input, l.OutputTokens.Value); rate > 0 {
				c.Variants = append(c.Variants, scaling.Limit{Variant: v.Key, PerReplica: rate})
			}
		}
		if len(c.Variants) > 0 {
			out = append(out, c)
		}
	}
	return out
}

// batches returns the largest batch of a replica of each variant, in requests, in proportion to
// what a full batch completes: the demand in running requests follows from the present ITL. 0 where
// it is unknown.
func (m meter) batches() []float64 {
	var batches, rates []float64
	for _, v := range m.variants {
		batches = append(batches, float64(v.MaxBatch()))
		rates = append(rates, throughput(v, m.snap.Load.InputTokens.Or(0)*(1-min(1, m.snap.Load.PrefixHits.Or(0))), m.snap.Load.OutputTokens.Or(0)))
	}
	return inProportion(m.variants, m.samples, batches, rates)
}

// throughput returns the requests/s that a full batch completes by the profile; 0 where that is
// unknown.
func throughput(v scaling.Variant, input, output float64) float64 {
	n := float64(v.MaxBatch())
	if !v.Profile.Usable() || n <= 0 {
		return 0
	}
	return rate(v.Profile, n, input, output)
}

// rate returns the requests/s that a replica with a batch of n completes; 0 where the requests take
// no time by the profile.
func rate(p scaling.Profile, n, input, output float64) float64 {
	total := p.Gamma + p.Delta*input*n + max(0, output-1)*(p.Alpha+p.Beta*n)
	if total <= 0 {
		return 0
	}
	return 1000 * n / total
}
