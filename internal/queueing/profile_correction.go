package queueing

import (
	"cmp"
	"math"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/queueing/profile"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// doubted is the number of requests in a batch at which profile and measurement count the same. A
// measurement with fewer says little about how latency grows with them; one with more says more
// than a profile that was fitted to other lengths.
const doubted = 8

// correct returns the variants with their profiles corrected by the measured latencies. The
// prefills of other requests in a batch lengthen its ITL, so that the slope over the batch depends
// on the present lengths of requests, while a profile is fitted to those of a benchmark.
//
//	beta'  = beta + w d / n,           d = ITL - (alpha + beta n)
//	delta' = delta + w d / (input n),  d = min(0, TTFT - (gamma + delta input n)),  w = n / (n + doubted)
//
// n is the batch of a replica by Little's law. All values are means over the requests of the last
// minutes, alpha to delta too: the fast replicas of a fleet serve most requests. Minutes in which
// requests waited or replicas were new are left out: a capacity computed from them would order a
// fleet that is not needed later. A TTFT above the prediction corrects nothing: waiting lengthens
// it, which the queueing model knows. A twentieth of difference is noise, and subtracted. A beta is
// at least halved and at most doubled; a delta is at least 0.
func correct(variants []scaling.Variant, m memory.Means) []scaling.Variant {
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

// beyond returns by how much measured differs from promised, less a twentieth of promised for
// noise.
func beyond(measured, promised float64) float64 {
	const noise = 0.05
	off := measured - promised
	return math.Copysign(max(0, math.Abs(off)-noise*promised), off)
}

// serving returns how many replicas serve; 0 where one has no profile, or became Ready after since,
// if that is given: latencies are those of the fleet before it.
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

// largest returns the largest batch of the serving replicas.
func largest(variants []scaling.Variant) float64 {
	most := 0
	for _, v := range variants {
		if v.Replicas.Observed && v.Replicas.Ready > 0 {
			most = max(most, cmp.Or(v.SizedBatch(), scaling.DefaultBatch))
		}
	}
	return float64(most)
}

// mean returns the mean coefficients of the serving replicas over their requests, which measured
// latencies are means over, too: each variant counts by the requests that it completes a second.
// Where no replica reports running requests, all replicas count the same.
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
