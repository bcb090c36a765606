package scaling

// Together returns the load of a model that is served in parts and whose pages have the given
// state. Each request counts once: the rate, the lengths and the ITL come from decode, which gets
// all requests. The TTFT is the sum for both roles. All else comes from whole.
func Together(whole, decode, prefill Load, page Freshness) Load {
	whole.ArrivalRate, whole.InputTokens = decode.ArrivalRate.AtBest(page), decode.InputTokens.AtBest(page)
	whole.OutputTokens, whole.ITL = decode.OutputTokens.AtBest(page), decode.ITL.AtBest(page)
	whole.ITLBuckets, whole.RequestITLBuckets = decode.ITLBuckets, decode.RequestITLBuckets
	// Means of two parts add up, quantiles do not.
	whole.TTFTBuckets = Histogram{State: NotApplicable}
	whole.TTFT = decode.TTFT.AtBest(page)
	switch {
	case !whole.TTFT.Known() || prefill.TTFT.State == NotApplicable:
		// TTFT of decode alone: prefill gets no request.
	case !prefill.TTFT.Known():
		whole.TTFT = Reading{State: prefill.TTFT.State}
	default:
		whole.TTFT = Measured(whole.TTFT.Value+prefill.TTFT.Value, min(whole.TTFT.State, prefill.TTFT.State))
	}
	return whole
}

// AtBest returns r with its freshness limited to state, if both are Aging or Fresh; else r.
func (r Reading) AtBest(state Freshness) Reading {
	if r.Known() && state >= Aging {
		r.State = min(r.State, state)
	}
	return r
}

// InProportion returns r, a part of another reading that is corrected from one value to another,
// corrected by the same factor. Example: the arrival rate of prefill, where the gateway also counts
// requests that it holds or refuses. Each request reaches prefill once at most, so a prefill with a
// queue, behind which decode sees few requests, gets no more than the gateway counts.
func (r Reading) InProportion(from, to Reading) Reading {
	if to == from || !r.Known() || !from.Known() {
		return r
	}
	if from.Value > 0 {
		r.Value = max(r.Value, min(r.Value*to.Value/from.Value, to.Value))
	}
	return Measured(r.Value, min(r.State, to.State))
}

// Without returns the histogram without rate observations/s of its least value.
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
