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
// Ready, of a replica that is stuck or whose KV cache is full. Where nothing else is
// known, what is seen in an overload is better than that.
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
	for band, looks := range looks(s, v, over) {
		for _, one := range looks {
			counts := windows / float64(len(looks))
			if over {
				past.Over = past.Over.Plus(one.step, one.itl, counts, mostLooks)
			} else {
				add(&past, band, one, counts)
			}
		}
	}
	return past
}

// Teaches reports whether a replica computes enough to learn the time of a step from.
func Teaches(r scaling.ReplicaSample) bool { return r.Stuck == "" && r.Pace.Decoding >= leastDecoding }

// looks returns what the replicas of v showed, by band, of an overload where over.
func looks(s scaling.Snapshot, v scaling.Variant, over bool) map[int][]look {
	prompt, known := s.Load.Computed()
	if newest := v.Replicas.NewestReady; !known || !newest.IsZero() && s.At.Sub(newest) < s.Window {
		return nil
	}
	seen := map[int][]look{}
	for _, r := range s.Sorted() {
		if r.Variant == v.Key && Teaches(r) && (over || r.KVCacheUsage.Or(1) < crowded) {
			one := lookAt(r, prompt)
			seen[one.band] = append(seen[one.band], one)
		}
	}
	return seen
}

// add adds a look that counts for so many windows to its band.
func add(f *scaling.Fit, band int, one look, windows float64) {
	i, found := slices.BinarySearchFunc(f.Bands, band, func(b scaling.Band, of int) int { return b.Of - of })
	if !found {
		f.Bands = slices.Insert(f.Bands, i, scaling.Band{Of: band})
	}
	b := &f.Bands[i]
	b.ITL = b.ITL.Plus(one.step, one.itl, windows, mostLooks)
	if one.ttft > 0 {
		b.TTFT = b.TTFT.Plus(one.first, one.ttft, windows, mostLooks)
	}
}

// overloaded reports whether more requests wait than replicas are Ready.
func overloaded(s scaling.Snapshot) bool {
	ready := 0
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
}

// lookAt returns what a replica showed, of whose prompts so many tokens are computed.
func lookAt(r scaling.ReplicaSample, prompt float64) look {
	together := r.Pace.Decoding + 1
	one := look{
		band: int(math.Log2(together)),
		step: [3]float64{1, together, r.Pace.Started * prompt * r.Pace.ITL / 1000}, itl: r.Pace.ITL,
		first: [3]float64{1, r.Pace.ITL, prompt},
	}
	if r.QueueLength.Or(1) == 0 {
		one.ttft = r.Pace.TTFT
	}
	return one
}
