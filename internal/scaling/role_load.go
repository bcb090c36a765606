package scaling

// Together returns the load of a model that is served in parts, whose pages are in the given state.
// Each request counts once: the rate, the lengths and the ITL are those of decode, which has all
// requests, and the TTFT is that of a request that waits for both roles. All else is that of whole.
func Together(whole, decode, prefill Load, page Freshness) Load {
	whole.ArrivalRate, whole.InputTokens = decode.ArrivalRate.AtBest(page), decode.InputTokens.AtBest(page)
	whole.OutputTokens, whole.ITL = decode.OutputTokens.AtBest(page), decode.ITL.AtBest(page)
	whole.ITLBuckets, whole.RequestITLBuckets = decode.ITLBuckets, decode.RequestITLBuckets
	// Means of two parts add up, quantiles do not.
	whole.TTFTBuckets = Histogram{State: NotApplicable}
	whole.TTFT = decode.TTFT.AtBest(page)
	switch {
	case !whole.TTFT.Known() || prefill.TTFT.State == NotApplicable:
		// Of decode alone: prefill gets no request.
	case !prefill.TTFT.Known():
		whole.TTFT = Reading{State: prefill.TTFT.State}
	default:
		whole.TTFT = Measured(whole.TTFT.Value+prefill.TTFT.Value, min(whole.TTFT.State, prefill.TTFT.State))
	}
	return whole
}

// AtBest returns a reading that may be trusted no further than the given state, where that is
// one in which values are known.
func (r Reading) AtBest(state Freshness) Reading {
	if r.Known() && state >= Aging {
		r.State = min(r.State, state)
	}
	return r
}

// InProportion returns r where another reading, of which r is a part, is corrected from one value
// to another: the arrival rate of prefill, where the gateway counts requests that it holds or refuses
// and that would go to prefill like the others. Each of them goes there once at most: a prefill with a
// queue, behind which decode sees few requests, has no more than the gateway counts.
func (r Reading) InProportion(from, to Reading) Reading {
	if to == from || !r.Known() || !from.Known() {
		return r
	}
	if from.Value > 0 {
		r.Value = max(r.Value, min(r.Value*to.Value/from.Value, to.Value))
	}
	return Measured(r.Value, min(r.State, to.State))
}

// Without returns the histogram without so many observations per second of its least value.
func (h Histogram) Without(rate float64) Histogram {
	if h.State < Aging || !(rate > 0) {
		return h
	}
	out := Histogram{State: h.State, Total: max(0, h.Total-rate)}
	for _, b := range h.Buckets {
		out.Buckets = append(out.Buckets, Bucket{Bound: b.Bound, Rate: max(0, b.Rate-rate)})
	}
	return out
}
