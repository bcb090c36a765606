package profile

import (
	"fmt"
	"maps"
	"math"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

const (
	// unlike is the largest deviation of the windows from the law (root mean square, a ratio).
	// Replicas that keep the law are off by 0.02 to 0.05 where loads change slowly, and by up to
	// 0.2 in bursts.
	unlike = 0.25
	// chunked is the largest number of tokens for each interval between tokens. Requests that
	// clients cancel count as generated, so that many of them raise it above 1.
	chunked = 1.5
)

// Refutation is the reason why a fit is not used, "" where it is used.
type Refutation string

// The refutations.
const (
	Chunked  Refutation = "Chunked"  // an interval is between chunks of several tokens
	Unsound  Refutation = "Unsound"  // no engine has such coefficients
	Unlawful Refutation = "Unlawful" // windows do not keep the law of a step
)

// Refuted returns why a fit is not used because the law of the package does not hold for it: the
// refutation, the part of the message that does not change between cycles, and its numbers, which
// do. All are "" where the fit is used.
func Refuted(f memory.Fit) (what Refutation, stable, moving string) {
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

// off returns the deviation of the windows of f from the law of a step: root mean square, as a
// ratio.
func (b Belief) off(f memory.Fit) float64 {
	var sums [usualBands]memory.Sums
	return math.Sqrt(spreadOf(b.step.mean, appendITL(sums[:0], f)))
}

// used returns the fits without what was seen in refuted ones.
func used(variants []scaling.Variant, fits map[scaling.VariantKey]memory.Fit) map[scaling.VariantKey]memory.Fit {
	out, own := fits, false
	for _, v := range variants {
		f := fits[v.Key]
		if what, _, _ := Refuted(f); what == "" {
			continue
		}
		if !own {
			out, own = maps.Clone(fits), true
		}
		out[v.Key] = memory.Fit{Of: f.Of, At: f.At, Shared: f.Shared}
	}
	return out
}
