package policy

import (
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Autoscaler is a peer that scales one model. Its memory is in the value; it has no
// clock and no randomness, so the same calls give the same answers. It is not
// safe for concurrent use.
type Autoscaler interface {
	// Interval is how often the peer decides, at least 100 ms.
	Interval() time.Duration
	// Decide returns one Target for every variant of in, in their order. Calls
	// come with now growing by Interval. It keeps nothing of in.
	Decide(now time.Time, in Observation) []Target
}

// Target is what a policy wants of one variant.
type Target struct {
	Variant  scaling.VariantKey
	Replicas scaling.Replicas // within the variant's Bounds, except where the peer cannot leave zero
	Reason   string           // one line for a reader, never empty
}

// Observation is what the peers can read of one model at one instant, as late
// as their source of metrics delivers it. Policies do not change it.
type Observation struct {
	Variants []Variant // sorted by Key
	Load     Load
	SLO      SLO
}

// SLO holds the objectives of the model, 0 where it has none.
type SLO struct {
	TTFT float64 // ms
	ITL  float64 // ms
}

// Load is what the model is asked to do, all variants together.
type Load struct {
	scaling.Load
	// TTFTP90 and ITLP90 are 90th percentiles, in ms.
	TTFTP90 scaling.Reading
	ITLP90  scaling.Reading
	// UncachedTokens counts the input tokens of the requests in flight that no
	// prefix cache covers, as the endpoint picker does.
	UncachedTokens scaling.Reading
	// Shapes is the arrival rate by length, in any order.
	Shapes []Shape
}

// Shape is the part of the arrivals that has about the same lengths.
type Shape struct {
	InputTokens  float64 // tokens per request, > 0
	OutputTokens float64 // tokens per request, > 0
	Rate         float64 // requests/s, >= 0
}

// Variant is one variant with its replicas as the peers see them.
type Variant struct {
	scaling.Variant
	// Pods are the pods that exist and are not being deleted, sorted by Name.
	Pods []Pod
	// ArrivalRate is the rate of the requests routed to this variant, requests/s.
	ArrivalRate scaling.Reading
	// InFlight counts the requests of this variant at this instant, those at the
	// gateway included: what the proxies of a peer that has its own count. Absent
	// where nothing counts but the pods' metrics.
	InFlight scaling.Reading
	// KVTokens is the size of one replica's KV cache in tokens, 0 while unknown.
	KVTokens float64
	// BatchedTokens limits the tokens of one step of the engine, 0 while unknown.
	BatchedTokens float64
	// Benchmark is what was measured of one replica before the run.
	Benchmark Benchmark
}

// Pod is one replica as its own metrics show it at their last scrape.
type Pod struct {
	Name  string
	Ready bool
	// Unstarted is true until the pod's containers run: its phase is Pending. A pod
	// that loads its model runs, is not Ready, and reports nothing.
	Unstarted bool

	KVCacheUsage scaling.Reading // ratio in [0, 1]
	QueueLength  scaling.Reading // waiting requests
	Running      scaling.Reading // requests in the batch
	// QueuedTokens counts the input tokens of the waiting requests.
	QueuedTokens scaling.Reading
	// Decoded is tokens/s, without the first of each request.
	Decoded scaling.Reading
}

// sum adds up what the pods of v report, and is Absent when none does, as the
// sum of no series is in PromQL.
func (v Variant) sum(read func(Pod) scaling.Reading) scaling.Reading {
	var total scaling.Reading
	for _, p := range v.Pods {
		if r := read(p); r.Known() {
			total = scaling.Measured(total.Value+r.Value, scaling.Fresh)
		}
	}
	return total
}

func kvCacheUsage(p Pod) scaling.Reading { return p.KVCacheUsage }
func queueLength(p Pod) scaling.Reading  { return p.QueueLength }
func running(p Pod) scaling.Reading      { return p.Running }
func decoded(p Pod) scaling.Reading      { return p.Decoded }

// inFlight is the number of requests that a pod holds, running and waiting.
func inFlight(p Pod) scaling.Reading {
	if !p.Running.Known() && !p.QueueLength.Known() {
		return scaling.Reading{}
	}
	return scaling.Measured(p.Running.Or(0)+p.QueueLength.Or(0), scaling.Fresh)
}

// gatewayQueue is the number of requests held at the gateway, 0 where nothing
// says so.
func gatewayQueue(in Observation) float64 { return in.Load.GatewayQueue.Or(0) }

// concurrency is what a queueing proxy before the variant counts: the requests
// its pods hold and those held at the gateway. Without such a count it is made up
// from the last scrapes, and nothing reported is 0.
func concurrency(in Observation, v Variant) float64 {
	if v.InFlight.Known() {
		return v.InFlight.Value
	}
	return v.sum(inFlight).Or(0) + gatewayQueue(in)
}

// each asks decide for every variant and keeps their order.
func each(in Observation, decide func(Variant) (scaling.Replicas, string)) []Target {
	out := make([]Target, len(in.Variants))
	for i, v := range in.Variants {
		n, why := decide(v)
		out[i] = Target{Variant: v.Key, Replicas: n, Reason: why}
	}
	return out
}

// perVariant keeps one state of a peer for every variant it has met.
type perVariant[S any] map[scaling.VariantKey]*S

// of returns the state of a variant, made by fresh at the first meeting.
func (m perVariant[S]) of(key scaling.VariantKey, fresh func() *S) *S {
	s, ok := m[key]
	if !ok {
		s = fresh()
		m[key] = s
	}
	return s
}
