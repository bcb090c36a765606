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
// that were not seen enough it is what is stated, or what was seen of another. It returns
// false while too little was seen of all of them.
func Of(variants []scaling.Variant, fits map[scaling.VariantKey]scaling.Fit, prompt, answer, itl float64) ([]scaling.Variant, bool) {
	begin, anchor := beginnings(variants, fits, prompt)
	if anchor < 0 || !(answer > 0) {
		return nil, false
	}
	out := make([]scaling.Variant, len(variants))
	for i, v := range variants {
		if i != anchor && v.Profile.Usable() && !fits[v.Key].Informed() {
			out[i] = v
			continue
		}
		b := begin[i].After(fits[v.Key])
		if !b.sound() {
			b = begin[anchor].After(fits[variants[anchor].Key])
		}
		batch := cmp.Or(v.Profile.MaxBatchSize, v.Limits.MaxBatch)
		v.Stated = v.Profile
		v.Profile = b.wanting(itl).Profile(prompt, answer)
		v.Profile.MaxBatchSize = batch
		if high := highest(fits[v.Key]); high > 0 {
			v.Profile.MaxBatchSize = min(cmp.Or(v.Profile.MaxBatchSize, scaling.DefaultBatch), int(aheadAtMost*high))
		}
		out[i] = v
	}
	return out, true
}

// beginnings returns what is believed of each variant before what was seen of it, and which is
// the one of which most was seen, -1 where it is too little of all.
func beginnings(variants []scaling.Variant, fits map[scaling.VariantKey]scaling.Fit, prompt float64) (before []Belief, anchor int) {
	before, anchor = make([]Belief, len(variants)), -1
	var most Belief
	for i, v := range variants {
		before[i] = Unknown()
		if v.Profile.Usable() {
			before[i] = Stated(v.Profile, prompt)
		}
		if b := before[i].After(fits[v.Key]); b.looks >= scaling.LooksEnough && b.looks > most.looks && b.sound() {
			anchor, most = i, b
		}
	}
	for i, v := range variants {
		if anchor >= 0 && i != anchor && !v.Profile.Usable() {
			before[i] = most.widened()
		}
	}
	return before, anchor
}
