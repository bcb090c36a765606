package query

import (
	"math"
	"strconv"
)

// RowOf reads one row of the answer to ask from its labels, "" where one is missing, and its value.
// It reports false for a row that cannot be read: without a quantity of the question, a bucket
// whose bound is no number, or a KV cache without a size. A row that lacks the namespace, the pod
// or the model is read with these empty, and joins nothing.
//
// Expressions scale values to the units of their quantities. RowOf scales only text: bounds from
// seconds to milliseconds, and the labels of a cache to tokens.
func RowOf(ask Question, label func(name string) string, value float64) (Row, bool) {
	quantity, ok := quantityOf(ask, label)
	if !ok {
		return Row{}, false
	}
	row := Row{Quantity: quantity, Namespace: label(LabelNamespace), Value: value}
	switch quantity.Scope() {
	case PerPod:
		row.Model = label(LabelModel)
		if row.Pod = label(LabelPod); row.Pod == "" {
			row.Pod = label(LabelPodName)
		}
	case PerModel:
		row.Model = label(LabelModel)
	case PerGateway:
		row.Model = label(LabelGatewayModel)
	case PerJob:
		row.Job = label(LabelJob)
	}
	switch quantity {
	case PageTime:
		row.Job, row.ByPodName = label(LabelJob), label(LabelPod) == "" && row.Pod != ""
		if row.Witness = label(LabelWitness); row.Witness == "" {
			row.Witness = vllmRunning
		}
	case Resets:
		row.Job, row.Instance = label(LabelJob), label(LabelInstance)
	case TTFTBuckets, ITLBuckets, RequestITLBuckets:
		row.Edge = label(LabelBound)
		row.Bound, ok = bound(row.Edge)
	case KVCapacity:
		row.Value, ok = cacheTokens(label, value)
	default:
		// The labels and the value are the row.
	}
	if !ok {
		return Row{}, false
	}
	return row, true
}

// quantityOf returns the quantity of a row: the only one of the question, or the one that LabelStat
// names.
func quantityOf(ask Question, label func(string) string) (Quantity, bool) {
	t := ask.topic()
	if t.first == t.last {
		return t.first, true
	}
	stat := label(LabelStat)
	if stat == "" && ask == AskGenerating {
		return t.first, true
	}
	for q := t.first; q <= t.last; q++ {
		if q.String() == stat {
			return q, true
		}
	}
	return 0, false
}

// bound returns the bound of a bucket, text in seconds, in milliseconds. The bound "+Inf" is that
// of the bucket of everything.
func bound(text string) (float64, bool) {
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(seconds) {
		return 0, false
	}
	return seconds * 1000, true
}

// cacheTokens returns the size of a KV cache: LabelCacheTokens where that is a number, else the
// number of blocks times their size. Without any of these labels the value is in tokens.
func cacheTokens(label func(string) string, value float64) (float64, bool) {
	tokens, blocks, size := label(LabelCacheTokens), label(LabelBlocks), label(LabelBlockSize)
	if tokens == "" && blocks == "" && size == "" {
		return value, true
	}
	if n, ok := positive(tokens); ok {
		return n, true
	}
	n, counted := positive(blocks)
	each, sized := positive(size)
	if product := n * each; counted && sized && !math.IsInf(product, 1) {
		return product, true
	}
	return 0, false
}

// positive reads a number above 0, and reports false for any other text, such as "None".
func positive(text string) (float64, bool) {
	if text == "" || text == "None" {
		return 0, false // frequent, and an error would be allocated
	}
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil && n > 0 && !math.IsInf(n, 1)
}
