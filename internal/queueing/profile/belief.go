package profile

import (
	"math"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// Belief is what is believed of the speed of one replica: the coefficients a, b and d of a step,
// and c, e and f of a TTFT (see the package).
type Belief struct {
	step, first linear
	samples     float64 // windows that it comes from
}

// Unknown returns the belief about a replica of which nothing is known.
func Unknown() Belief {
	const a, b, d = 15, 0.3, 0.05 // of models of 10 to 30 billion parameters
	return Belief{step: within([3]float64{a, b, d}, 1), first: afterStep(d)}
}

// Stated returns the belief by a stated profile for requests with so many input tokens to compute.
// The beta of a profile may include what the prompts of others add to an ITL, as in a benchmark
// with prompts: b may be anything up to beta.
func Stated(p scaling.Profile, prompt float64) Belief {
	a, b, d := p.Alpha+p.Beta/2, p.Beta/2, (p.Gamma+p.Delta*prompt)/max(1, prompt)
	return Belief{
		step:  spread([3]float64{a, b, d}, [3]float64{a/2 + tiny, 2*b + tiny, d/2 + tiny}).scaled(elsewhere),
		first: afterStep(d),
	}
}

// elsewhere is the standard deviation of a stated profile as a whole, a ratio: it may be of another
// engine, accelerator or configuration.
const elsewhere = 0.7

// tiny is the least standard deviation of a coefficient, so that a mean of 0 is not certain.
const tiny = 1e-6

// within returns coefficients whose standard deviations are a part of their means.
func within(mean [3]float64, part float64) linear {
	var off [3]float64
	for i, m := range mean {
		off[i] = part*m + tiny
	}
	return spread(mean, off)
}

// afterStep returns the belief about a TTFT where an input token takes d ms.
func afterStep(d float64) linear {
	return spread([3]float64{0, 1, d}, [3]float64{20, 0.3, d/2 + tiny})
}

// After returns the belief b after what f saw.
func (b Belief) After(f memory.Fit) Belief {
	var itl, ttft [usualBands]memory.Sums
	sums := b.step.unbiased(appendITL(itl[:0], f))
	b.step = b.step.after(sums)
	b.first = afterStep(b.step.mean[2])
	b.first = b.first.after(b.first.unbiased(appendTTFT(ttft[:0], f)))
	b.samples = sums.Samples
	return b
}

// sound reports whether the coefficients are finite and not too large. Measurements that no engine
// shows may lead to others.
func (b Belief) sound() bool {
	for i := range 3 {
		if !(b.step.mean[i] <= scaling.Largest && b.first.mean[i] <= scaling.Largest) {
			return false
		}
	}
	return true
}

// widened returns the belief about another variant of the model, by that about this one.
func (b Belief) widened() Belief {
	return Belief{step: within(b.step.mean, alike), first: afterStep(b.step.mean[2])}
}

// doubted limits, in standard deviations, by how much less than believed wanting assumes for the
// step of a request that is alone.
const doubted = 2

// wanting returns b with a shorter step where a request that is alone would take more than half of
// the wanted itl, in ms; 0 for none. Samples at full replicas say little of the speed of a request
// that is alone, and a variant believed to be too slow would never be ordered. The other half of
// the ITL is for other requests.
func (b Belief) wanting(itl float64) Belief {
	const step = 0.25
	for t := 0.0; itl > 0 && t < doubted && b.step.mean[0]+b.step.mean[1] > itl/2; t += step {
		b.step = b.step.quicker(step)
	}
	return b
}

// Profile returns the profile for requests with so many input tokens to compute and output tokens.
// In its terms n requests are computed together, and each of the n-1 others computes one prompt for
// each of its answers. The time that a request waits for the prompts of others is not part of it:
// the error budget corrects for that.
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

// highest returns about the highest concurrency that was seen, in requests; 0 for none.
func highest(bands []memory.Band) float64 {
	if len(bands) == 0 {
		return 0
	}
	return math.Exp2(float64(bands[len(bands)-1].Of + 1))
}
