package lab

import (
	"context"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/sim/policy"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/workload"
)

// smallBench is the number of replicas of the first measurement.
const smallBench = 4

// bench measures what a replica carries, as an operator does before setting up an autoscaler: a
// small fleet behind its gateway, Poisson arrivals of requests like the expected ones, and rising
// rates, up to the highest at which the objectives are attained. Rates are per replica.
type bench struct {
	variant sim.Variant
	slo     sim.SLO
	prefix  sim.Prefix
	sample  []workload.Request // lengths, one or more
	mean    policy.Workload
	// replicas is the size of the fleet; the result is the share of one. A replica carries more in
	// a larger fleet: one long request delays fewer others, and arrivals vary less.
	replicas scaling.Replicas
}

// Measured is the result of a benchmark of a variant.
type Measured struct {
	policy.Benchmark
	// Profile is the published profile, fitted to the measurements at next to no load and at the
	// highest rate.
	Profile scaling.Profile
	// Replicas is the size of the measured fleet.
	Replicas scaling.Replicas
}

// Benchmarks keep measurements, so that another run of a scenario need not repeat them.
type Benchmarks interface {
	// Known returns the measurement of a variant in a scenario, false if there is none.
	Known(scenario string, v scaling.VariantKey) (Measured, bool)
	// Keep stores a measurement.
	Keep(scenario string, v scaling.VariantKey, m Measured)
}

// knownOr returns the known measurement, or else measures and keeps it. b may be nil.
func knownOr(b Benchmarks, scenario string, v scaling.VariantKey, measure func() (Measured, error)) (Measured, error) {
	if b == nil {
		return measure()
	}
	if m, ok := b.Known(scenario, v); ok {
		return m, nil
	}
	m, err := measure()
	if err == nil {
		b.Keep(scenario, v, m)
	}
	return m, err
}

// ofFleet measures a replica in a fleet as large as peak, in requests/s, needs, within the bounds
// of the variant and 64 replicas. It begins with four replicas and continues with as many as the
// last measurement calls for. If two sizes call for each other, it takes the larger.
func (b bench) ofFleet(ctx context.Context, peak float64) (Measured, error) {
	const rounds, largest = 4, 64
	most := max(1, min(b.variant.Spec.Bounds.Max, largest))
	b.replicas = min(smallBench, most)
	var best Measured
	for range rounds {
		m, err := b.measure(ctx)
		if err != nil || m.Rate == 0 {
			return m, err
		}
		need := min(most, max(1, scaling.Replicas(math.Ceil(peak/m.Rate))))
		if need == b.replicas || need == best.Replicas && need < m.Replicas {
			return m, nil
		}
		if need == best.Replicas { // the sizes alternate
			return best, nil
		}
		best, b.replicas = m, need
	}
	return best, nil
}

// measure returns the measurement at the highest rate that attains the goal. If replicas that are
// almost idle attain less than the goal, because some requests meet no objective even alone, the
// goal becomes that share of what they attain. A zero Benchmark means that they attain nothing:
// rules that need one hold.
func (b bench) measure(ctx context.Context) (Measured, error) {
	const (
		slowest = 1e-3 // requests/s: below that a replica is idle
		steps   = 6    // of bisection: within 2 %
		same    = 2e-3 // gain in attainment below which a lower rate does not help
	)
	p := b.variant.Profile
	alone := p.Prefill(b.mean.InputTokens) // ms
	first := 1000 / (alone + b.mean.OutputTokens*p.AlphaMS)
	rate, goal := first, b.slo.Attainment
	var light, low point
	high, before := 0.0, 0.0
	for high == 0 {
		got, err := b.at(ctx, rate)
		switch {
		case err != nil:
			return Measured{}, err
		case got.attained >= goal:
			if light.Rate == 0 {
				light = got
			}
			low = got
			rate *= 2
		case low.Rate > 0:
			high = rate
		case before > 0 && got.attained <= before+same && goal == b.slo.Attainment:
			rate, goal = first, goal*got.attained
		case rate < slowest:
			return Measured{Profile: speed(b.variant), Replicas: b.replicas}, nil
		default:
			rate, before = rate/2, got.attained
		}
	}
	for range steps {
		middle := (low.Rate + high) / 2
		got, err := b.at(ctx, middle)
		switch {
		case err != nil:
			return Measured{}, err
		case got.attained >= goal:
			low = got
		default:
			high = middle
		}
	}
	low.InputTokens, low.OutputTokens = b.mean.InputTokens, b.mean.OutputTokens
	low.PrefillSpeed = 1000 * b.mean.InputTokens / max(alone, 1e-9)
	return Measured{Benchmark: low.Benchmark, Profile: b.fit(light, low), Replicas: b.replicas}, nil
}

// point is the measurement at one rate.
type point struct {
	policy.Benchmark
	attained  float64 // a ratio
	ttft, itl float64 // means, ms
}

// fit returns the profile with which the published model,
//
//	TTFT = gamma + delta * input tokens * concurrency,   ITL = alpha + beta * concurrency,
//
// goes through two points, as an operator finds it by the published procedure. It is not the time
// of one step of the engine: in a batch the prefills of others lengthen the ITL of each.
func (b bench) fit(light, full point) scaling.Profile {
	p := speed(b.variant)
	more := full.Concurrency - light.Concurrency
	if more <= 0 || b.mean.InputTokens <= 0 {
		return p // the objectives are met at next to no load only
	}
	p.Beta = max(0, (full.itl-light.itl)/more)
	p.Alpha = max(0, light.itl-p.Beta*light.Concurrency)
	p.Delta = max(0, (full.ttft-light.ttft)/(more*b.mean.InputTokens))
	p.Gamma = max(0, light.ttft-p.Delta*b.mean.InputTokens*light.Concurrency)
	return p
}

// at measures with a rate in requests/s for each replica.
func (b bench) at(ctx context.Context, rate float64) (point, error) {
	const (
		shortest = 5 * time.Minute
		requests = 3000
		rarely   = 150 * time.Second // between scrapes: no policy reads them
	)
	length := max(shortest, time.Duration(requests/(float64(b.replicas)*rate)*float64(time.Second)))
	m := DefaultModel()
	m.Spec.SLO, m.Spec.Prefix, m.Spec.Requests = b.slo, b.prefix, b.arrivals(float64(b.replicas)*rate, length)
	v := b.variant
	v.Replicas, v.Spec.Bounds = b.replicas, scaling.Unbounded()
	m.Spec.Variants = []sim.Variant{v}
	r, err := sim.Run(ctx, sim.Config{Models: []sim.Model{m.Spec}, Duration: length, Tail: time.Minute, ScrapeInterval: rarely, Interval: time.Hour}, still{})
	if err != nil {
		return point{}, fmt.Errorf("measuring a replica with %.3g requests/s: %w", rate, err)
	}
	one := r.Models[0]
	return point{
		Benchmark: policy.Benchmark{Rate: rate, Concurrency: rate * one.Response.Mean / 1000}, // by Little's law
		attained:  one.Attainment, ttft: one.TTFT.Mean, itl: one.ITL.Mean,
	}, nil
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
