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
// ITL is wanted, 0 for none, and false while too little was seen of all of them.
func Of(variants []scaling.Variant, fits map[scaling.VariantKey]scaling.Fit, prompt, answer, itl float64) ([]scaling.Variant, bool) {
	anchor, known := best(variants, fits, prompt)
	if anchor < 0 || !(answer > 0) {
		return nil, false
	}
	out := make([]scaling.Variant, len(variants))
	for i, v := range variants {
		if v.Profile.Usable() {
			out[i] = v
			continue
		}
		b := before(v, i == anchor, known, prompt).After(fits[v.Key])
		if !b.sound() {
			b = known
		}
		batch := cmp.Or(v.Profile.MaxBatchSize, v.Limits.MaxBatch)
		v.Profile = b.wanting(itl).Profile(prompt, answer)
		v.Profile.MaxBatchSize = batch
		if high := highest(fits[v.Key]); high > 0 {
			v.Profile.MaxBatchSize = min(cmp.Or(v.Profile.MaxBatchSize, scaling.DefaultBatch), int(aheadAtMost*high))
		}
		out[i] = v
	}
	return out, true
}

// best returns the variant of which most was seen, and what is believed of it; -1 where
// it is too little of all.
func best(variants []scaling.Variant, fits map[scaling.VariantKey]scaling.Fit, prompt float64) (int, Belief) {
	at, most := -1, Belief{}
	for i, v := range variants {
		if b := before(v, true, Belief{}, prompt).After(fits[v.Key]); b.looks >= scaling.LooksEnough && b.looks > most.looks && b.sound() {
			at, most = i, b
		}
	}
	return at, most
}

// before returns what is believed of v before what was seen of it; known is what is believed
// of the variant of its model of which most was seen, which is v where alone.
func before(v scaling.Variant, alone bool, known Belief, prompt float64) Belief {
	switch {
	case v.Profile.Usable():
		return Stated(v.Profile, prompt)
	case alone:
		return Unknown()
	}
	return known.widened()
}
