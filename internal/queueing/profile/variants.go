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

// Known is what is believed of the variants of a model.
type Known struct {
	// Variants have the profiles that are believed, and where that is another, the stated one beside it.
	Variants []scaling.Variant
	// Moved are those whose stated profile was moved by what was measured, in the order of Variants.
	Moved []scaling.MovedProfile
}

// Of returns what is believed of the variants of a model, for requests with so many
// tokens of prompt to compute and of answer, of which an ITL is wanted, 0 for none. Of those
// that were not seen enough it is what is stated, what another namespace shares, what was seen of
// another, or what is computed. It returns false while too little was seen of all of them and none can be computed.
func Of(variants []scaling.Variant, fits map[scaling.VariantKey]scaling.Fit, prompt, answer, itl float64) (Known, bool) {
	if !(answer > 0) {
		return Known{}, false
	}
	fits = used(variants, fits)
	var few [4]beginning // on the stack: most models have no more variants
	begin, anchor := beginnings(few[:], variants, fits, prompt, answer)
	if anchor < 0 {
		return Known{}, false
	}
	known := begin[anchor].now
	out := make([]scaling.Variant, len(variants))
	var moved []scaling.MovedProfile
	for i, v := range variants {
		out[i] = v
		if v.Profile.Usable() && !fits[v.Key].Informed() && !begin[i].moved {
			continue
		}
		b := begin[i].now
		if !b.sound() {
			b = known
		}
		p := b.wanting(itl).Profile(prompt, answer)
		if m, far := movedProfile(v, b, fits[v.Key], prompt, answer); far {
			if m.Windows == 0 {
				m.Like = variants[anchor].Key
			}
			moved = append(moved, m)
		}
		p.MaxBatchSize = batch(v, fits[v.Key], begin[i].holds/(prompt+answer))
		switch {
		case b.looks > 0:
		case begin[i].shared:
			p.Source = SourceShared
		case known.looks > 0 || variants[anchor].Profile.Usable() || begin[anchor].shared:
			p.Source = SourceOthers
		default:
			p.Source = SourceComputed
		}
		out[i].Stated, out[i].Profile = v.Profile, p
	}
	return Known{Variants: out, Moved: moved}, true
}

// batch returns how many requests a replica of v computes together at most, 0 where that is not
// known: as it is stated or its engine is started, of replicas that were seen no more than
// twice what was seen, here or else in another namespace, and of others no more than their KV cache is
// computed to hold, if it is.
func batch(v scaling.Variant, f scaling.Fit, holds float64) int {
	stated, most := v.SizedBatch(), holds
	if high := cmp.Or(highest(f.Bands), highest(f.Shared.Bands)); high > 0 {
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
	now      Belief     // after what was seen of it
	computed [3]float64 // the step of the prior that is computed, 0 where none can be
	holds    float64    // tokens, the KV cache by that prior
	moved    bool       // from what is stated, as another of the model is off what is stated of it
	shared   bool       // by another namespace
}

// rank orders those that were seen alike: what is stated comes before what is shared, and that before
// what is computed.
func (b beginning) rank(v scaling.Variant) int {
	switch {
	case v.Profile.Usable():
		return 2
	case b.shared:
		return 1
	}
	return 0
}

// beginnings returns what is believed of each variant before what was seen of it, and which is
// the one of which most is known: the one that was seen most; where all were seen too little,
// of those that can be computed or are shared the first by rank; -1 where there is none. Where that one
// is not as it is stated, the others are taken to be off what is stated of them as it is: what
// is measured in one place errs alike. It fills room, of zeros, where that has an element for each.
func beginnings(room []beginning, variants []scaling.Variant, fits map[scaling.VariantKey]scaling.Fit, prompt, answer float64) (begin []beginning, anchor int) {
	if len(variants) > len(room) {
		room = make([]beginning, len(variants))
	}
	begin, anchor = room[:len(variants)], -1
	var most Belief
	for i, v := range variants {
		computed, err := Computed(v, prompt, answer)
		if err == nil {
			begin[i].computed, begin[i].holds = computed.step.mean, computed.KV
		}
		begin[i].Belief, begin[i].shared = before(v, fits[v.Key], computed, prompt)
		begin[i].now = begin[i].After(fits[v.Key])
		b := begin[i].now
		if !(b.looks >= scaling.LooksEnough || begin[i].computed[0] > 0 || begin[i].shared) || !b.sound() {
			continue
		}
		if anchor < 0 || b.looks > most.looks || b.looks == most.looks && begin[i].rank(v) > begin[anchor].rank(variants[anchor]) {
			anchor, most = i, b
		}
	}
	if anchor >= 0 {
		most.carried(variants, fits, begin, anchor)
	}
	return begin, anchor
}

// carried carries what is believed of the anchor over to the others: to those of which nothing is
// stated or shared, and where the anchor showed how far off what is stated of it is, to the rest.
func (b Belief) carried(variants []scaling.Variant, fits map[scaling.VariantKey]scaling.Fit, begin []beginning, anchor int) {
	from := begin[anchor]
	shown := variants[anchor].Profile.Usable() && fits[variants[anchor].Key].Informed()
	for i, v := range variants {
		if i == anchor || begin[i].shared {
			continue
		}
		switch {
		case !v.Profile.Usable():
			begin[i].Belief = b.moved(from.computed, begin[i].computed)
		case shown:
			begin[i].Belief, begin[i].moved = b.moved(from.step.mean, begin[i].step.mean), true
		}
		begin[i].now = begin[i].After(fits[v.Key])
	}
}
