package policy

import (
	"fmt"
	"math"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// EPPParams are the parameters of the ScaledObjects that scale on the endpoint
// picker: its flow control queue and the running requests.
type EPPParams struct {
	Queue   float64 // requests in the gateway queue per replica, >= 0.001
	Running float64 // running requests per replica, >= 0.001
	// StabilizeDown is the window down of the HPA, >= 0.
	StabilizeDown time.Duration
}

// DefaultEPPParams returns the targets of the llm-d guides: 1 and 16.
func DefaultEPPParams() EPPParams {
	return EPPParams{Queue: 1, Running: 16, StabilizeDown: 300 * time.Second}
}

func (p *EPPParams) fields() []field {
	return []field{
		number("running", "running requests per replica", &p.Running, milli, unlimited, "8", "16", "24", "40", "64"),
		span("stabilize-down", "stabilization window down of the HPA", &p.StabilizeDown, 0, "60s", "300s"),
		number("queue", "requests in the gateway queue per replica", &p.Queue, milli, unlimited),
	}
}

// pickerActive reports whether any request waits at the gateway or is in a pod of v.
func pickerActive(in Observation, v Variant) bool { return v.sum(inFlight).Or(0)+gatewayQueue(in) > 0 }

// newPicker returns a ScaledObject with KEDA's times that reads the endpoint picker.
func newPicker(down time.Duration, metrics ...metric) *keda {
	k := newKEDA(DefaultKEDAParams(1), metrics...)
	k.active = pickerActive
	k.hpa.behavior = DefaultBehavior()
	k.hpa.behavior.Down.Window = down
	return k
}

// NewKEDAEPP returns a rule that wants max(queue / Queue, running / Running): two triggers, each
// with the HPA's tolerance.
func NewKEDAEPP(p EPPParams) (Autoscaler, error) {
	return newPicker(p.StabilizeDown,
		metric{name: "gateway queue", target: fixed(p.Queue), total: func(_ time.Time, in Observation, _ Variant) scaling.Reading {
			return scaling.Measured(gatewayQueue(in), scaling.Fresh)
		}},
		metric{name: "running requests", target: fixed(p.Running), total: func(_ time.Time, _ Observation, v Variant) scaling.Reading {
			return scaling.Measured(v.sum(running).Or(0), scaling.Fresh)
		}},
	), check("keda-epp", p.fields())
}

// NewKEDAQueueGuard returns a rule with the same demand in one formula (scalingModifiers), see
// Guard.
func NewKEDAQueueGuard(p EPPParams) (Autoscaler, error) {
	return newPicker(p.StabilizeDown, metric{
		name: "guarded queue", target: fixed(1),
		total: func(_ time.Time, in Observation, v Variant) scaling.Reading {
			demand := max(gatewayQueue(in)/p.Queue, v.sum(running).Or(0)/p.Running)
			return scaling.Measured(Guard(demand, v.Replicas.Current, v.Replicas.Pending), scaling.Fresh)
		},
	}), check("keda-queue-guard", p.fields())
}

// Guard returns the demand by the formula of the queue-guard blueprint: a demand up to the current
// replicas stays; a higher one is reduced by the pending replicas, down to the current ones. So a
// queue that waits for ordered replicas does not order them again.
func Guard(demand float64, current, pending scaling.Replicas) float64 {
	if demand <= float64(current) {
		return demand
	}
	return max(demand-float64(pending), float64(current))
}

// TokenParams are the parameters of the token-aware blueprint.
type TokenParams struct {
	// Share is the part of the time budget to use, in [0.1, 1]; the guide advises 0.6 to 0.7 where
	// tails count.
	Share float64
	KV    float64 // KV cache usage per replica, a ratio in [0.01, 1]
	// StabilizeDown is the window down of the HPA, >= 0.
	StabilizeDown time.Duration
}

// DefaultTokenParams returns the guide's values: the whole budget, KV cache usage 0.8.
func DefaultTokenParams() TokenParams {
	return TokenParams{Share: 1, KV: 0.8, StabilizeDown: 300 * time.Second}
}

func (p *TokenParams) fields() []field {
	return []field{
		number("share", "part of the time budget that is used", &p.Share, 0.1, 1, "0.5", "0.6", "0.7", "0.85", "1"),
		number("kv", "KV cache usage per replica", &p.KV, 0.01, 1, "0.7", "0.8"),
		span("stabilize-down", "stabilization window down of the HPA", &p.StabilizeDown, 0),
	}
}

// NewKEDAToken returns a rule that wants uncached tokens in flight / (V * budget) replicas for
// prefill, where V is the benchmark's prefill speed and budget = TTFT objective - input tokens / V,
// and the summed KV cache usage / KV for decode. The calibrated numbers stay as they are, whatever
// the load becomes.
func NewKEDAToken(p TokenParams) (Autoscaler, error) {
	return newPicker(p.StabilizeDown,
		metric{name: "prefill tokens", target: p.tokens, total: func(_ time.Time, in Observation, _ Variant) scaling.Reading {
			return scaling.Measured(in.Load.UncachedTokens.Or(0), scaling.Fresh)
		}},
		metric{name: "KV cache usage", target: fixed(p.KV), total: func(_ time.Time, _ Observation, v Variant) scaling.Reading {
			return scaling.Measured(v.sum(kvCacheUsage).Or(0), scaling.Fresh)
		}},
	), check("keda-token", p.fields())
}

// tokens returns how many input tokens in flight a replica prefills within the budget. It is 0,
// which makes the trigger invalid, without a benchmark or if a lone prompt already exceeds the
// objective.
func (p TokenParams) tokens(in Observation, v Variant) float64 {
	speed := v.Benchmark.PrefillSpeed
	if !(speed > 0) || !(in.SLO.TTFT > 0) {
		return 0
	}
	budget := in.SLO.TTFT/1000 - v.Benchmark.InputTokens/speed
	return p.Share * speed * max(0, budget)
}

// SLOParams are the parameters of the SLO-aware blueprint.
type SLOParams struct {
	Up, Down float64       // thresholds of the ratio, in [0.01, 2], Down <= Up
	Window   time.Duration // over which the ratio is averaged, >= 1 s
}

// DefaultSLOParams returns the guide's values: 0.55, 0.40, 45 s.
func DefaultSLOParams() SLOParams { return SLOParams{Up: 0.55, Down: 0.40, Window: 45 * time.Second} }

func (p *SLOParams) fields() []field {
	return []field{
		number("up", "ratio of latency to objective above which it grows", &p.Up, 0.01, 2, "0.55", "0.7", "0.85"),
		number("down", "ratio below which it shrinks", &p.Down, 0.01, 2, "0.3", "0.4"),
		span("window", "time over which the ratio is averaged", &p.Window, time.Second),
	}
}

// NewKEDASLO returns a rule that follows s, the mean over the window of the larger of P90 TTFT and
// P90 ITL over their objectives, at most 2, through an HPA with the guide's behavior: up max(100 %,
// 4) in 60 s after 30 s, down 1 in 120 s after 180 s.
func NewKEDASLO(p SLOParams) (Autoscaler, error) {
	memory := perVariant[series]{}
	k := newPicker(0, metric{
		name: "SLO-aware demand", target: fixed(1),
		total: func(now time.Time, in Observation, v Variant) scaling.Reading {
			m := memory.of(v.Key, func() *series { return &series{} })
			m.add(now, latencyRatio(in), p.Window)
			return scaling.Measured(p.demand(m.mean(now, p.Window), v.Replicas.Current, v.Replicas.Ready), scaling.Fresh)
		},
	})
	k.hpa.behavior = &Behavior{
		Up: Rules{Window: 30 * time.Second, Policies: []Limit{
			{Percent: true, Value: 100, Period: time.Minute}, {Value: 4, Period: time.Minute},
		}},
		Down: Rules{Window: 180 * time.Second, Policies: []Limit{{Value: 1, Period: 120 * time.Second}}},
	}
	if p.Down > p.Up {
		return nil, fmt.Errorf("policy keda-slo: parameter down: found %v, want at most up (%v)", p.Down, p.Up)
	}
	return k, check("keda-slo", p.fields())
}

// latencyRatio returns the larger ratio of a latency to its objective, in [0, 2]; an unknown
// latency counts as 0, as a query without a result does in KEDA.
func latencyRatio(in Observation) float64 {
	var s float64
	if in.SLO.TTFT > 0 {
		s = in.Load.TTFTP90.Or(0) / in.SLO.TTFT
	}
	if in.SLO.ITL > 0 {
		s = max(s, in.Load.ITLP90.Or(0)/in.SLO.ITL)
	}
	return min(s, 2)
}

// demand returns the replicas that the rule wants: growth credits the replicas that are not ready
// yet, a reduction does not. The credit alone never asks for fewer than current.
func (p SLOParams) demand(s float64, current, ready scaling.Replicas) float64 {
	n := float64(current)
	switch {
	case s > p.Up && current > 0:
		return n + max(0, math.Ceil(n*(s*float64(ready)/n/p.Up-1)))
	case s < p.Down:
		return n - math.Floor(n*(1-s/p.Down))
	}
	return n
}
