package queueing

import (
	"cmp"
	"math"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/queueing/profile"
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
// where n is the concurrency of a replica by Little's law, and all are means over the
// requests of the last minutes, alpha to delta too: the fast replicas of a fleet serve most
// of them. Left out are minutes in which requests waited or replicas were new: what is
// measured then tells of that, and a capacity read off it would order a fleet that is not needed
// once it is over. A TTFT above what is promised is no correction: waiting lengthens it,
// which the queueing model knows. A twentieth of difference is noise, and taken off. A
// beta is halved at least and doubled at most, a delta is 0 at least.
func correct(variants []scaling.Variant, m scaling.Means) []scaling.Variant {
	p, known := m.Profile()
	if !known || m.Together <= 0 || serving(variants, time.Time{}) == 0 {
		return variants
	}
	itl, ttft, input := m.ITL/m.Timed, m.TTFT/m.Timed, m.Input/m.Requests
	n := min(m.Together/m.Timed, largest(variants))
	weight := n / (n + doubted)
	steeper := weight * beyond(itl, p.Alpha+p.Beta*n) / n
	flatter := 0.0
	if tokens := input * n; tokens > 0 {
		flatter = weight * min(0, beyond(ttft, p.Gamma+p.Delta*tokens)) / tokens
	}
	out := make([]scaling.Variant, len(variants))
	for i, v := range variants {
		if v.Profile.Usable() && p.Alpha > 0 && !profile.Believed(v.Profile) {
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

// serving is how many replicas serve, 0 where one has no profile, or became Ready after
// since, if that is given: latencies are those of the fleet before it.
func serving(variants []scaling.Variant, since time.Time) float64 {
	replicas := 0.0
	for _, v := range variants {
		r := v.Replicas
		if !r.Observed || r.Ready <= 0 {
			continue
		}
		if !v.Profile.Usable() || !since.IsZero() && r.NewestReady.After(since) {
			return 0
		}
		replicas += float64(r.Ready)
	}
	return replicas
}

// largest is the largest batch of the replicas that serve.
func largest(variants []scaling.Variant) float64 {
	most := 0
	for _, v := range variants {
		if v.Replicas.Observed && v.Replicas.Ready > 0 {
			most = max(most, cmp.Or(v.SizedBatch(), scaling.DefaultBatch))
		}
	}
	return float64(most)
}

// mean has the coefficients of the profiles of the replicas that serve, in the mean over
// requests, as measured latencies are: a variant serves as many a second as it computes, by
// the time that each takes. Where no replica says what it computes, all count alike.
func mean(snap scaling.Snapshot) scaling.Profile {
	running, told := map[scaling.VariantKey]float64{}, 0.0
	for _, s := range snap.Sorted() {
		running[s.Variant] += s.Running.Or(0)
		told += s.Running.Or(0)
	}
	var sum scaling.Profile
	weights := 0.0
	for _, v := range scaling.ByKey(snap.Variants) {
		p, weight := v.Profile, float64(v.Replicas.Ready)
		if !v.Replicas.Observed || weight <= 0 {
			continue
		}
		if told > 0 {
			n := running[v.Key] / weight
			takes := p.Gamma + p.Delta*snap.Load.InputTokens.Or(0)*n + snap.Load.OutputTokens.Or(0)*(p.Alpha+p.Beta*n)
			weight = running[v.Key] / max(1, takes)
		}
		weights += weight
		sum.Alpha, sum.Beta = sum.Alpha+weight*p.Alpha, sum.Beta+weight*p.Beta
		sum.Gamma, sum.Delta = sum.Gamma+weight*p.Gamma, sum.Delta+weight*p.Delta
	}
	if weights > 0 {
		sum.Alpha, sum.Beta, sum.Gamma, sum.Delta = sum.Alpha/weights, sum.Beta/weights, sum.Gamma/weights, sum.Delta/weights
	}
	return sum
}
