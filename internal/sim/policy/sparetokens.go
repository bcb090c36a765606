package policy

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/scaling"
)

// TokenSpareParams are the parameters of the token-based spare-capacity rule.
type TokenSpareParams struct {
	KV        float64 // usable part of the KV cache, in [0.01, 1]
	Queue     float64 // queue length that shows a replica at its limit, >= 0.001
	Up        float64 // utilization above which it grows, in [0.01, 1]
	Down      float64 // utilization below which it shrinks, in [0.01, Up]
	Tolerance float64 // of the HPA in series, in [0, 0.99]
	// Window is the window of the peaks of a replica, >= 15 s.
	Window time.Duration
}

// DefaultTokenSpareParams returns the published 0.80, 5, 0.85, 0.70 and 1 min, and the HPA's
// tolerance.
func DefaultTokenSpareParams() TokenSpareParams {
	return TokenSpareParams{KV: 0.8, Queue: 5, Up: 0.85, Down: 0.7, Tolerance: 0.1, Window: time.Minute}
}

func (p *TokenSpareParams) fields() []field {
	return []field{
		number("up", "utilization above which it grows", &p.Up, 0.01, 1, "0.7", "0.75", "0.8", "0.85", "0.9"),
		number("down", "utilization below which it shrinks", &p.Down, 0.01, 1, "0.5", "0.7"),
		number("kv", "usable part of the KV cache", &p.KV, 0.01, 1),
		number("queue", "queue length that shows a replica at its limit", &p.Queue, milli, unlimited),
		span("window", "window of the peaks", &p.Window, 15*time.Second),
		number("tolerance", "of the HPA in series", &p.Tolerance, 0, 0.99),
	}
}

// tokenSpare is the rule before the HPA.
type tokenSpare struct {
	p       TokenSpareParams
	peaks   peaksOverTime
	learned map[learnedKey][]float64 // the last tokens in use at the limit
}

// learnedKey is the variant and the class of output lengths that a learned limit holds for.
type learnedKey struct {
	variant scaling.VariantKey
	output  int // 0 below 100 output tokens, 1 below 500, else 2
}

// learnedSamples is how many measured limits the mean of a learned one covers.
const learnedSamples = 10

// NewSpareTokens returns the token-based form of the spare-capacity rule as published, with the
// published HPA in series: demand and supply in tokens of KV cache, many replicas at a time;
// pending replicas count for growth.
func NewSpareTokens(p TokenSpareParams) (Autoscaler, error) {
	if p.Down > p.Up {
		return nil, fmt.Errorf("policy spare-tokens: parameter down: found %v, want at most up (%v)", p.Down, p.Up)
	}
	law := &tokenSpare{p, peaksOverTime{window: p.Window}, map[learnedKey][]float64{}}
	return newSeries(law, publishedBehavior(), p.Tolerance), check("spare-tokens", p.fields())
}

func (t *tokenSpare) Interval() time.Duration { return 15 * time.Second }

func (t *tokenSpare) Decide(now time.Time, in Observation) []Target {
	peaks := t.peaks.observe(now, in.Variants)
	if !in.Load.InputTokens.Known() || !in.Load.OutputTokens.Known() {
		return each(in, func(v Variant) (scaling.Replicas, string) {
			return v.Replicas.Current, "spare tokens: hold, the lengths of the requests are unknown"
		})
	}
	input, output := in.Load.InputTokens.Value, in.Load.OutputTokens.Value
	capacity := make(map[scaling.VariantKey]float64, len(in.Variants))
	var b balance
	for i, v := range in.Variants {
		size, demand := t.measure(v, peaks[i], input, output)
		capacity[v.Key] = size
		b.demand += demand
		b.supply += float64(v.Replicas.Ready) * size
		b.ordered += float64(v.Replicas.Pending) * size
	}
	b.demand += gatewayQueue(in) * (input*(1-min(1, in.Load.PrefixHits.Or(0))) + output)
	short, spare := b.required(t.p)
	n := grow(in.Variants, capacity, short)
	if short == 0 {
		n = shrink(in.Variants, capacity, spare)
	}
	return each(in, func(v Variant) (scaling.Replicas, string) {
		return v.Bounds.Clamp(n[v.Key]), fmt.Sprintf("spare tokens: demand %.0f, supply %.0f and %.0f on order", b.demand, b.supply, b.ordered)
	})
}

