package modelanalyzer

import (
	"math"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// doubted is the concurrency at which a profile and a measurement count the same.
// With fewer requests together a latency says little about how it grows with
// them, with more it says more than a profile that was fitted to other lengths.
const doubted = 8

// correct returns the variants with the profiles as the measured latencies bear
// them out. In a batch the prefills of others lengthen the ITL of each, so that
// its slope over the concurrency depends on the lengths of the requests of the
// hour; a profile is fitted to those of a benchmark.
//
//	beta'  = beta + w d / n,           d = ITL - (alpha + beta n)
//	delta' = delta + w d / (input n),  d = min(0, TTFT - (gamma + delta input n)),  w = n / (n + doubted)
//
// where n is the concurrency of a replica by Little's law, and all are means of the last
// minutes without those in which requests waited or replicas were new: what is measured
// then tells of that, and a capacity read off it would order a fleet that is not needed
// once it is over. A TTFT above what is promised is no correction: waiting lengthens it,
// which the queueing model knows. A twentieth of difference is noise, and taken off. A
// beta is halved at least and doubled at most, a delta is 0 at least.
func correct(variants []scaling.Variant, m scaling.Means) []scaling.Variant {
	p, replicas := mean(variants, time.Time{})
	if !(m.Timed > 0) || m.Together <= 0 || replicas == 0 {
		return variants
	}
	itl, ttft, input := m.ITL/m.Timed, m.TTFT/m.Timed, m.Input/m.Requests
	n := min(m.Together/m.Timed, float64(p.MaxBatchSize))
	weight := n / (n + doubted)
	steeper := weight * beyond(itl, p.Alpha+p.Beta*n) / n
	flatter := 0.0
	if tokens := input * n; tokens > 0 {
		flatter = weight * min(0, beyond(ttft, p.Gamma+p.Delta*tokens)) / tokens
	}
	out := make([]scaling.Variant, len(variants))
	for i, v := range variants {
		if v.Profile.Usable() && p.Alpha > 0 {
			speed := v.Profile.Alpha / p.Alpha // a slower variant is slowed down by more
			stated := v.Profile.Beta
			v.Profile.Beta = min(2*stated, max(stated/2, stated+steeper*speed))
			v.Profile.Delta = max(0, v.Profile.Delta+flatter*speed)
		}
		out[i] = v
	}
	return out
}

// beyond is by how much a measurement is beyond a twentieth of what is promised: within
// that it is noise.
func beyond(measured, promised float64) float64 {
	const noise = 0.05
	off := measured - promised
	return math.Copysign(max(0, math.Abs(off)-noise*promised), off)
}

// mean is the profile of the replicas that serve, and how many they are. They are
// none where one has no profile, or became Ready after since, if that is given:
// latencies are those of the fleet before it.
func mean(variants []scaling.Variant, since time.Time) (scaling.Profile, float64) {
	var p scaling.Profile
	replicas := 0.0
	for _, v := range variants {
		r := v.Replicas
		if !r.Observed || r.Ready <= 0 {
			continue
		}
		if !v.Profile.Usable() || !since.IsZero() && r.NewestReady.After(since) {
			return scaling.Profile{}, 0
		}
		ready := float64(r.Ready)
		p.Alpha += v.Profile.Alpha * ready
		p.Beta += v.Profile.Beta * ready
		p.Gamma += v.Profile.Gamma * ready
		p.Delta += v.Profile.Delta * ready
		p.MaxBatchSize = max(p.MaxBatchSize, batch(v.Profile))
		replicas += ready
	}
	if replicas > 0 {
		p.Alpha, p.Beta, p.Gamma, p.Delta = p.Alpha/replicas, p.Beta/replicas, p.Gamma/replicas, p.Delta/replicas
	}
	return p, replicas
}
