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

// Of returns the variants of a model with what is believed of them, for requests with so many
// tokens of prompt to compute and of answer, of which an ITL is wanted, 0 for none. Of those
// that were not seen enough it is what is stated, what was seen of another, or what is
// computed. It returns false while too little was seen of all of them and none can be computed.
func Of(variants []scaling.Variant, fits map[scaling.VariantKey]scaling.Fit, prompt, answer, itl float64) ([]scaling.Variant, bool) {
	if !(answer > 0) {
		return nil, false
	}
	fits = used(variants, fits)
	begin, anchor := beginnings(variants, fits, prompt, answer)
	if anchor < 0 {
		return nil, false
	}
	known := begin[anchor].After(fits[variants[anchor].Key])
	out := make([]scaling.Variant, len(variants))
	for i, v := range variants {
		out[i] = v
		if v.Profile.Usable() && !fits[v.Key].Informed() && !begin[i].moved {
			continue
		}
		b := begin[i].After(fits[v.Key])
		if !b.sound() {
			b = known
		}
		p := b.wanting(itl).Profile(prompt, answer)
		p.MaxBatchSize = batch(v, fits[v.Key], begin[i].computed.KV/(prompt+answer))
		switch {
		case b.looks > 0:
		case known.looks > 0 || variants[anchor].Profile.Usable():
			p.Source = SourceOthers
		default:
			p.Source = SourceComputed
		}
		out[i].Stated, out[i].Profile = v.Profile, p
	}
	return out, true
}

// batch returns how many requests a replica of v computes together at most, 0 where that is not
// known: as it is stated or its engine is started, of replicas that were seen no more than
// twice what was seen, and of others no more than their KV cache is computed to hold, if it is.
func batch(v scaling.Variant, f scaling.Fit, holds float64) int {
	stated, most := v.SizedBatch(), holds
	if high := highest(f); high > 0 {
		most = aheadAtMost * high
	}
	if !(most > 0 && most < scaling.MostBatch) {
		return stated
	}
	return min(cmp.Or(stated, scaling.DefaultBatch), int(max(1, most)))
}

// beginning is what is believed of a variant before what was seen of it.
type beginning struct {
	Belief
	computed Prior // the zero value where it cannot be
	moved    bool  // from what is stated, as another of the model is off what is stated of it
}

// beginnings returns what is believed of each variant before what was seen of it, and which is
// the one of which most is known: the one that was seen most; where all were seen too little,
// one with a stated profile of those that can be computed; -1 where none can be. Where that one
// is not as it is stated, the others are taken to be off what is stated of them as it is: what
// is measured in one place errs alike.
func beginnings(variants []scaling.Variant, fits map[scaling.VariantKey]scaling.Fit, prompt, answer float64) (begin []beginning, anchor int) {
	begin, anchor = make([]beginning, len(variants)), -1
	var most Belief
	for i, v := range variants {
		if computed, err := Computed(v, prompt, answer); err == nil {
			begin[i].computed = computed
		}
		begin[i].Belief = before(v, begin[i].computed, prompt)
		b := begin[i].After(fits[v.Key])
		if !(b.looks >= scaling.LooksEnough || begin[i].computed.known()) || !b.sound() {
			continue
		}
		if stated := v.Profile.Usable() && b.looks == most.looks && !variants[max(0, anchor)].Profile.Usable(); anchor < 0 || b.looks > most.looks || stated {
			anchor, most = i, b
		}
	}
	if anchor >= 0 {
		shown := variants[anchor].Profile.Usable() && fits[variants[anchor].Key].Informed()
		most.carried(variants, begin, anchor, shown)
	}
	return begin, anchor
}

// carried carries what is believed of the anchor over to the others: to those of which nothing is
// stated, and where the anchor showed how far off what is stated of it is, to the rest.
func (b Belief) carried(variants []scaling.Variant, begin []beginning, anchor int, shown bool) {
	from := begin[anchor]
	for i, v := range variants {
		switch {
		case i == anchor:
		case !v.Profile.Usable():
			begin[i].Belief = b.moved(from.computed.Belief, begin[i].computed.Belief)
		case shown:
			begin[i].Belief, begin[i].moved = b.moved(from.Belief, begin[i].Belief), true
		}
	}
}
