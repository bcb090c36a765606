package lab

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/policy"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// benched is the number of replicas of which a benchmark measures the share of
// one. One alone, with nobody beside it to take what a long request keeps from
// the others, would attain its objectives at far lower rates only.
const benched = 4

// bench measures what a replica can do as an operator does before setting up an
// autoscaler: a small fleet behind its gateway, Poisson arrivals of requests like
// those expected, rising rates, up to the highest at which the objectives are
// attained. Rates are of one replica.
type bench struct {
	variant sim.Variant
	slo     sim.SLO
	sample  []workload.Request // lengths, one or more
	mean    policy.Workload
}

// measure returns what came of it. The zero Benchmark means that the objectives
// are out of reach of replicas that are almost idle: rules that need one hold.
func (b bench) measure(ctx context.Context) (policy.Benchmark, error) {
	const (
		slowest = 1e-3 // requests/s: below that a replica is idle
		steps   = 6    // of bisection: within 2 %
	)
	p := b.variant.Profile
	alone := p.GammaMS + p.DeltaMS*b.mean.InputTokens // ms
	rate := 1000 / (alone + b.mean.OutputTokens*p.AlphaMS)
	low, high := policy.Benchmark{}, 0.0
	for high == 0 {
		got, err := b.at(ctx, rate)
		switch {
		case err != nil:
			return policy.Benchmark{}, err
		case got.Rate > 0:
			low = got
			rate *= 2
		case low.Rate > 0:
			high = rate
		case rate < slowest:
			return policy.Benchmark{}, nil
		default:
			rate /= 2
		}
	}
	for range steps {
		middle := (low.Rate + high) / 2
		got, err := b.at(ctx, middle)
		switch {
		case err != nil:
			return policy.Benchmark{}, err
		case got.Rate > 0:
			low = got
		default:
			high = middle
		}
	}
	low.InputTokens, low.PrefillSpeed = b.mean.InputTokens, 1000*b.mean.InputTokens/max(alone, 1e-9)
	return low, nil
}

// at offers a rate in requests/s for each replica, and returns the zero Benchmark where the
// objectives are missed.
func (b bench) at(ctx context.Context, rate float64) (policy.Benchmark, error) {
	const (
		shortest = 5 * time.Minute
		requests = 3000
	)
	length := max(shortest, time.Duration(requests/(benched*rate)*float64(time.Second)))
	m := DefaultModel()
	m.Spec.SLO, m.Spec.Requests = b.slo, b.arrivals(benched*rate, length)
	v := b.variant
	v.Replicas, v.Spec.Bounds = benched, scaling.Unbounded()
	m.Spec.Variants = []sim.Variant{v}
	r, err := sim.Run(ctx, sim.Config{Models: []sim.Model{m.Spec}, Duration: length, Tail: time.Minute}, still{})
	if err != nil {
		return policy.Benchmark{}, fmt.Errorf("measuring a replica with %.3g requests/s: %w", rate, err)
	}
	one := r.Models[0]
	if one.Attainment < b.slo.Attainment {
		return policy.Benchmark{}, nil
	}
	return policy.Benchmark{Rate: rate, Concurrency: rate * one.Response.Mean / 1000}, nil // Little's law
}

func (b bench) arrivals(rate float64, length time.Duration) iter.Seq2[workload.Request, error] {
	return func(yield func(workload.Request, error) bool) {
		rng := rand.New(rand.NewPCG(1, 0)) // the same for every rate
		for at := rng.ExpFloat64() / rate; at < length.Seconds(); at += rng.ExpFloat64() / rate {
			request := b.sample[rng.IntN(len(b.sample))]
			request.At = time.Duration(at * float64(time.Second))
			if !yield(request, nil) {
				return
			}
		}
	}
}

// still leaves the replicas as they are.
type still struct{}

func (still) Name() string                          { return "still" }
func (still) Interval() time.Duration               { return time.Hour }
func (still) Decide(sim.View) ([]sim.Target, error) { return nil, nil }
