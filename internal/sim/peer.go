package sim

import (
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/policy"
)

// Peer is another autoscaler: its decision rules, one for each model. Make a new one for every run:
// the rules keep state.
type Peer struct {
	options PeerOptions
	last    map[scaling.ModelKey]ModelView // view at the last decision
	at      time.Time                      // of the last decision
}

var _ Policy = (*Peer)(nil)

// PeerOptions are the options of NewPeer.
type PeerOptions struct {
	Name     string                                    // in a Report
	Interval time.Duration                             // between two decisions
	Rules    map[scaling.ModelKey]policy.Autoscaler    // for each model that the peer scales
	Measured func(scaling.VariantKey) policy.Benchmark // returns the benchmark of a replica; nil: none
}

// NewPeer returns the peer.
func NewPeer(o PeerOptions) *Peer {
	if o.Measured == nil {
		o.Measured = func(scaling.VariantKey) policy.Benchmark { return policy.Benchmark{} }
	}
	return &Peer{options: o, last: map[scaling.ModelKey]ModelView{}}
}

// Name implements Policy.
func (p *Peer) Name() string { return p.options.Name }

// Interval implements Policy.
func (p *Peer) Interval() time.Duration { return p.options.Interval }

// Decide implements Policy.
func (p *Peer) Decide(v View) ([]Target, error) {
	var targets []Target
	for i, snap := range v.Snapshots {
		rule, ok := p.options.Rules[snap.Model]
		if !ok {
			continue
		}
		for _, t := range rule.Decide(v.Now, p.observe(v.Now, snap, v.Models[i])) {
			targets = append(targets, Target{Variant: t.Variant, Replicas: max(0, t.Replicas), Reason: p.options.Name, Detail: t.Reason})
		}
		p.last[snap.Model] = v.Models[i]
	}
	p.at = v.Now
	return targets, nil
}

// observe returns what a rule reads of one model.
func (p *Peer) observe(now time.Time, snap scaling.Snapshot, m ModelView) policy.Observation {
	o := policy.Observation{
		SLO: policy.SLO{TTFT: m.SLO.TTFT, ITL: m.SLO.ITL},
		Load: policy.Load{
			Load:    snap.Load,
			TTFTP90: upperDecile(snap.Load.TTFTBuckets), ITLP90: upperDecile(snap.Load.ITLBuckets),
			UncachedTokens: scaling.Measured(float64(m.InputTokens), scaling.Fresh),
			Shapes:         p.shapes(now, m),
		},
	}
	samples := map[string]scaling.ReplicaSample{}
	for _, r := range snap.Replicas {
		samples[r.Pod] = r
	}
	for i, spec := range snap.Variants {
		view := m.Variants[i]
		v := policy.Variant{
			Variant: spec, ArrivalRate: view.ArrivalRate, KVTokens: view.KVTokens, BatchedTokens: view.BatchedTokens,
			InFlight:  scaling.Measured(float64(view.InFlight+waits(snap.Variants, spec, m)), scaling.Fresh),
			Benchmark: p.options.Measured(spec.Key),
		}
		for _, pod := range m.Pods {
			if pod.Variant != spec.Key {
				continue
			}
			r := samples[pod.Name]
			v.Pods = append(v.Pods, policy.Pod{
				Name: pod.Name, Ready: pod.Ready, Unstarted: !pod.Placed,
				KVCacheUsage: r.KVCacheUsageNow, QueueLength: r.QueueLengthNow, Running: r.Running, QueuedTokens: pod.QueuedTokens,
				Decoded: generates(r),
			})
		}
		o.Variants = append(o.Variants, v)
	}
	return o
}

// waits returns the requests that wait until a replica of the variant is ready.
func waits(all []scaling.Variant, v scaling.Variant, m ModelView) int {
	if scaling.Disaggregated(all) && v.Role != scaling.RolePrefill {
		return m.Passed
	}
	return m.Held
}

// generates returns the output rate of a pod, tokens/s, without the first token of each request.
func generates(r scaling.ReplicaSample) scaling.Reading {
	if !(r.Pace.ITL > 0) {
		return scaling.Reading{}
	}
	return scaling.Measured(1000*r.Pace.Decoding/r.Pace.ITL, scaling.Fresh)
}

// upperDecile returns the 90th percentile of a histogram [ms].
func upperDecile(h scaling.Histogram) scaling.Reading {
	e, ok := h.Quantile(0.9)
	if !ok {
		return scaling.Reading{}
	}
	return scaling.Measured(e.Value, h.State)
}

// shapes returns the arrivals since the last decision by their lengths, nil at the first decision.
func (p *Peer) shapes(now time.Time, m ModelView) []policy.Shape {
	last, ok := p.last[m.Model]
	seconds := now.Sub(p.at).Seconds()
	if !ok || seconds <= 0 {
		return nil
	}
	var shapes []policy.Shape
	for i, s := range m.Shapes {
		n := s.minus(last.Shapes[i])
		if n.Requests > 0 {
			requests := float64(n.Requests)
			shapes = append(shapes, policy.Shape{
				InputTokens: float64(n.InputTokens) / requests, OutputTokens: float64(n.OutputTokens) / requests, Rate: requests / seconds,
			})
		}
	}
	return shapes
}
