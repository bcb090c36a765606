package profile

import (
	"cmp"
	"math"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

const (
	// movedFar is the part by which a latency must differ from the stated one for the profile to
	// count as moved.
	movedFar = 0.1
	// usualTogether is the concurrency at which profiles are compared where none was seen.
	usualTogether = 16
)

// movedProfile compares the stated profile of v with the belief b after f. It returns false where v
// has no profile, and where the two agree.
func movedProfile(v scaling.Variant, b Belief, f memory.Fit, prompt, answer float64) (scaling.MovedProfile, bool) {
	if !v.Profile.Usable() {
		return scaling.MovedProfile{}, false
	}
	m := scaling.MovedProfile{Variant: v.Key, Source: v.Profile.Source, Windows: b.samples, Together: cmp.Or(highest(f.Bands), usualTogether)}
	is := b.Profile(prompt, answer)
	m.StatedAlone, m.StatedTogether = latency(v.Profile, prompt, 1), latency(v.Profile, prompt, m.Together)
	m.Alone, m.AllTogether = latency(is, prompt, 1), latency(is, prompt, m.Together)
	far := func(was, is float64) bool { return math.Abs(is-was) > movedFar*was }
	itl := far(m.StatedAlone.ITL, m.Alone.ITL) || far(m.StatedTogether.ITL, m.AllTogether.ITL)
	ttft := far(m.StatedAlone.TTFT, m.Alone.TTFT) || far(m.StatedTogether.TTFT, m.AllTogether.TTFT)
	return m, itl || ttft && b.samples > 0 // another variant moves the time of a step, from which the TTFT follows
}

// latency returns the latencies by p at a concurrency of n, with so many input tokens.
func latency(p scaling.Profile, prompt, n float64) scaling.Latency {
	return scaling.Latency{TTFT: p.Gamma + p.Delta*prompt*n, ITL: p.Alpha + p.Beta*n}
}
