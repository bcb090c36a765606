package profile

import (
	"cmp"
	"maps"
	"slices"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling/memory"
)

// sharedOff is the standard deviation, as a ratio, of each coefficient that another namespace
// showed, and of all of them together: its prompts, drivers and power limits may differ.
const sharedOff = 0.2

// sharedAt is the step by which namespaces are ordered: eight requests together, of which one
// computes a hundred tokens of its prompt.
var sharedAt = [3]float64{1, 8, 100}

// kind is what replicas that are equally fast have in common.
type kind struct {
	model string
	memory.Subject
}

// kindOf returns the kind of a variant, and false while part of it is unknown.
func kindOf(v scaling.Variant) (kind, bool) {
	k := kind{v.Model.ID, memory.Subject{Accelerator: v.Accelerator, GPUs: v.GPUsPerReplica, Template: v.Template}}
	return k, v.Missing == "" && k.model != "" && k.Accelerator != "" && k.GPUs > 0 && k.Template != ""
}

// lender is what a namespace showed of a kind.
type lender struct {
	of      scaling.VariantKey
	fit     memory.Fit
	samples float64
	step    float64 // ms at sharedAt
}

// Share returns for each variant what replicas of its kind showed in other namespaces: replicas of
// the same model ID, with the same accelerator type and count and the same pod template. A
// namespace counts once, by the variant that was seen most, and only while that keeps the law of a
// step. The median namespace counts, of two in the middle the slower one: a namespace with false
// readings cannot move the result beyond the readings of others.
func Share(variants []scaling.Variant, fits map[scaling.VariantKey]memory.Fit) map[scaling.VariantKey]memory.Shared {
	type place struct {
		kind
		namespace string
	}
	lenders, places := map[kind][]lender{}, map[place]int{}
	for k, of := range lendersOf(variants, fits) {
		lenders[k] = slices.SortedFunc(maps.Values(of), func(a, b lender) int {
			return cmp.Or(cmp.Compare(a.step, b.step), a.of.Compare(b.of))
		})
		for i, l := range lenders[k] {
			places[place{k, l.of.Namespace}] = i
		}
	}
	out := map[scaling.VariantKey]memory.Shared{}
	for _, v := range variants {
		k, known := kindOf(v)
		others := len(lenders[k])
		own, lends := places[place{k, v.Key.Namespace}]
		if lends {
			others--
		}
		if !known || others == 0 {
			continue
		}
		median := others / 2
		if lends && median >= own {
			median++
		}
		out[v.Key] = memory.Shared{Bands: lenders[k][median].fit.Bands, Namespaces: others}
	}
	return out
}

// lendersOf returns what each namespace showed of each kind, by the variant that was seen most.
func lendersOf(variants []scaling.Variant, fits map[scaling.VariantKey]memory.Fit) map[kind]map[string]lender {
	best := map[kind]map[string]lender{}
	for _, v := range scaling.ByKey(variants) {
		k, known := kindOf(v)
		f := fits[v.Key]
		if !known || !f.Informed() || f.Of != k.Subject {
			continue
		}
		if what, _, _ := Refuted(f); what != "" {
			continue
		}
		itl, _ := f.Sums()
		if had, found := best[k][v.Key.Namespace]; found && had.samples >= itl.Samples {
			continue
		}
		if best[k] == nil {
			best[k] = map[string]lender{}
		}
		best[k][v.Key.Namespace] = lender{v.Key, f, itl.Samples, dot(Unknown().After(f).step.mean, sharedAt)}
	}
	return best
}

// believed returns the belief before, with what f shares added. It returns false where f shares
// nothing, or where that contradicts what was seen.
func believed(before Belief, f memory.Fit) (Belief, bool) {
	if !f.Shared.Known() {
		return before, false
	}
	b := before.After(memory.Fit{Bands: f.Shared.Bands})
	if !b.sound() || f.Informed() && !(b.off(f) <= unlike) {
		return before, false
	}
	var off [3]float64
	for i, m := range b.step.mean {
		off[i] = sharedOff*m + tiny
	}
	return Belief{step: spread(b.step.mean, off).scaled(sharedOff), first: afterStep(b.step.mean[2])}, true
}
