package profile

import (
	"fmt"
	"maps"
	"math"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

const (
	// unlike is the part by which a window may be off the law in the mean. Replicas that keep it are off by
	// 0.02 to 0.05 where loads change slowly, and by up to 0.2 in bursts.
	unlike = 0.25
	// chunked is how many tokens an interval between tokens may stand for. Requests that clients take
	// back count as generated, so that it is above 1 with many of them.
	chunked = 1.5
)

// Refutation is why what was seen of replicas is not used, "" where it is.
type Refutation string

// The refutations.
const (
	Chunked  Refutation = "Chunked"  // an interval is that between chunks of several tokens
	Unsound  Refutation = "Unsound"  // the coefficients are no numbers that an engine has
	Unlawful Refutation = "Unlawful" // windows do not keep the law of a step
)

// Refuted says why what was seen of replicas is not used, since the law of the package does not hold
// for what they report: which refutation, what stays the same of it in words, and the numbers, which
// move. All are "" where it is used.
func Refuted(f scaling.Fit) (what Refutation, stable, moving string) {
	if !f.Informed() {
		return "", "", ""
	}
	if each := f.Generated / f.Reported; f.Reported > 0 && each > chunked {
		return Chunked, "what its replicas report as the time between two tokens is that between chunks of several, as with speculative decoding or several steps at once",
			fmt.Sprintf("%.1f tokens in a chunk", each)
	}
	law := Unknown().After(f)
	if !law.sound() {
		return Unsound, "what its replicas report comes to coefficients that no engine has", ""
	}
	if off := law.off(f); !(off <= unlike) {
		return Unlawful, "its replicas do not keep the law of a step, as where pages are of several models, counters were reset or the engine has become another",
			fmt.Sprintf("a window is off by %.0f %% in the mean", 100*off)
	}
	return "", "", ""
}

// off is by which part a window of f is off the law of a step.
func (b Belief) off(f scaling.Fit) float64 {
	var sums [usualBands]scaling.Sums
	return math.Sqrt(spreadOf(b.step.mean, appendITL(sums[:0], f)))
}

// used returns what is used of what was seen of variants.
func used(variants []scaling.Variant, fits map[scaling.VariantKey]scaling.Fit) map[scaling.VariantKey]scaling.Fit {
	out, own := fits, false
	for _, v := range variants {
		f := fits[v.Key]
		if what, _, _ := Refuted(f); what == "" {
			continue
		}
		if !own {
			out, own = maps.Clone(fits), true
		}
		out[v.Key] = scaling.Fit{Of: f.Of, At: f.At, Shared: f.Shared}
	}
	return out
}
