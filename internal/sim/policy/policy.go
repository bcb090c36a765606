package policy

import (
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Autoscaler is a peer that scales one model. It keeps its state in the value and has no clock and
// no randomness, so that the same calls give the same answers. It is not safe for concurrent use.
type Autoscaler interface {
	// Interval is the time between decisions, at least 100 ms.
	Interval() time.Duration
	// Decide returns one Target for every variant of in, in their order. Each call has a now that
	// is Interval later. It keeps nothing of in.
	Decide(now time.Time, in Observation) []Target
}

// Target is the replicas that a policy wants of one variant.
type Target struct {
	Variant  scaling.VariantKey
	Replicas scaling.Replicas // within the variant's Bounds, except where the peer cannot leave zero
	Reason   string           // one line, never empty
}

// Observation holds what the peers can read of one model at one instant, as late as their source of
// metrics delivers it. Policies do not change it.
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

// Load is the load of the model, all variants together.
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

// Shape is the arrivals of about the same lengths.
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
	// InFlight counts the requests of this variant at this instant, those at the gateway included,
	// as the proxies of a peer count them. Absent if only the pods' metrics count.
	InFlight scaling.Reading
	// KVTokens is the size of one replica's KV cache in tokens, 0 while unknown.
	KVTokens float64
	// BatchedTokens limits the tokens of one step of the engine, 0 while unknown.
	BatchedTokens float64
	// Benchmark is the measurement of one replica before the run.
	Benchmark Benchmark
}

// Pod is one replica, with its metrics at their last scrape.
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
	// Decoded is the rate of output tokens, tokens/s, without the first of each request.
	Decoded scaling.Reading
}

// sum returns the sum of the values that the pods of v report, Absent if no pod reports, like the
// sum of no series in PromQL.
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

// inFlight returns the number of requests in a pod, running and waiting.
func inFlight(p Pod) scaling.Reading {
	if !p.Running.Known() && !p.QueueLength.Known() {
		return scaling.Reading{}
	}
	return scaling.Measured(p.Running.Or(0)+p.QueueLength.Or(0), scaling.Fresh)
}

// gatewayQueue returns the number of requests held at the gateway, 0 if it is unknown.
func gatewayQueue(in Observation) float64 { return in.Load.GatewayQueue.Or(0) }

// concurrency returns the count of a queueing proxy before the variant: the requests in its pods
// and at the gateway. Without such a count it adds up the last scrapes, with 0 for missing values.
func concurrency(in Observation, v Variant) float64 {
	if v.InFlight.Known() {
		return v.InFlight.Value
	}
	return v.sum(inFlight).Or(0) + gatewayQueue(in)
}

// each calls decide for every variant and keeps their order.
func each(in Observation, decide func(Variant) (scaling.Replicas, string)) []Target {
	out := make([]Target, len(in.Variants))
	for i, v := range in.Variants {
		n, why := decide(v)
		out[i] = Target{Variant: v.Key, Replicas: n, Reason: why}
	}
	return out
}

// perVariant keeps one state of a peer for every variant.
type perVariant[S any] map[scaling.VariantKey]*S

// of returns the state of a variant, made by fresh at the first call.
func (m perVariant[S]) of(key scaling.VariantKey, fresh func() *S) *S {
	s, ok := m[key]
	if !ok {
		s = fresh()
		m[key] = s
	}
	return s
}
