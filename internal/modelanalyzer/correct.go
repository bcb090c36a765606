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
// where n is the concurrency of a replica by Little's law, or what runs while requests
// wait. A TTFT above what is
// promised is no correction: waiting lengthens it, which the queueing model knows.
// A twentieth of difference is noise, and taken off. A beta keeps half of its value at
// least, a delta is 0 at least. While requests wait a beta is doubled at most: a
// replica with a full KV cache computes requests twice, so that their ITL tells of
// that and not of the batch, and a capacity read off it would order a fleet that
// nobody needs once the queue is gone.
func correct(variants []scaling.Variant, snap scaling.Snapshot, load load) []scaling.Variant {
	itl, ttft := snap.Load.ITL, snap.Load.TTFT
	if itl.State != scaling.Fresh || load.rate <= 0 || load.output <= 1 || itl.Value <= 0 {
		return variants
	}
	p, replicas := mean(variants, snap.At.Add(-snap.Window))
	if replicas == 0 {
		return variants
	}
	n, known := concurrency(snap, load, replicas)
	n = min(n, float64(p.MaxBatchSize))
	if !known {
		return variants
	}
	weight := n / (n + doubted)
	steeper := weight * beyond(itl.Value, p.Alpha+p.Beta*n) / n
	flatter := 0.0
	if tokens := load.input * n; ttft.State == scaling.Fresh && tokens > 0 {
		flatter = weight * min(0, beyond(ttft.Value, p.Gamma+p.Delta*tokens)) / tokens
	}
	out := make([]scaling.Variant, len(variants))
	for i, v := range variants {
		if v.Profile.Usable() && p.Alpha > 0 {
			speed := v.Profile.Alpha / p.Alpha // a slower variant is slowed down by more
			stated := v.Profile.Beta
			v.Profile.Beta = max(stated/2, stated+steeper*speed)
			if load.backlog > replicas {
				v.Profile.Beta = min(v.Profile.Beta, 2*stated)
			}
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

// concurrency is how many requests a replica computes together in the mean, > 0,
// and whether that is known. While requests wait, fewer leave than arrive or more,
// and what runs now says it better than Little's law.
func concurrency(snap scaling.Snapshot, load load, replicas float64) (float64, bool) {
	if load.backlog <= replicas {
		n := load.rate / replicas * (snap.Load.TTFT.Or(0) + (load.output-1)*snap.Load.ITL.Value) / 1000
		return n, n > 0
	}
	running := 0.0
	for _, r := range snap.Sorted() {
		if !r.Running.Known() {
			return 0, false
		}
		running += r.Running.Value
	}
	return running / replicas, running > 0
}

// mean is the profile of the replicas that serve, and how many they are. They are
// none where one has no profile, or became Ready after since: latencies are those
// of the fleet before it.
func mean(variants []scaling.Variant, since time.Time) (scaling.Profile, float64) {
	var p scaling.Profile
	replicas := 0.0
	for _, v := range variants {
		r := v.Replicas
		if !r.Observed || r.Ready <= 0 {
			continue
		}
		if !v.Profile.Usable() || r.NewestReady.After(since) {
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
