package policy

import (
	"fmt"
	"math"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// DynamoParams are the parameters of Dynamo's SLA planner.
type DynamoParams struct {
	Interval time.Duration // of the adjustment, >= Tick
	Tick     time.Duration // between looks at the load, of which the mean over Interval counts, >= 1 s
	// Predictor is "constant" or "kalman". Dynamo's default, an ARIMA with a searched order, is not
	// implemented here.
	Predictor string
	// MaxGPUs is the budget of one variant in accelerators, 0 for its bounds alone. Dynamo's own 8
	// is a limit of its user and not of the rule.
	MaxGPUs int
}

// DefaultDynamoParams returns an interval of 180 s, no budget and the Kalman predictor.
func DefaultDynamoParams() DynamoParams {
	return DynamoParams{Interval: 180 * time.Second, Tick: 15 * time.Second, Predictor: "kalman"}
}

func (p *DynamoParams) fields() []field {
	return []field{
		span("interval", "time between adjustments", &p.Interval, time.Second, "60s", "180s"),
		choice("predictor", "of the load of the next interval", &p.Predictor, []string{"constant", "kalman"}, "constant", "kalman"),
		span("tick", "time between looks at the load", &p.Tick, time.Second),
		count("max-gpus", "accelerators of one variant, 0 for no limit", &p.MaxGPUs, 0),
	}
}

// dynamo is the classic rule: for a pool of engines that do both prefill and decode, and for a pool
// of each role.
type dynamo struct {
	p     DynamoParams
	state perVariant[dynamoState]
}

type dynamoState struct {
	since               time.Time // begin of the interval
	rate, input, output interval
	next                [3]predictor     // of rate, input, output
	n                   scaling.Replicas // decided last
	why                 string
}

// NewDynamoSLA returns the published rule of the SLA planner: the replicas that the predicted load
// needs for prefill and for decode, corrected by the ratio of the measured latencies to those of
// the profile. A variant that serves whole requests is one aggregated pool, and gets the sum; a
// variant of a role gets its part, for the load of the whole model, which the planner reads at the
// frontend.
func NewDynamoSLA(p DynamoParams) (Autoscaler, error) {
	if p.Tick > p.Interval {
		return nil, fmt.Errorf("policy dynamo-sla: parameter tick: found %s, want at most the interval (%s)", p.Tick, p.Interval)
	}
	return &dynamo{p, perVariant[dynamoState]{}}, check("dynamo-sla", p.fields())
}

func (d *dynamo) Interval() time.Duration { return d.p.Tick }

func (d *dynamo) Decide(now time.Time, in Observation) []Target {
	return each(in, func(v Variant) (scaling.Replicas, string) {
		s := d.state.of(v.Key, func() *dynamoState {
			return &dynamoState{since: now, n: v.Replicas.Current, why: "Dynamo: the first interval has not ended"}
		})
		rate := v.ArrivalRate
		if v.Role != "" {
			rate = in.Load.ArrivalRate
		}
		s.rate.add(rate)
		s.input.add(in.Load.InputTokens)
		s.output.add(in.Load.OutputTokens)
		if now.Sub(s.since) >= d.p.Interval {
			s.since = now
			s.adjust(d.p, in, v)
		}
		return budget(v, s.n, d.p.MaxGPUs), s.why
	})
}

// adjust decides at the end of an interval.
func (s *dynamoState) adjust(p DynamoParams, in Observation, v Variant) {
	var next [3]float64
	for i, of := range []*interval{&s.rate, &s.input, &s.output} {
		// The planner reads an interval without a value as 0.
		s.next[i].observe(of.mean(), p.Predictor)
		next[i] = s.next[i].next
		*of = interval{}
	}
	if !v.Profile.Usable() || !(in.SLO.ITL > 0) {
		s.n, s.why = v.Replicas.Current, "Dynamo: hold, it needs a profile and an ITL objective"
		return
	}
	prefill, decode := engines(demandOf(next, in, v))
	need := prefill + decode
	switch v.Role {
	case scaling.RolePrefill:
		need = prefill
	case scaling.RoleDecode:
		need = decode
	default:
	}
	s.n = max(1, ceil(need-1e-9))
	s.why = fmt.Sprintf("Dynamo: predicts %.3g requests/s of %.0f and %.0f tokens, which take %.2f replicas for prefill and %.2f for decode",
		next[0], next[1], next[2], prefill, decode)
}

// dynamoDemand holds the inputs of the classic rule.
type dynamoDemand struct {
	rate, input, output float64 // requests/s, tokens per request
	correction          float64 // measured over expected TTFT
	prefill, decode     float64 // tokens/s of one engine
}

// engines returns the engines for prefill and for decode by the classic rule, before rounding. A
// pool of each rounds its number up; an aggregated pool rounds up the sum, because both share the
// time of an engine.
func engines(d dynamoDemand) (prefill, decode float64) {
	return d.rate * d.input * min(1, d.correction) / d.prefill, d.rate * d.output / d.decode
}

// demandOf reads the variant's profile where the planner interpolates its own:
// TTFT = gamma + delta*input, ITL = alpha + beta*concurrency.
func demandOf(next [3]float64, in Observation, v Variant) dynamoDemand {
	p := v.Profile
	d := dynamoDemand{rate: max(0, next[0]), input: max(1, next[1]), output: max(1, next[2])}
	ttft := p.Gamma + p.Delta*d.input
	d.correction = correction(in.Load.TTFT.Or(0), ttft)
	each := v.sum(running).Or(0) / float64(max(1, v.Replicas.Ready))
	objective := in.SLO.ITL / correction(in.Load.ITL.Or(0), p.Alpha+p.Beta*each)
	n := batchWithin(objective, v, d.input, d.output)
	d.prefill, d.decode = math.Inf(1), math.Inf(1)
	if ttft > 0 {
		d.prefill = d.input / ttft * 1000
	}
	if itl := p.Alpha + p.Beta*n; itl > 0 {
		d.decode = n / itl * 1000
	}
	return d
}

// batchWithin returns how many requests of such lengths a replica decodes at once within an ITL
// [ms]: as many as its profile, its batch and its KV cache allow, at least one.
func batchWithin(itl float64, v Variant, input, output float64) float64 {
	n := float64(v.Profile.MaxBatchSize)
	if v.Profile.Beta > 0 {
		n = least(n, max(1, (itl-v.Profile.Alpha)/v.Profile.Beta))
	}
	if v.KVTokens > 0 {
		n = least(n, v.KVTokens/(input+output/2))
	}
	return max(1, n)
}

// correction returns measured over expected, 1 if either is unknown.
func correction(measured, expected float64) float64 {
	if measured > 0 && expected > 0 {
		return measured / expected
	}
	return 1
}

// budget limits n to the bounds of v and to so many accelerators, 0 for no limit.
func budget(v Variant, n scaling.Replicas, gpus int) scaling.Replicas {
	if gpus > 0 {
		n = min(n, scaling.Replicas(gpus/int(max(1, v.GPUsPerReplica))))
	}
	return v.Bounds.Clamp(n)
}

// least returns the smaller limit; a present limit of 0 means none.
func least(present, limit float64) float64 {
	if present == 0 {
		return limit
	}
	return min(present, limit)
}
