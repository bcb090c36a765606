package collector

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/query"
	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// ranked is a number of one rank of a pod.
type ranked struct {
	pod   int
	rank  string
	value float64
}

// podColumns returns a column for each quantity per pod that was answered, nil
// for the others.
func podColumns(x podIndex, got *answers) [query.Count][]float64 {
	var columns [query.Count][]float64
	for _, q := range query.All() {
		if q.Scope() == query.PerPod && q != query.LastScrape && got[q].err == nil {
			columns[q] = x.column(q, got[q].samples)
		}
	}
	return columns
}

// column folds the samples of q to one number per pod, NaN where there is none.
// Samples that say the same pod and rank are duplicates: the largest counts.
// Ranks then add up where they are separate requests.
func (x podIndex) column(q query.Quantity, samples []Sample) []float64 {
	column := make([]float64, len(x.pods))
	for i := range column {
		column[i] = math.NaN()
	}
	var ranks []ranked
	for _, s := range samples {
		i, rank, ok := x.pod(s.Labels)
		// The description of the KV cache names no model.
		if !ok || q != query.KVCapacity && !x.serves(i, s.Labels) {
			continue
		}
		v := number(q, s)
		if rank != "" {
			ranks = append(ranks, ranked{i, rank, v})
			continue
		}
		column[i] = larger(column[i], v)
	}
	combine := larger
	if q.Unit() == query.Requests {
		combine = func(a, b float64) float64 { return a + b }
	}
	for i, v := range foldRanks(ranks, combine) {
		column[i] = larger(column[i], v)
	}
	return column
}

// foldRanks folds the duplicates of each rank and combines the ranks of each
// pod, in the order of the ranks.
func foldRanks(ranks []ranked, combine func(a, b float64) float64) map[int]float64 {
	slices.SortFunc(ranks, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.pod, b.pod), strings.Compare(a.rank, b.rank))
	})
	folded := map[int]float64{}
	for len(ranks) > 0 {
		first := ranks[0]
		for len(ranks) > 0 && ranks[0].pod == first.pod && ranks[0].rank == first.rank {
			first.value = larger(first.value, ranks[0].value)
			ranks = ranks[1:]
		}
		if sum, ok := folded[first.pod]; ok {
			first.value = combine(sum, first.value)
		}
		folded[first.pod] = first.value
	}
	return folded
}

// number returns the number that a sample of q stands for, NaN for none.
func number(q query.Quantity, s Sample) float64 {
	if q == query.KVCapacity {
		return capacity(s.Labels)
	}
	return measurable(s.Value)
}

// capacity reads the size of a KV cache in tokens from the labels of an info
// metric, NaN when they do not say.
func capacity(labels map[string]string) float64 {
	if tokens := positive(labels[query.LabelCacheTokens]); !math.IsNaN(tokens) {
		return tokens
	}
	return measurable(positive(labels[query.LabelBlocks]) * positive(labels[query.LabelBlockSize]))
}

// positive parses a number above 0. Anything else, like vLLM's "None", is NaN.
func positive(text string) float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || v <= 0 {
		return math.NaN()
	}
	return measurable(v)
}

// measurable returns v, or NaN where no quantity can take that value.
func measurable(v float64) float64 {
	if !scaling.Measured(v, scaling.Fresh).Known() {
		return math.NaN()
	}
	return v
}

// larger returns the larger number, or the only one.
func larger(a, b float64) float64 {
	switch {
	case math.IsNaN(a):
		return b
	case math.IsNaN(b):
		return a
	default:
		return max(a, b)
	}
}
