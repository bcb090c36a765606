package analyzer

import "fmt"

// Published computes what the published versions do, so that old numbers stay comparable. It
// differs from the correct QueueAnalyzer as follows:
//
//   - A TPS target of any value reduces the greatest rate by a tenth and does nothing else.
//   - The TTFT of Idle ignores the input tokens.
//   - A queue of capacity 1 (a batch of 1 and no queue) is an error.
//   - A rate must be above 0.
//   - A latency that does not change with the rate meets a target only if it equals it.
//   - ThreeParameter computes the prefill at the mean number in service, idle time included,
//     instead of at the concurrency that a request meets.
//   - FourParameter computes the concurrency from the time in service as if every request had a
//     prefill and one decode less than output tokens, which is wrong without input.
//
// It is a value and safe for concurrent use.
type Published struct {
	q QueueAnalyzer
}

const (
	// publishedMargin is the share by which a TPS target reduces the greatest rate.
	publishedMargin = 0.1
	// publishedAccuracy is the relative difference up to which values count as equal: the
	// resolution of the float32 of the published versions.
	publishedAccuracy = 1e-6
)

// Published returns the replica as the published versions analyze it.
func (q QueueAnalyzer) Published() Published { return Published{q} }

// RateRange returns the RateRange of the QueueAnalyzer.
func (p Published) RateRange() (minRate, maxRate float64) { return p.q.RateRange() }

// Analyze returns the metrics of the published versions at a rate in requests/s, above 0 and up to
// the end of RateRange, with a tolerance for rounding to float32. Errors are *InputError.
func (p Published) Analyze(rate float64) (Metrics, error) {
	if err := p.validate(); err != nil {
		return Metrics{}, err
	}
	_, most := p.q.RateRange()
	if !(rate > 0 && rate <= most*(1+publishedAccuracy)) {
		return Metrics{}, &InputError{
			Field: "rate", Value: rate, Want: fmt.Sprintf("above 0, up to %v requests/s", most),
		}
	}
	return p.at(min(rate, most)), nil
}

// at returns Analyze for a rate within the range.
func (p Published) at(rate float64) Metrics {
	m := p.q.at(rate)
	size := p.q.config.Size
	switch service := p.q.config.Service.(type) {
	case ThreeParameter:
		m.Prefill = service.Prefill(m.InService, size)
		m.ITL = (m.Service - m.Prefill) / size.OutputTokens
		m.TTFT = m.Wait + m.Prefill + m.ITL
	case FourParameter:
		m.Concurrency = p.concurrency(service, m.Service)
		m.Prefill = service.Prefill(m.Concurrency, size)
		m.ITL = service.Decode(m.Concurrency, size)
		m.TTFT = m.Wait + m.Prefill
	}
	return m
}

// concurrency returns the batch size at which a request takes the time service, by the published
// inversion. It is right with input and at least two output tokens. Where the slope is 0 the result
// is 0 or MaxBatch.
func (p Published) concurrency(m FourParameter, service float64) float64 {
	in, decodes := p.q.config.Size.InputTokens, p.q.config.Size.OutputTokens-1
	excess := service - (m.Gamma + m.Alpha*decodes)
	if excess <= 0 {
		return 0
	}
	return min(excess/(m.Delta*in+m.Beta*decodes), float64(p.q.config.MaxBatch))
}

// Idle returns the metrics of the published versions for a replica without load: an ITL of alpha +
// beta, and a TTFT of gamma + delta (FourParameter) or alpha + beta (ThreeParameter), in ms. Other
// service models yield an *InputError, as they have no published values.
func (p Published) Idle() (ttft, itl float64, err error) {
	switch service := p.q.config.Service.(type) {
	case ThreeParameter:
		return service.Alpha + service.Beta, service.Alpha + service.Beta, nil
	case FourParameter:
		return service.Gamma + service.Delta, service.Alpha + service.Beta, nil
	}
	return 0, 0, &InputError{Field: "Config.Service", Value: p.q.config.Service, Want: "FourParameter or ThreeParameter"}
}

// Size returns the rate that the published versions find. Sizing.RateTPS is nine tenths of the
// greatest rate with a TPS target and the greatest rate without one; Sizing.Rate is the least of
// the three rates. The percentiles must be 0. Errors are those of QueueAnalyzer.Size.
func (p Published) Size(t Targets) (Sizing, error) {
	if err := p.validate(); err != nil {
		return Sizing{}, err
	}
	if err := t.validate(); err != nil {
		return Sizing{}, err
	}
	for _, share := range [...]named{{"TTFTPercentile", t.TTFTPercentile}, {"ITLPercentile", t.ITLPercentile}} {
		if share.value != 0 {
			return Sizing{}, &InputError{Field: "Targets." + share.name, Value: share.value, Want: "0, the mean"}
		}
	}
	_, most := p.q.RateRange()
	s := Sizing{RateTTFT: most, RateITL: most, RateTPS: most}
	var err error
	if t.TTFT > 0 {
		if s.RateTTFT, s.SearchTTFT, err = p.search(targetTTFT, t.TTFT, ttftOf); err != nil {
			return Sizing{}, err
		}
	}
	if t.ITL > 0 {
		if s.RateITL, s.SearchITL, err = p.search(targetITL, t.ITL, itlOf); err != nil {
			return Sizing{}, err
		}
	}
	if t.TPS > 0 {
		s.RateTPS = most * (1 - publishedMargin)
	}
	s.Rate = min(s.RateTTFT, s.RateITL, s.RateTPS)
	s.Metrics = p.at(s.Rate)
	s.TTFT, s.ITL = s.Metrics.TTFT, s.Metrics.ITL
	s.TPS = s.Metrics.Throughput * p.q.config.Size.OutputTokens
	return s, nil
}

func ttftOf(m Metrics) float64 { return m.TTFT }
func itlOf(m Metrics) float64  { return m.ITL }

// search returns the rate at which a latency equals its target, with the published rules for
// targets at and beyond the ends of the range.
func (p Published) search(name string, target float64, of func(Metrics) float64) (float64, Search, error) {
	least, most := p.q.RateRange()
	first, last := of(p.at(least)), of(p.at(most))
	switch {
	case alike(first, target):
		return least, Search{Converged, 1}, nil
	case alike(last, target):
		return most, Search{Converged, 2}, nil
	case target < first, alike(first, last):
		s := Search{OutOfReach, 2}
		return 0, s, &TargetError{Target: name, Unit: "ms", Wanted: target, Best: first, Search: s}
	case target > last:
		return most, Search{AtUpperEnd, 2}, nil
	}
	b := rise(func(rate float64) float64 { return relative(of(p.at(rate)), target) }, least, most)
	return b.low, b.search, nil
}

// alike reports whether the published versions treat two latencies as equal.
func alike(a, b float64) bool { return max(a, b)-min(a, b) <= publishedAccuracy*b }

// validate returns an *InputError for what the published versions do not analyze.
func (p Published) validate() error {
	if err := p.q.built(); err != nil {
		return err
	}
	if p.q.config.MaxBatch+p.q.config.MaxQueue == 1 {
		return &InputError{
			Field: "Config.MaxBatch + Config.MaxQueue", Value: 1,
			Want: "at least 2 requests (a limit of the published versions, not of QueueAnalyzer)",
		}
	}
	return nil
}
