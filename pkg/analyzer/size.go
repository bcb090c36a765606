package analyzer

// Targets are the objectives of one replica. A target of 0 is none.
type Targets struct {
	TTFT float64 // ms, not to be exceeded
	// TTFTPercentile selects the TTFT: the mean (0), or the TTFT that this share of the requests,
	// in (0, 1), does not exceed.
	TTFTPercentile float64
	ITL            float64 // ms, not to be exceeded
	// ITLPercentile selects the ITL, as TTFTPercentile does the TTFT.
	ITLPercentile float64
	// TPS is the least output of this replica in tokens/s. To share a total between replicas, leave
	// it 0 and divide the total by Sizing.TPS.
	TPS float64
}

// Sizing is the greatest rate at which a replica meets its targets.
type Sizing struct {
	Rate     float64 // requests/s, the lesser of RateTTFT and RateITL
	RateTTFT float64 // greatest requests/s that meet the TTFT; the end of the range without a target
	RateITL  float64 // greatest requests/s that meet the ITL; the end of the range without a target
	// RateTPS is the least rate in requests/s that yields the target TPS, at most Rate; 0 without
	// such a target.
	RateTPS float64

	Metrics Metrics // at Rate
	TTFT    float64 // ms at Rate: the mean or the percentile, as in the target
	ITL     float64 // ms at Rate, likewise
	TPS     float64 // output tokens/s at Rate

	SearchTTFT, SearchITL, SearchTPS Search // how each rate was found
}

// Size returns the greatest rate of RateRange at which the replica meets every target. A target
// that it misses at the least rate, or a TPS that it does not reach while it meets the others, is a
// *TargetError with the best achievable value; other errors are *InputError.
func (q QueueAnalyzer) Size(t Targets) (Sizing, error) {
	if err := q.built(); err != nil {
		return Sizing{}, err
	}
	if err := t.validate(); err != nil {
		return Sizing{}, err
	}
	_, most := q.RateRange()
	s := Sizing{RateTTFT: most, RateITL: most}
	var err error
	if t.TTFT > 0 {
		if s.RateTTFT, s.SearchTTFT, err = q.sizeTTFT(t); err != nil {
			return Sizing{}, err
		}
	}
	if t.ITL > 0 {
		if s.RateITL, s.SearchITL, err = q.sizeITL(t); err != nil {
			return Sizing{}, err
		}
	}
	s.Rate = min(s.RateTTFT, s.RateITL)
	if t.TPS > 0 {
		if s.RateTPS, s.SearchTPS, err = q.sizeTPS(t, s.Rate); err != nil {
			return Sizing{}, err
		}
	}
	s.Metrics = q.at(s.Rate)
	s.TPS = s.Metrics.Throughput * q.config.Size.OutputTokens
	s.TTFT = q.ttft(s.Rate/perSecond, t.TTFTPercentile)
	s.ITL = q.itl(s.Rate/perSecond, t.ITLPercentile)
	return s, nil
}

// sizeTTFT returns the greatest rate that meets the TTFT of t.
func (q QueueAnalyzer) sizeTTFT(t Targets) (float64, Search, error) {
	least, most := q.RateRange()
	p := t.TTFTPercentile
	var b bracket
	if p > 0 {
		within := q.batchesWithin(t.TTFT, q.firstToken)
		b = rise(func(rate float64) float64 {
			return relative(q.exceedingTTFT(rate/perSecond, t.TTFT, within), 1-p)
		}, least, most)
	} else {
		b = rise(func(rate float64) float64 { return relative(q.ttft(rate/perSecond, 0), t.TTFT) }, least, most)
	}
	if b.search.Ending != OutOfReach {
		return b.low, b.search, nil
	}
	return 0, b.search, &TargetError{
		Target: targetTTFT, Unit: "ms", Wanted: t.TTFT, Best: q.ttft(least/perSecond, p), Percentile: p, Search: b.search,
	}
}

// sizeITL returns the greatest rate that meets the ITL of t.
func (q QueueAnalyzer) sizeITL(t Targets) (float64, Search, error) {
	least, most := q.RateRange()
	p := t.ITLPercentile
	var b bracket
	if p > 0 {
		within := q.batchesWithin(t.ITL, q.decode)
		b = rise(func(rate float64) float64 {
			return relative(q.exceedingBatch(rate/perSecond, within), 1-p)
		}, least, most)
	} else {
		b = rise(func(rate float64) float64 { return relative(q.itl(rate/perSecond, 0), t.ITL) }, least, most)
	}
	if b.search.Ending != OutOfReach {
		return b.low, b.search, nil
	}
	return 0, b.search, &TargetError{
		Target: targetITL, Unit: "ms", Wanted: t.ITL, Best: q.itl(least/perSecond, p), Percentile: p, Search: b.search,
	}
}

// sizeTPS returns the least rate, up to most, that yields the TPS of t.
func (q QueueAnalyzer) sizeTPS(t Targets, most float64) (float64, Search, error) {
	yield := func(rate float64) float64 {
		return rate * q.states.balance(rate/perSecond).admitted * q.config.Size.OutputTokens
	}
	if best := yield(most); best < t.TPS {
		s := Search{OutOfReach, 1}
		return 0, s, &TargetError{Target: targetTPS, Unit: "tokens/s", Wanted: t.TPS, Best: best, Search: s}
	}
	b := rise(func(rate float64) float64 { return relative(yield(rate), t.TPS) }, 0, most)
	return b.high, b.search, nil
}

// ttft returns the TTFT at percentile p, or the mean for p = 0, at an arrival rate in requests/ms.
func (q QueueAnalyzer) ttft(arrival, p float64) float64 {
	if p > 0 {
		return q.percentileTTFT(arrival, p)
	}
	b := q.states.means(arrival)
	wait, _ := b.times(arrival*b.admitted, 0)
	return wait + q.config.Service.FirstToken(b.found, q.config.Size)
}

// itl returns the ITL at percentile p, or the mean for p = 0, at an arrival rate in requests/ms.
func (q QueueAnalyzer) itl(arrival, p float64) float64 {
	if p > 0 {
		return q.percentileITL(arrival, p)
	}
	return q.config.Service.Decode(q.states.means(arrival).found, q.config.Size)
}

// validate returns an *InputError that names the first target out of its range.
func (t Targets) validate() error {
	err := firstNegative("Targets",
		named{"TTFT", t.TTFT}, named{"TTFTPercentile", t.TTFTPercentile},
		named{"ITL", t.ITL}, named{"ITLPercentile", t.ITLPercentile}, named{"TPS", t.TPS})
	if err != nil {
		return err
	}
	if t.TTFTPercentile >= 1 {
		return validateShare("Targets.TTFTPercentile", t.TTFTPercentile)
	}
	if t.ITLPercentile >= 1 {
		return validateShare("Targets.ITLPercentile", t.ITLPercentile)
	}
	return nil
}
