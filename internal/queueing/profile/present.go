package profile

import (
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// Present is what is known of a variant, beside what its replicas show now.
type Present struct {
	Variant scaling.VariantKey
	Samples float64 // windows that count
	// Measured is the mean ITL of its replicas, in ms; 0 while none decodes.
	Measured float64
	// Learned is the mean ITL expected for their present load, in ms; 0 while none decodes or
	// nothing is known.
	Learned Interval
}

// Presents returns a Present for each variant of the model of s, in their order.
func Presents(s scaling.Snapshot, fits map[scaling.VariantKey]memory.Fit) []Present {
	prompt, lengths := s.Load.Computed()
	fits = used(s.Variants, fits)
	begin, anchor := beginnings(nil, s.Variants, fits, prompt, s.Load.OutputTokens.Or(0))
	out := make([]Present, len(s.Variants))
	for i, v := range s.Variants {
		var sums [usualBands]memory.Sums
		itl := appendITL(sums[:0], fits[v.Key])
		out[i].Variant = v.Key
		for _, b := range itl {
			out[i].Samples += b.Samples
		}
		x, measured := means(s, v.Key, prompt)
		if !(measured > 0) || !lengths {
			continue
		}
		out[i].Measured = measured
		if anchor >= 0 || v.Profile.Usable() {
			out[i].Learned = begin[i].step.estimated(itl).latency(x)
		}
	}
	return out
}

// means returns the mean regressors and the mean ITL, in ms, of the replicas of a variant that
// decode; 0 where none does.
func means(s scaling.Snapshot, v scaling.VariantKey, prompt float64) (x [3]float64, itl float64) {
	n := 0.0
	for _, r := range s.Replicas {
		if r.Variant != v || r.Stuck != "" || r.Pace.Decoding < leastDecoding {
			continue
		}
		one := sampleOf(r, prompt, 0)
		n++
		itl += (one.itl - itl) / n
		for i := range x {
			x[i] += (one.step[i] - x[i]) / n
		}
	}
	return x, itl
}
