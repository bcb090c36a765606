package profile

import (
	"cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

const (
	// aheadAtMost is how many times as many requests as were ever seen together a replica is
	// believed to compute: what is beyond is tried in steps, each once the one before was seen.
	aheadAtMost = 2
	// alike is by which part a variant that was not seen may differ from another of its
	// model.
	alike = 0.5
)

// Of returns the variants of a model, those without a stated profile with what is
// believed of them, for requests with so many tokens of prompt to compute and of answer, of which an
// ITL is wanted, 0 for none. It is false while too little was seen of all of them and
// none can be computed.
func Of(variants []scaling.Variant, fits map[scaling.VariantKey]scaling.Fit, prompt, answer, itl float64) ([]scaling.Variant, bool) {
	if !(answer > 0) {
		return nil, false
	}
	computed := priors(variants, prompt, answer)
	anchor, known := best(variants, fits, computed, prompt)
	if anchor < 0 {
		return nil, false
	}
	out := make([]scaling.Variant, len(variants))
	for i, v := range variants {
		out[i] = v
		if v.Profile.Usable() {
			continue
		}
		b := known
		if i != anchor {
			b = known.moved(computed[anchor], computed[i]).After(fits[v.Key])
		}
		if !b.sound() {
			b = known
		}
		p := b.wanting(itl).Profile(prompt, answer)
		p.MaxBatchSize = batch(v, fits[v.Key], computed[i].KV/(prompt+answer))
		switch {
		case b.looks > 0:
		case known.looks > 0 || variants[anchor].Profile.Usable():
			p.Source = SourceOthers
		default:
			p.Source = SourceComputed
		}
		out[i].Profile = p
	}
	return out, true
}

// batch returns how many requests a replica of v computes together at most, 0 where that is not
// known: as it is stated or its engine is started, of replicas that were seen no more than
// twice what was seen, and of others no more than their KV cache is computed to hold, if it is.
func batch(v scaling.Variant, f scaling.Fit, holds float64) int {
	stated, most := cmp.Or(v.Profile.MaxBatchSize, v.Limits.MaxBatch), holds
	if high := highest(f); high > 0 {
		most = aheadAtMost * high
	}
	if !(most > 0 && most < scaling.MostBatch) {
		return stated
	}
	return min(cmp.Or(stated, scaling.DefaultBatch), int(max(1, most)))
}

// best returns the variant of which most was seen, and what is believed of it; of those of which
// nothing was, one with a stated profile. It is -1 where too little was seen of all and none is computed.
func best(variants []scaling.Variant, fits map[scaling.VariantKey]scaling.Fit, computed []Prior, prompt float64) (int, Belief) {
	at, most := -1, Belief{}
	for i, v := range variants {
		b := before(v, computed[i], prompt).After(fits[v.Key])
		if !(b.looks >= scaling.LooksEnough || computed[i].known()) || !b.sound() {
			continue
		}
		if stated := v.Profile.Usable() && b.looks == most.looks && !variants[max(0, at)].Profile.Usable(); at < 0 || b.looks > most.looks || stated {
			at, most = i, b
		}
	}
	return at, most
}
