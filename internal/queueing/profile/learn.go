package profile

import (
	"math"
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

const (
	// mostLooks is for how many windows a band counts at most: what is new then counts for
	// a tenth, so that of what was before a change a twentieth is left after half an hour.
	mostLooks = 10
	// leastDecoding is the fewest requests decoding of which the time of a step is learned.
	leastDecoding = 0.05
	// crowded is the KV cache usage above which a replica may preempt: the tokens that
	// it then computes again are counted nowhere.
	crowded = 0.95
)

// Learn returns what was seen of the replicas of v after a look at s. A look counts in
// full once a window, and replicas of one band count as one. What tells nothing of an ordinary
// step is left out: while a replica of the variant is new, while more requests wait than replicas are
// Ready, of a replica that is stuck or whose KV cache is full, and for a few windows what is
// far off all that was seen before. Where nothing else is known, what is seen in an overload
// is better than that.
func Learn(past scaling.Fit, s scaling.Snapshot, v scaling.Variant) scaling.Fit {
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
	seen := looks(s, v, law, over)
	if len(seen) > 0 && past.Informed() && law.off(past) > unlike {
		past = past.Faded(fade) // some of it is of what is no more, and would stand against what is until every band is full
	}
	past = counted(past, s, seen, windows, fade)
	for rest := seen; len(rest) > 0; {
		same := firstBand(rest)
		for _, one := range same {
			counts := windows / float64(len(same))
			switch {
			case one.odd && past.Odd < scaling.LooksEnough:
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

// firstBand returns the first looks that are of one band.
func firstBand(seen []look) []look {
	other := slices.IndexFunc(seen, func(one look) bool { return one.band != seen[0].band })
	if other < 0 {
		return seen
	}
	return seen[:other]
}

// lawOf returns what is believed of the step of a replica by what was seen alone, the zero value where that
// is too little.
func lawOf(f scaling.Fit) Belief {
	if !f.Informed() {
		return Belief{}
	}
	law := Unknown()
	var itl [usualBands]scaling.Sums
	law.step = law.step.after(law.step.unbiased(appendITL(itl[:0], f)))
	return law
}

// counted counts the tokens and the intervals between them of what was seen, and which part of it was
// odd; of what was before, a part has faded.
func counted(past scaling.Fit, s scaling.Snapshot, seen []look, windows, fade float64) scaling.Fit {
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

// Teaches reports whether a replica computes enough to learn the time of a step from.
func Teaches(r scaling.ReplicaSample) bool { return r.Stuck == "" && r.Pace.Decoding >= leastDecoding }

// looks returns what the replicas of v showed, in the order of their bands, of an overload where over, beside
// the law of what was seen before, the zero value where that is not known.
func looks(s scaling.Snapshot, v scaling.Variant, law Belief, over bool) []look {
	prompt, known := s.Load.Computed()
	if newest := v.Replicas.NewestReady; !known || !newest.IsZero() && s.At.Sub(newest) < s.Window {
		return nil
	}
	var seen []look
	for _, r := range s.Sorted() {
		if r.Variant == v.Key && Teaches(r) && (over || r.KVCacheUsage.Or(1) < crowded) {
			one := lookAt(r, prompt, law.step.mean[2])
			one.odd = far(one, law)
			seen = append(seen, one)
		}
	}
	slices.SortStableFunc(seen, func(a, b look) int { return a.band - b.band })
	return seen
}

// add adds a look that counts for so many windows to its band.
func add(f *scaling.Fit, one look, windows float64) {
	i, found := slices.BinarySearchFunc(f.Bands, one.band, func(b scaling.Band, of int) int { return b.Of - of })
	if !found {
		f.Bands = slices.Insert(f.Bands, i, scaling.Band{Of: one.band})
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

// look is what one replica showed: times, and what they are explained by.
type look struct {
	band        int
	step, first [3]float64 // regressors of itl and of ttft
	itl, ttft   float64    // ms; ttft is 0 where it is not known, or requests waited
	odd         bool       // far off what was seen before

	started, reported float64 // requests and intervals between tokens, in a second
}

// far reports whether a look is so far off a law that no load explains it, as where a counter was reset.
func far(one look, law Belief) bool {
	const times = 3
	is := dot(law.step.mean, one.step)
	return is > 0 && (one.itl > times*is || one.itl < is/times)
}

// lookAt returns what a replica showed, of whose prompts so many tokens are computed, each in so
// many ms; 0 where that is not known, and then its TTFT says nothing.
func lookAt(r scaling.ReplicaSample, prompt, token float64) look {
	together := meets(r.Pace.Decoding)
	one := look{
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

// meets is how many requests a token shares its step with, itself included, where so many are
// decoding in the mean. Where requests come independent of each other it is one more, by the
// law of the mean number that an arrival finds; where a gateway levels the replicas it is
// the larger of one and as many. It is taken to be between the two, which differ by half a request.
func meets(decoding float64) float64 { return decoding + (1+math.Exp(-decoding))/2 }

// alongside is the inverse of meets: how many are decoding in the mean where a token meets so many.
func alongside(meeting float64) (decoding float64) {
	for range 40 { // each halves the error at least
		decoding = max(0, meeting-(1+math.Exp(-decoding))/2)
	}
	return decoding
}

// firstOf returns what a TTFT is explained by where prompts take such a part of the time: the steps, of which the
// rest of the one that runs comes first and the own is a full one then, and the tokens of the own prompt and of those
// of others that come before it. How long the pass of a request that is alone takes beyond half a step is no step more.
func firstOf(decoding, itl, prompts, prompt float64) [3]float64 {
	// A request that comes while a prompt is computed waits for the rest of it, which is about as
	// long as a whole one since long ones are met more often, and is computed with what comes meanwhile.
	const before = 1.5
	runs := 1 - math.Exp(-decoding)
	return [3]float64{1, itl * (0.5 + runs), prompt * (1 + before*min(1, prompts))}
}
