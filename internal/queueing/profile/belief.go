package profile

import (
	"math"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// Belief is what is believed of the speed of one replica: the coefficients a, b and d of
// a step and c, e and f of a TTFT, see the package.
type Belief struct {
	step, first linear
	looks       float64 // that it comes from
}

// Unknown is what is believed of a replica of which nothing is known.
func Unknown() Belief {
	const a, b, d = 15, 0.3, 0.05 // of models of 10 to 30 thousand million parameters
	return Belief{step: within([3]float64{a, b, d}, 1), first: afterStep(d)}
}

// Stated is what a stated profile says of requests with so many tokens of prompt. Some
// profiles have in their beta what the prompts of others add to an ITL, as a benchmark with
// prompts shows it, and some have not: b may be anything up to that.
func Stated(p scaling.Profile, prompt float64) Belief {
	a, b, d := p.Alpha+p.Beta/2, p.Beta/2, (p.Gamma+p.Delta*prompt)/max(1, prompt)
	return Belief{
		step:  spread([3]float64{a, b, d}, [3]float64{a/2 + tiny, 2*b + tiny, d/2 + tiny}).scaled(elsewhere),
		first: afterStep(d),
	}
}

// elsewhere is the part by which all of a stated profile may be off: it may be of another
// engine, another accelerator or other settings.
const elsewhere = 0.7

// tiny keeps what may be off by a part of nothing from being certain.
const tiny = 1e-6

// within returns coefficients that may be off by a part of them.
func within(mean [3]float64, part float64) linear {
	var off [3]float64
	for i, m := range mean {
		off[i] = part*m + tiny
	}
	return spread(mean, off)
}

// afterStep is what is believed of a TTFT where a token of a prompt takes d ms.
func afterStep(d float64) linear {
	return spread([3]float64{0, 1, d}, [3]float64{20, 0.3, d/2 + tiny})
}

// After returns what is believed after what was seen.
func (b Belief) After(f scaling.Fit) Belief {
	var itl, ttft [usualBands]scaling.Sums
	sums := b.step.unbiased(appendITL(itl[:0], f))
	b.step = b.step.after(sums)
	b.first = afterStep(b.step.mean[2])
	b.first = b.first.after(b.first.unbiased(appendTTFT(ttft[:0], f)))
	b.looks = sums.Looks
	return b
}

// sound reports whether the coefficients are numbers: of measurements that no engine shows
// they may be none.
func (b Belief) sound() bool {
	for i := range 3 {
		if !(b.step.mean[i] <= scaling.Largest && b.first.mean[i] <= scaling.Largest) {
			return false
		}
	}
	return true
}

// widened returns what is believed of a replica of another variant of the model.
func (b Belief) widened() Belief {
	return Belief{step: within(b.step.mean, alike), first: afterStep(b.step.mean[2])}
}

// doubted is by how many standard deviations less a step alone may take than is believed.
const doubted = 2

// wanting returns b as far as need be with the benefit of the doubt for an ITL that is wanted, 0 for none.
// What was seen of full replicas says little of how fast a replica is alone, and one that is
// taken for too slow would never be bought: half of the ITL leaves room for others.
func (b Belief) wanting(itl float64) Belief {
	const step = 0.25
	for t := 0.0; itl > 0 && t < doubted && b.step.mean[0]+b.step.mean[1] > itl/2; t += step {
		b.step = b.step.quicker(step)
	}
	return b
}

// Profile returns the profile for requests with so many tokens of prompt to compute and of
// answer. In its terms n requests are computed together, and each of the n-1 others computes
// one prompt for every one of its answers. How long the prompts of others keep a request waiting
// is no part of it: what misses of that the error budget says.
func (b Belief) Profile(prompt, answer float64) scaling.Profile {
	others := b.step.mean[2] * prompt / max(1, answer-1)
	slope := b.step.mean[1] + others
	alone := b.step.mean[0] - others
	c, e, f := b.first.mean[0], 1.5*b.first.mean[1], b.first.mean[2] // of a replica in which a step runs
	return scaling.Profile{
		Source: Source, Alpha: alone, Beta: slope,
		Gamma: max(0, c+e*alone+f*prompt), Delta: e * slope / max(1, prompt),
	}
}

// The sources of profiles that are not stated.
const (
	Source         = "what its replicas showed"
	SourceOthers   = "what others of its model do"
	SourceShared   = "what replicas like it showed in another namespace"
	SourceComputed = "what its model's size and its accelerator let expect"
)

// Believed reports whether a profile is learned or computed, not stated.
func Believed(p scaling.Profile) bool {
	return p.Source == Source || p.Source == SourceOthers || p.Source == SourceShared || p.Source == SourceComputed
}

// highest is about the most requests that were seen to be computed together, 0 for none.
func highest(bands []scaling.Band) float64 {
	if len(bands) == 0 {
		return 0
	}
	return math.Exp2(float64(bands[len(bands)-1].Of + 1))
}