// balance is demand and supply of a model in tokens of KV cache.
type balance struct{ demand, supply, ordered float64 }

// required returns the missing and the spare tokens, at most one of them above 0 while Down <= Up.
func (b balance) required(p TokenSpareParams) (short, spare float64) {
	return max(0, b.demand/p.Up-b.supply-b.ordered), max(0, b.supply-b.demand/p.Down)
}

// measure returns the capacity of one replica of v, the median of its pods, and the demand on all,
// in tokens; both from the peaks of the pods.
func (t *tokenSpare) measure(v Variant, pods []podPeak, input, output float64) (capacity, demand float64) {
	var sizes []float64
	for _, p := range pods {
		if !p.knownKV {
			continue
		}
		inUse := p.KV * v.KVTokens
		demand += inUse + p.Queue*(input+output)
		sizes = append(sizes, t.capacity(v, inUse, p.Queue, input, output))
	}
	if len(sizes) == 0 {
		return t.capacity(v, 0, 0, input, output), demand
	}
	slices.Sort(sizes)
	return (sizes[(len(sizes)-1)/2] + sizes[len(sizes)/2]) / 2, demand
}

// capacity returns the least of two limits of one replica: the usable KV cache, and the tokens in
// use while it had a queue, now or before. Without a queue so far, the second limit is what a full
// batch would hold.
func (t *tokenSpare) capacity(v Variant, inUse, queue, input, output float64) float64 {
	usable := t.p.KV * v.KVTokens
	key := learnedKey{variant: v.Key}
	switch {
	case output >= 500:
		key.output = 2
	case output >= 100:
		key.output = 1
	}
	if queue >= t.p.Queue {
		known := t.learned[key]
		known = append(known, inUse)
		t.learned[key] = known[max(0, len(known)-learnedSamples):]
		return min(usable, inUse)
	}
	if known := t.learned[key]; len(known) > 0 {
		var sum float64
		for _, k := range known {
			sum += k
		}
		return min(usable, sum/float64(len(known)))
	}
	batch := math.Inf(1)
	if v.BatchedTokens > 0 {
		batch = v.BatchedTokens * output / (input + output)
	}
	if s := v.Profile.MaxBatchSize; s > 0 {
		batch = min(batch, float64(s))
	}
	return min(usable, batch*(input+output/2))
}

// present returns the current replicas of every variant.
func present(variants []Variant) map[scaling.VariantKey]scaling.Replicas {
	n := make(map[scaling.VariantKey]scaling.Replicas, len(variants))
	for _, v := range variants {
		n[v.Key] = v.Replicas.Current
	}
	return n
}

// grow adds replicas for the missing tokens, in the variants with the least cost of a token first.
func grow(variants []Variant, capacity map[scaling.VariantKey]float64, short float64) map[scaling.VariantKey]scaling.Replicas {
	n := present(variants)
	order := byCost(variants)
	slices.SortStableFunc(order, func(a, b Variant) int {
		// a.Cost/capacity[a] against b.Cost/capacity[b], without a division by 0.
		return cmp.Compare(a.Cost*capacity[b.Key], b.Cost*capacity[a.Key])
	})
	for _, v := range order {
		size := capacity[v.Key]
		if short <= 0 || size <= 0 {
			continue
		}
		add := min(ceil(short/size), max(0, v.Bounds.Max-n[v.Key]))
		n[v.Key] += add
		short -= float64(add) * size
	}
	return n
}

// shrink removes replicas for the spare tokens, from the most expensive variants first, ties from
// the smaller; the cheapest keeps one if no other variant has any.
func shrink(variants []Variant, capacity map[scaling.VariantKey]float64, spare float64) map[scaling.VariantKey]scaling.Replicas {
	n := present(variants)
	order := byCost(variants)
	slices.SortStableFunc(order, func(a, b Variant) int {
		return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(capacity[a.Key], capacity[b.Key]))
	})
	total := scaling.Replicas(0)
	for _, k := range n {
		total += k
	}
	for i, v := range order {
		size := capacity[v.Key]
		if size <= 0 {
			continue
		}
		least := v.Bounds.Min
		if i == len(order)-1 && total == n[v.Key] {
			least = max(least, 1)
		}
		remove := min(scaling.Replicas(math.Floor(spare/size)), max(0, n[v.Key]-least))
		n[v.Key] -= remove
		total -= remove
		spare -= float64(remove) * size
	}
	return n
}
