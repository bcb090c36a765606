package profile

import (
	"cmp"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

const (
	// aheadAtMost limits the believed batch to a multiple of the highest concurrency that was seen:
	// larger batches are tried in steps, each after the one before was seen.
	aheadAtMost = 2
	// alike is the standard deviation between a variant that was not seen and another of its model,
	// a ratio.
	alike = 0.5
)

// Known is what is believed of the variants of a model.
type Known struct {
	// Variants have the believed profiles, and beside each that differs the stated one.
	Variants []scaling.Variant
	// Moved lists the variants whose stated profile was moved by measurements, in the order of
	// Variants.
	Moved []scaling.MovedProfile
}

// Of returns what is believed of the variants of a model, for requests with so many input tokens to
// compute and output tokens, and a wanted itl in ms, 0 for none. For a variant that was not seen
// enough that is the stated profile, what another namespace shares, what another variant showed, or
// the computed prior. Of returns false where answer is 0, or where no variant was seen enough, is
// shared or can be computed.
func Of(variants []scaling.Variant, fits map[scaling.VariantKey]memory.Fit, prompt, answer, itl float64) (Known, bool) {
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
		case b.samples > 0:
		case begin[i].shared:
			p.Source = SourceShared
		case known.samples > 0 || variants[anchor].Profile.Usable() || begin[anchor].shared:
			p.Source = SourceOthers
		default:
			p.Source = SourceComputed
		}
		out[i].Stated, out[i].Profile = v.Profile, p
	}
	return Known{Variants: out, Moved: moved}, true
}

// batch returns the largest batch of a replica of v, in requests, 0 where that is unknown: as
// stated or as its engine is started. It is at most twice the highest concurrency seen, here or
// else in another namespace. Where none was seen, it is at most what the KV cache is computed to
// hold, if that is known.
func batch(v scaling.Variant, f memory.Fit, holds float64) int {
	stated, most := v.SizedBatch(), holds
	if high := cmp.Or(highest(f.Bands), highest(f.Shared.Bands)); high > 0 {
		most = aheadAtMost * high
	}
	if !(most > 0 && most < scaling.MostBatch) {
		return stated
	}
	return min(cmp.Or(stated, scaling.DefaultBatch), int(max(1, most)))
}

// beginning is the belief about a variant before what was seen of it.
type beginning struct {
	Belief
	now      Belief     // after what was seen of it
	computed [3]float64 // the step of the computed prior, 0 where there is none
	holds    float64    // tokens of the KV cache by that prior
	moved    bool       // corrected by the factor of the anchor to its stated profile
	shared   bool       // begins with what another namespace showed
}

// rank orders variants that were seen equally: stated before shared, shared before computed.
func (b beginning) rank(v scaling.Variant) int {
	switch {
	case v.Profile.Usable():
		return 2
	case b.shared:
		return 1
	}
	return 0
}

// beginnings returns the belief about each variant before what was seen of it, and the anchor: of
// the variants that were seen enough, are shared or can be computed, the one that was seen most,
// the first by rank among equals; -1 for none. Where measurements of the anchor differ from its
// stated profile, the other stated profiles are assumed to be off by the same factor, since they
// come from the same place. The result is in room, which is all zeros, where that has an element
// for each variant.
func beginnings(room []beginning, variants []scaling.Variant, fits map[scaling.VariantKey]memory.Fit, prompt, answer float64) (begin []beginning, anchor int) {
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
		if !(b.samples >= memory.SamplesEnough || begin[i].computed[0] > 0 || begin[i].shared) || !b.sound() {
			continue
		}
		if anchor < 0 || b.samples > most.samples || b.samples == most.samples && begin[i].rank(v) > begin[anchor].rank(variants[anchor]) {
			anchor, most = i, b
		}
	}
	if anchor >= 0 {
		most.carried(variants, fits, begin, anchor)
	}
	return begin, anchor
}

// carried applies the belief b about the anchor to variants that are not shared: to those without a
// stated profile, and where measurements of the anchor replaced its stated profile, to the others.
func (b Belief) carried(variants []scaling.Variant, fits map[scaling.VariantKey]memory.Fit, begin []beginning, anchor int) {
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
