package profile

import (
	"math"
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

const (
	// mostLooks is the largest number of windows that a band counts for: a new window then counts
	// for a tenth, so that half an hour after a change a twentieth of the old samples is left.
	mostLooks = 10
	// leastDecoding is the least number of decoding requests from which the time of a step is
	// learned.
	leastDecoding = 0.05
	// crowded is the KV cache usage from which on a replica may preempt: no counter includes the
	// tokens that it then computes again.
	crowded = 0.95
)

// Learn returns past with the samples of the replicas of v in s. A sample counts in full once a window,
// and the replicas of one band count as one. Learn omits what is no ordinary step: all replicas
// while one of the variant is new or more requests wait than replicas are Ready, replicas that are
// stuck or whose KV cache is full, and for a few windows samples far off all earlier ones. An
// overload counts while nothing else is known.
func Learn(past memory.Fit, s scaling.Snapshot, v scaling.Variant) memory.Fit {
	past = past.For(v)
	since := s.At.Sub(past.At)
	if since <= 0 || s.Window <= 0 {
		return past
	}
	windows := 1.0
	if !past.At.IsZero() {
		windows = min(1, since.Seconds()/s.Window.Seconds())
	}
	past.At = s.At
	over := overloaded(s)
	if over && (past.Informed() || v.Profile.Usable()) {
		return past
	}
	past.Bands = slices.Clone(past.Bands)
	law, fade := lawOf(past), 1-windows/mostLooks
	seen := samples(s, v, law, over)
	if len(seen) > 0 && past.Informed() && law.off(past) > unlike {
		past = past.Faded(fade) // some samples are of an engine that is gone, and would count until every band is full
	}
	past = counted(past, s, seen, windows, fade)
	for rest := seen; len(rest) > 0; {
		same := firstBand(rest)
		for _, one := range same {
			counts := windows / float64(len(same))
			switch {
			case one.odd && past.Odd < memory.SamplesEnough:
			case over:
				past.Over = past.Over.Plus(one.step, one.itl, counts, mostLooks)
			default:
				add(&past, one, counts)
			}
		}
		rest = rest[len(same):]
	}
	return past
}

// firstBand returns the samples of the first band in seen.
func firstBand(seen []sample) []sample {
	other := slices.IndexFunc(seen, func(one sample) bool { return one.band != seen[0].band })
	if other < 0 {
		return seen
	}
	return seen[:other]
}

// lawOf returns the belief about a step from f alone, the zero value where f has too few samples.
func lawOf(f memory.Fit) Belief {
	if !f.Informed() {
		return Belief{}
	}
	law := Unknown()
	var itl [usualBands]memory.Sums
	law.step = law.step.after(law.step.unbiased(appendITL(itl[:0], f)))
	return law
}

// counted returns past with the tokens, the intervals between them and the part of odd samples of
// seen added. It first multiplies those of past by fade.
func counted(past memory.Fit, s scaling.Snapshot, seen []sample, windows, fade float64) memory.Fit {
	past.Generated, past.Reported = past.Generated*fade, past.Reported*fade
	odd := 0.0
	for i := range seen {
		past.Generated += windows * seen[i].started * max(0, s.Load.OutputTokens.Or(0)-1)
		past.Reported += windows * seen[i].reported
		if seen[i].odd {
			odd++
		}
	}
	past.Odd = past.Odd*fade + windows*odd/max(1, float64(len(seen)))
	return past
}

// Teaches reports whether the time of a step can be learned from a replica: it computes enough and
// is not stuck.
func Teaches(r scaling.ReplicaSample) bool { return r.Stuck == "" && r.Pace.Decoding >= leastDecoding }

// samples returns the samples of the replicas of v, in the order of their bands. law is the one learned
// before, the zero value where it is unknown. over says that the model is overloaded: then full KV
// caches count, too. There are none while prompts are of unknown length, or a replica became Ready
// within the window.
func samples(s scaling.Snapshot, v scaling.Variant, law Belief, over bool) []sample {
	prompt, known := s.Load.Computed()
	if !known || v.Replicas.ReadyWithin(s.At, s.Window) {
		return nil
	}
	var seen []sample
	for _, r := range s.Sorted() {
		if r.Variant == v.Key && Teaches(r) && (over || r.KVCacheUsage.Or(1) < crowded) {
			one := sampleOf(r, prompt, law.step.mean[2])
			one.odd = far(one, law)
			seen = append(seen, one)
		}
	}
	slices.SortStableFunc(seen, func(a, b sample) int { return a.band - b.band })
	return seen
}

// add adds a sample that counts for so many windows to its band.
func add(f *memory.Fit, one sample, windows float64) {
	i, found := slices.BinarySearchFunc(f.Bands, one.band, func(b memory.Band, of int) int { return b.Of - of })
	if !found {
		f.Bands = slices.Insert(f.Bands, i, memory.Band{Of: one.band})
	}
	b := &f.Bands[i]
	b.ITL = b.ITL.Plus(one.step, one.itl, windows, mostLooks)
	if one.ttft > 0 {
		b.TTFT = b.TTFT.Plus(one.first, one.ttft, windows, mostLooks)
	}
}

// overloaded reports whether more requests wait than replicas are Ready.
func overloaded(s scaling.Snapshot) bool {
	ready := scaling.Replicas(0)
	for _, v := range s.Variants {
		ready += v.Replicas.Ready
	}
	return s.Waiting() > float64(ready)
}

// sample is what one replica showed: times and their regressors.
type sample struct {
	band        int
	step, first [3]float64 // regressors of itl and of ttft
	itl, ttft   float64    // ms; ttft is 0 where it is unknown or requests waited
	odd         bool       // far off earlier samples

	started, reported float64 // requests and intervals between tokens, per second
}

// far reports whether a sample is off a law by a factor that no load explains, as after a counter was
// reset.
func far(one sample, law Belief) bool {
	const times = 3
	is := dot(law.step.mean, one.step)
	return is > 0 && (one.itl > times*is || one.itl < is/times)
}

// sampleOf returns what a replica showed. prompt is the number of input tokens that it computes for a
// request, token the ms for each; without token the sample has no TTFT.
func sampleOf(r scaling.ReplicaSample, prompt, token float64) sample {
	together := meets(r.Pace.Decoding)
	one := sample{
		band: int(math.Log2(together)),
		step: [3]float64{1, together, r.Pace.Started * prompt * r.Pace.ITL / 1000}, itl: r.Pace.ITL,
		started: r.Pace.Started, reported: 1000 * r.Pace.Decoding / r.Pace.ITL,
		first: firstOf(r.Pace.Decoding, r.Pace.ITL, token*r.Pace.Started*prompt/1000, prompt),
	}
	if token > 0 && r.QueueLength.Or(1) == 0 {
		one.ttft = r.Pace.TTFT
	}
	return one
}

// meets returns the number of requests in the step of a token, itself included, where so many
// decode in the mean. Where requests arrive independently of each other it is one more, by the law
// of the mean number that an arrival finds. Where a gateway levels the replicas it is the larger of
// one and as many. meets returns a number between the two, at most half a request off either.
func meets(decoding float64) float64 { return decoding + (1+math.Exp(-decoding))/2 }

// alongside is the inverse of meets: it returns the mean number of decoding requests where a step
// of a token has so many.
func alongside(meeting float64) (decoding float64) {
	for range 40 { // each halves the error at least
		decoding = max(0, meeting-(1+math.Exp(-decoding))/2)
	}
	return decoding
}

// firstOf returns the regressors of a TTFT, where prompts is the part of the time in which prompts
// are computed: 1; the steps, which are 1.5 where one runs (its rest and a full one) and half a one
// where none runs; and the tokens of the own prompt and of others before it. c and f, not more
// steps, explain the further time of a request that is alone.
func firstOf(decoding, itl, prompts, prompt float64) [3]float64 {
	// A request that arrives while a prompt is computed waits for the rest of it, which is about as
	// long as a whole mean one since long ones are met more often. It is then computed together
	// with what arrived meanwhile.
	const before = 1.5
	runs := 1 - math.Exp(-decoding)
	return [3]float64{1, itl * (0.5 + runs), prompt * (1 + before*min(1, prompts))}
}
